// Plans: read what someone wrote, show what it will do, make it the input of tasks.batch.

export { type BatchInput, toBatch, toNamedBatch } from "./batch.js";
export { withTitlesOf } from "./identity.js";
export type { Plan, PlanFormat, PlannedTask, Problem, ReadOptions, ReadResult } from "./plan.js";
export { type Preview, previewPlan } from "./preview.js";
export { readPlan } from "./read.js";
