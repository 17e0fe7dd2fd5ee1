// Plans: read what someone wrote, show what it will do, make it the input of tasks.batch.

export { toBatch, toNamedBatch } from "./batch.js";
export { withTitlesOf } from "./identity.js";
export type { Plan, PlannedTask, Problem, ReadOptions, ReadResult } from "./plan.js";
export { previewPlan } from "./preview.js";
export { readPlan } from "./read.js";
