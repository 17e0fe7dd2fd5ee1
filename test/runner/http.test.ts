// The same over HTTP: cancellations arrive, and a report outlives a restart of the server.

import { join } from "node:path";
import { expect, test } from "vitest";
import { connectDibs, type Dibs } from "../../src/index.js";
import { type DibsServer, serveDibs } from "../../src/serve.js";
import { afterwards, gone, Stage, tempDir, until } from "./support.js";

async function serve(path: string, port = 0): Promise<DibsServer> {
  const server = await serveDibs({ path, port, auth: false, log: () => undefined });
  afterwards(() => server.close());
  return server;
}

async function stageOverHttp() {
  const directory = tempDir();
  const path = join(directory, "dibs.db");
  const server = await serve(path);
  const dibs = connectDibs({ url: server.url, retry: { tries: 1, baseMs: 10 } });
  afterwards(() => dibs.close());
  return { here: new Stage(dibs, directory), server, path };
}

test("tasks are claimed, run, logged and reported; the waiting runner is woken", async () => {
  const { here } = await stageOverHttp();
  const runner = here.work({ command: here.command({ out: "over the wire" }) });
  await until("it waits", async () => (await here.dibs.sessions.list({})).sessions.length === 1);
  const task = await here.add("far away");
  const done = await here.becomes(task.id, "completed");
  expect(done.result?.output).toBe("over the wire");
  expect(await here.log(task.id)).toContain("over the wire");
  await runner.stop();
});

test("a cancelled task's command is ended", async () => {
  const { here } = await stageOverHttp();
  const task = await here.add("cancel me");
  const runner = here.work({ once: true, command: here.command({ wait: true }) });
  const { pid } = await here.seen(task.id);
  await here.dibs.tasks.cancel({ taskId: task.id });
  await gone(pid);
  expect(await runner.done).toMatchObject({ lost: 1 });
});

test("what is done while the server is away is reported when it is back", async () => {
  const { here, server, path } = await stageOverHttp();
  const task = await here.add("outlive the server");
  const runner = here.work({ once: true, command: here.command({ wait: true }) });
  const { pid } = await here.seen(task.id);
  const { port } = server;
  await server.close();
  here.go(task.id, { out: "done meanwhile" });
  await gone(pid);
  await until("it was tried", () => here.troubles.length > 3);
  await serve(path, port);
  expect(await runner.done).toMatchObject({ completed: 1 });
  expect((await here.task(task.id)).result?.output).toBe("done meanwhile");
});

test("a server that stays away: the command is ended when the lease is over, and not before", async () => {
  const { here, server, path } = await stageOverHttp();
  await here.dibs.projects.update({ settings: { claim: { minTtlMs: 500 } } as never });
  const task = await here.add("cut off");
  const ttlMs = 12_000;
  /** When each heartbeat that was answered was sent. */
  const renewals: number[] = [];
  const heartbeat: Dibs["tasks"]["heartbeat"] = async (...beat) => {
    const sentAt = performance.now();
    const answer = await here.dibs.tasks.heartbeat(...beat);
    renewals.push(sentAt);
    return answer;
  };
  const runner = here.work({
    dibs: { ...here.dibs, tasks: { ...here.dibs.tasks, heartbeat } },
    once: true,
    ttlMs,
    command: here.command({ wait: true }),
    timings: { killGraceMs: 200, heartbeatMs: 200 },
  });
  const { pid } = await here.seen(task.id);
  await until("it was renewed", () => renewals.length > 1);
  const { port } = server;
  await server.close();
  await gone(pid);
  // The lease counts from the last heartbeat, and the grace comes off it.
  expect(performance.now() - renewals.at(-1)!).toBeGreaterThan(ttlMs / 2);
  expect(await runner.done).toMatchObject({ lost: 1 });
  expect(here.ends[0]?.reason).toContain("could not be renewed in time");
  await serve(path, port);
  await here.becomes(task.id, "queued");
});
