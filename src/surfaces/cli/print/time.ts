import { duration } from "../../../client/view/words.js";

export { ago, duration as span } from "../../../client/view/words.js";

/** Of a run, which can be short. */
export const runTime = (ms: number) => (ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : duration(ms));
