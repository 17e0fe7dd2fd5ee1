// One coding agent of the demo, in a process of its own: node worker.js <database> <session> <pace>.
// It lives as long as the process that started it keeps the channel open, so nothing is left running if that one dies.

import { setTimeout as sleep } from "node:timers/promises";
import { openDibs, type WorkContext } from "../index.js";
import { paceFrom } from "./pace.js";
import { project, scriptOf } from "./plan.js";

const [path = "", sessionId = "", paceText] = process.argv.slice(2);
const pace = paceFrom(paceText);

// Ctrl-C reaches every process of the terminal; the demo itself tells its workers when to stop.
process.on("SIGINT", () => undefined);

const dibs = await openDibs({ path, project });
const worker = dibs.work(pretend, { sessionId, name: sessionId, onError: fail });
const stop = () => void worker.stop({ now: true }).catch(() => undefined);
process.once("disconnect", stop);
if (!process.connected) stop();

try {
  await worker.done;
  await dibs.close();
} catch (error) {
  fail(error);
}
process.exit();

async function pretend({ task, claim, signal, progress, ask }: WorkContext): Promise<string> {
  const { ms, steps, asks, failsAt, killedAt } = scriptOf(task);
  const pause = (ms: number) => sleep(ms * pace, undefined, { signal });
  for (const [step, note] of steps.entries()) {
    await progress(note, Math.round((100 * (step + 1)) / (steps.length + 1)));
    // Waiting makes sure that the kill comes in the middle of the task, however slow the machine is.
    if (step === killedAt && claim.epoch === 1) await sleep(60_000, undefined, { signal });
    if (step === failsAt?.step && task.retryCount === 0) throw new Error(failsAt.error);
    await pause(ms / steps.length);
    if (step === 0 && asks) await ask(asks.question, { options: asks.options });
  }
  return `${task.title}: done by ${sessionId}.`;
}

function fail(error: unknown): void {
  console.error(error);
  process.exitCode = 1;
}
