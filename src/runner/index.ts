// The agent runner: claims tasks, runs a command for each, and reports how it went.

export { isSubmitted, waitsForChildren } from "../client/holding/index.js";
export { askFence } from "./fence.js";
export { type Leftovers, leftoversOf, removeLeftovers, unmergedIn } from "./leftovers.js";
export { refuseMissingCommand } from "./on-path.js";
export { type OnConflict, type OnceOptions, runOnce } from "./once.js";
export type { AttemptEnd, RunnerOptions } from "./options.js";
export { agentNames, presetFor } from "./presets.js";
export type { Machine } from "./processes.js";
export { landsWork } from "./repository.js";
export { verdictWords } from "./review-attempt.js";
export { targetMissing } from "./target.js";
export { warningsFor } from "./warnings.js";
export { type Runner, runWork, type Summary, type WorkOptions } from "./work.js";
export { type LeftWorktree, leftWorktrees, removeUnlessLost, whatWouldBeLost } from "./worktree.js";
