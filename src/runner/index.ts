// The agent runner: claims tasks, runs a command for each, and reports how it went.

export { type Outcome, waitsForChildren } from "../client/holding/index.js";
export { askFence, type FenceAnswer, type Held, isHeld } from "./fence.js";
export {
  type Leftovers,
  leftoversOf,
  type Removed,
  removeLeftovers,
  unmergedIn,
} from "./leftovers.js";
export { refuseMissingCommand } from "./on-path.js";
export { type OnConflict, type OnceEnd, type OnceOptions, runOnce } from "./once.js";
export {
  type AttemptEnd,
  defaultTimings,
  type RunnerOptions,
  type Timings,
  type WorktreeOptions,
} from "./options.js";
export type { StreamName } from "./output.js";
export { type AgentName, agentNames, presetFor } from "./presets.js";
export type { Machine } from "./processes.js";
export { warningsFor } from "./warnings.js";
export { type Runner, runWork, type Summary, type WorkOptions } from "./work.js";
export { type LeftWorktree, leftWorktrees, removeUnlessLost, whatWouldBeLost } from "./worktree.js";
