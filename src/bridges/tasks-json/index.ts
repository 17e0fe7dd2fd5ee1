// tasks.json, kept in step with a project.

export { type Dialect, dialects, formerDialects } from "./dialect.js";
export type { Machine } from "./lock.js";
export { happenings, type News, needsAttention } from "./report.js";
export { keepInStep } from "./served.js";
export { type Sync, type SyncOptions, startSync, syncOnce, type Timings, usualTimings } from "./sync.js";
