// A lander as a process of its own, from the build, which kills or stops itself before one of its effects:
//   lander.mjs <database> <repository> <kill|stop|serve|serve-kill> <effect> <which time, from 1>

import { openDibs } from "../../../dist/index.js";
import { runLander } from "../../../dist/lander/index.js";
import { hostId, isAlive, processStart } from "../../../dist/runtime/liveness.js";

const [database, directory, mode, effect, time = "1"] = process.argv.slice(2);
const dibs = await openDibs({ path: database });
let seen = 0;
const signals = { kill: "SIGKILL", "serve-kill": "SIGKILL", stop: "SIGSTOP" };
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
process.once("disconnect", () => process.exit(0));
try {
  const end = await runLander({
    dibs,
    directory,
    machine: { hostId, isAlive, processStart },
    once: !mode.startsWith("serve"),
    signal: stopping.signal,
    onStep: (step) => process.send?.({ step }),
    timings: { ttlMs: 1_000, lookMs: 50, retryMs: 20 },
    before: async (name) => {
      process.send?.({ effect: name });
      if (name !== effect || ++seen !== Number(time) || !(mode in signals)) return;
      process.send?.({ reached: true });
      // The message is on its way before the process is not.
      await new Promise((resolve) => setTimeout(resolve, 50));
      process.kill(process.pid, signals[mode]);
      await new Promise((resolve) => setTimeout(resolve, 1));
    },
  });
  process.send?.({ end });
} catch (error) {
  process.send?.({ failed: String(error?.code ?? error?.message ?? error) });
} finally {
  await dibs.close().catch(() => undefined);
  process.disconnect?.();
}
