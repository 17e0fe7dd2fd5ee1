// Looks at other processes as a user who may not signal them.

import { isAlive, processStart } from "../../../dist/runtime/liveness.js";
import { input, say } from "./kit.mjs";

process.setgroups([]);
process.setgid(input.uid);
process.setuid(input.uid);
let code = null;
try {
  process.kill(input.pid, 0);
} catch (error) {
  code = error.code;
}
const start = processStart(input.pid);
await say("seen", {
  code,
  alive: isAlive(input.pid, start),
  withoutStart: isAlive(input.pid, null),
  reused: isAlive(input.pid, "1"),
});
process.exit(0);
