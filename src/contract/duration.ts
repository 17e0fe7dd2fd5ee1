// What clients need to know of durations.

export { durationUnits, exactDuration } from "../common/duration.js";
export { quickMs } from "../core/limits.js";
