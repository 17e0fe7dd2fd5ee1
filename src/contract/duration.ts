// What clients need to know of durations.

export { exactDuration } from "../core/duration.js";
export { quickMs } from "../core/limits.js";
