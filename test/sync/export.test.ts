// Out of one file and into another through the built program, byte for byte.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open, tempDir } from "../faults/support.js";
import { run } from "../http/program.js";

test("export, import and export again give the same bytes, with claims, events, counters and settings", async () => {
  const directory = tempDir();
  const [here, there] = [join(directory, "here.db"), join(directory, "there.db")];
  const dibs = await open({ path: here, project: "shop" });
  const { tasks } = dibs;
  await dibs.projects.create({
    id: "docs",
    settings: { order: "depth-first", claim: { defaultTtlMs: 90_000 } },
  });
  await dibs.projects.update({ settings: { maxRetries: 1, retry: { delayMs: 5_000 } } });
  await dibs.tasks.batch({
    tasks: [
      { prompt: "One" },
      { prompt: "Two", dependsOn: ["One"] },
      { key: "p", prompt: "Top" },
      { parentId: "p", prompt: "Part" },
    ],
  });
  for (const taskId of ["0001", "0003_t1"]) {
    await tasks.claim({
      taskId,
      sessionId: "agent-1",
      register: true,
      start: true,
      metadata: { at: "ünïcode ✓" },
    });
  }
  await tasks.complete({
    taskId: "0001",
    sessionId: "agent-1",
    result: { output: "done", filesCreated: ["a.ts"] },
  });
  await tasks.progress({ taskId: "0003_t1", sessionId: "agent-1", note: "half", percent: 50 });
  await tasks.claim({ taskId: "0002", sessionId: "agent-2", register: true });
  await tasks.ask({ taskId: "0002", sessionId: "agent-2", question: "Which?", options: ["a", "b"] });
  await tasks.create({ prompt: "Asked twice" }, { idempotencyKey: "once" });
  await dibs.ids.next();
  await dibs.locks.acquire({ name: "deploy", sessionId: "agent-1" });
  await dibs.tokens.create({ name: "ci", role: "worker" });
  await dibs.close();

  const first = join(directory, "first.jsonl");
  const second = join(directory, "second.jsonl");
  expect((await run(["export", first, "--db", here])).code).toBe(0);
  expect((await run(["import", first, "--db", there])).code).toBe(0);
  expect((await run(["export", second, "--db", there])).code).toBe(0);
  const bytes = readFileSync(first);
  expect(readFileSync(second).equals(bytes)).toBe(true);
  for (const kind of ["task", "claim", "attempt", "event", "counter", "project", "session", "notification"]) {
    expect(bytes.toString(), kind).toMatch(new RegExp(`"kind":"${kind}"|"${kind}s?"`, "i"));
  }
  // And it goes on where it was: the same holder, the next id.
  const copy = await open({ path: there, project: "shop" });
  expect((await copy.tasks.get({ taskId: "0003_t1" })).task.claim).toMatchObject({
    sessionId: "agent-1",
    epoch: 1,
  });
  expect((await copy.tasks.create({ prompt: "Next" })).task.id).toBe("0006");
});
