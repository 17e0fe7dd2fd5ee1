// What clients need to know of durations.

export { durationUnits, exactDuration } from "../core/duration.js";
export { quickMs } from "../core/limits.js";
