import { expect, test } from "vitest";
import { everyClaim } from "../../src/client/every-claim.js";
import { openDibs } from "../../src/compose.js";

test("all that is claimed is found, also beyond a page", async () => {
  const dibs = await openDibs({ memory: true });
  try {
    const made: string[] = [];
    for (const count of [1_000, 5]) {
      const tasks = Array.from({ length: count }, (_, n) => ({ prompt: `task ${n}` }));
      made.push(...(await dibs.tasks.batch({ tasks })).tasks.map(({ id }) => id));
    }
    await dibs.sessions.register({ id: "worker", capacity: 1_000 });
    await Promise.all(made.map((taskId) => dibs.tasks.claim({ taskId, sessionId: "worker" })));
    const found: string[] = [];
    for await (const { taskId } of everyClaim(dibs)) found.push(taskId);
    expect(found.sort()).toEqual(made.sort());
  } finally {
    await dibs.close();
  }
});
