// Claims and completes until nothing is left, in several loops at once, and says what it got and what went wrong.

import { errorOf, input, openDibs, say, told } from "./kit.mjs";

const dibs = await openDibs({ path: input.path });
const claims = [];
const errors = [];
const go = told("go");
await say("ready");
await go;

await Promise.all(Array.from({ length: input.loops ?? 1 }, loop));
await dibs.close();
await say("done", { claims, errors });
process.exit(0);

async function loop() {
  try {
    const { session } = await dibs.sessions.register({ pid: process.pid });
    for (;;) {
      const { claim } = await dibs.tasks.claimNext({ sessionId: session.id });
      if (!claim) return;
      const { taskId, epoch } = claim;
      claims.push({ taskId, epoch });
      await dibs.tasks.complete({ taskId, epoch, sessionId: session.id, result: `by ${process.pid}` });
    }
  } catch (error) {
    errors.push(errorOf(error));
  }
}
