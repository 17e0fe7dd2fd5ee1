// Creates, claims, notes and completes for ever, and says each acknowledged write before the next: made to be killed.

import { errorOf, input, openDibs, say } from "./kit.mjs";

try {
  const dibs = await openDibs({ path: input.path });
  const { session } = await dibs.sessions.register({ pid: process.pid });
  const sessionId = session.id;
  await say("registered", { sessionId });
  process.on("message", async ({ type }) => {
    if (type !== "stop") return;
    await dibs.close();
    process.exit(0);
  });
  for (let round = 0; ; round++) {
    const { tasks } = await dibs.tasks.batch({
      tasks: [
        { key: "a", prompt: `first of ${process.pid}/${round}` },
        { key: "b", prompt: `second of ${process.pid}/${round}`, dependsOn: ["a"] },
      ],
    });
    for (const task of tasks) await say("created", { taskId: task.id, prompt: task.prompt });
    const { claim } = await dibs.tasks.claimNext({ sessionId, start: round % 2 === 0 });
    if (!claim) continue;
    const { taskId, epoch } = claim;
    await say("claimed", { taskId, epoch, sessionId });
    if (round % 3 === 0) await dibs.tasks.progress({ taskId, sessionId, epoch, note: `note ${round}` });
    const result = `result ${process.pid}/${round}`;
    await dibs.tasks.complete({ taskId, sessionId, epoch, result });
    await say("completed", { taskId, epoch, result });
  }
} catch (error) {
  if (error.code !== "STORE_CLOSED") await say("trouble", { error: errorOf(error) });
}
