// A runner as the program would start it, on the built package; SIGTERM stops it.

import { connectDibs, openDibs } from "../../../dist/index.js";
import { runWork } from "../../../dist/runner/index.js";
import { hostId, isAlive, processStart } from "../../../dist/runtime/liveness.js";

const { path, connect, options } = JSON.parse(process.argv[2]);
const dibs = connect ? connectDibs(connect) : await openDibs({ path });
const runner = runWork({
  ...options,
  dibs,
  machine: { hostId, isAlive, processStart },
  onTrouble: (trouble) => process.stderr.write(`${trouble}\n`),
});
let stops = 0;
process.on("SIGTERM", () => void runner.stop({ now: stops++ > 0 }).catch(() => undefined));
// A runner whose test is gone has nobody left to work for.
process.on("disconnect", () => process.exit(1));
await runner.done;
await dibs.close();
process.exit(0);
