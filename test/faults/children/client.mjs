// A client that does what its parent says, in another process: calls operations, follows events, works.

import { errorOf, input, openDibs, say, told } from "./kit.mjs";

const dibs = await openDibs(input);

process.on("message", async ({ type, id, operation, input, options }) => {
  if (type !== "call") return;
  const [group, method] = operation.split(".");
  try {
    await say("answer", { id, value: await dibs[group][method](input, options) });
  } catch (error) {
    await say("answer", { id, error: errorOf(error) });
  }
});

process.on("message", async ({ type, after }) => {
  if (type !== "follow") return;
  for await (const event of dibs.events.follow({ after, project: "*" })) void say("event", { event });
});

/** The handler holds each task until it is told to finish or loses it. */
process.on("message", ({ type, options }) => {
  if (type !== "work") return;
  dibs.work(async ({ task, signal }) => {
    const finish = told("finish");
    const lost = new Promise((resolve) => {
      if (signal.aborted) resolve("lost");
      else signal.addEventListener("abort", () => resolve("lost"));
    });
    void say("running", { taskId: task.id });
    if ((await Promise.race([finish, lost])) === "lost") {
      void say("lost", { taskId: task.id, code: signal.reason?.code });
      throw signal.reason;
    }
    return `done by ${process.pid}`;
  }, options);
});

await say("ready", { pid: process.pid });
