// Every completion looks for a breaker of its agent. Usually there is none, and that must cost no read.

import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDibs } from "../../src/index.js";
import { Statements } from "../../src/store/sqlite/statements.js";
import { tempDir } from "../support.js";

async function cycle(dibs: Awaited<ReturnType<typeof openDibs>>): Promise<void> {
  await dibs.tasks.create({ prompt: "do it" });
  const { claim } = await dibs.tasks.claimNext({
    sessionId: "a",
    register: true,
    heedBreaker: true,
    start: true,
  });
  const { taskId, epoch } = claim!;
  await dibs.tasks.complete({ taskId, sessionId: "a", epoch, result: "done" });
}

test("without a breaker, claims and completions read no document but the first", async () => {
  const dibs = await openDibs({ path: join(tempDir(), "dibs.db") });
  onTestFinished(() => dibs.close());
  await cycle(dibs);
  const read = vi.spyOn(Statements.prototype, "get");
  onTestFinished(() => read.mockRestore());
  for (let n = 0; n < 5; n++) await cycle(dibs);
  expect(read.mock.calls.filter(([, , kind]) => kind === "breaker")).toEqual([]);
});

test("a breaker that another process opens is heeded, although there was none before", async () => {
  const path = join(tempDir(), "dibs.db");
  const [one, other] = [await openDibs({ path }), await openDibs({ path })];
  onTestFinished(async () => {
    await one.close();
    await other.close();
  });
  await one.projects.update({ settings: { retry: { delayMs: 600_000 } } });
  for (const dibs of [one, other]) await cycle(dibs);
  await one.tasks.batch({ tasks: Array.from({ length: 7 }, () => ({ prompt: "do it" })) });
  const runner = { sessionId: "a", start: true, heedBreaker: true };
  for (let n = 0; n < 5; n++) {
    const { claim } = await other.tasks.claimNext(runner);
    const { taskId, epoch } = claim!;
    await other.tasks.fail({ taskId, sessionId: "a", epoch, error: "no login", quick: true });
  }
  const answer = await one.tasks.claimNext(runner);
  expect(answer).toMatchObject({ claim: null, breaker: { failures: 5 } });
});
