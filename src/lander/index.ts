// The lander: what was submitted reaches the target branch.

export type { Hold } from "./hold.js";
export { examineLandings, type LandingProblem } from "./invariants.js";
export { acceptRewind, type LanderOptions, previewLandings, runLander } from "./lander.js";
export { type StandBy, standBy } from "./standby.js";
export type { Step } from "./steps.js";
export type { LanderEnd } from "./work.js";
