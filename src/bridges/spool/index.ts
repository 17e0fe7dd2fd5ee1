// The spool: shell agents that coordinate by moving files, joined to the store.

export type { Happening, SpoolClock, SpoolMachine, SpoolOptions, Timings } from "./options.js";
export { Spool, type Summary } from "./spool.js";
