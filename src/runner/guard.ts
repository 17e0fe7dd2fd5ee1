// The guard of a lander, a separate program: if the lander is gone, it ends the check that ran for it.
//
//   node guard.js <grace in ms>

import { endGroup } from "./processes.js";

const graceMs = Number(process.argv[2]);
/** The process group of the check that runs; 0: none does. */
let group = 0;

process.on("message", (running) => {
  group = Number(running);
});
process.once("disconnect", () => {
  void (group > 1 ? endGroup(group, graceMs) : Promise.resolve()).finally(() => process.exit(0));
});
// Signals to a terminal's processes are meant for the lander, which ends its checks itself.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => undefined);
