// The spool: shell agents that coordinate by moving files, joined to the store.

export type { SpoolEvent, SpoolOptions } from "./options.js";
export { Spool } from "./spool.js";
