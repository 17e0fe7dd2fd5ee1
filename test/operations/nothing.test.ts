// A claim that gets nothing says why, with counts and the command that helps most.

import { describe, expect, test } from "vitest";
import { driverNames, org, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();

async function why(pipeline: Pipeline, input: object = {}): Promise<string> {
  const answer = await pipeline.call("tasks.claimNext", {
    sessionId: "a",
    register: true,
    ...input,
  } as never);
  expect(answer).toMatchObject({ success: true, claim: null, task: null, resumed: false });
  const { message, fix, reasons } = (answer as { why: { message: string; fix: string; reasons: object[] } })
    .why;
  expect(message).toContain(` Run: ${fix}`);
  expect(reasons.length).toBeGreaterThan(0);
  return message;
}

async function create(pipeline: Pipeline, id: string, more: object = {}): Promise<void> {
  await pipeline.call("tasks.create", { id, prompt: "do it", ...more } as never);
}

const claim = (pipeline: Pipeline, taskId: string, sessionId: string) =>
  pipeline.call("tasks.claim", { taskId, sessionId, register: true, start: true });

describe.each(driverNames)("nothing to claim over %s", (driver) => {
  test(
    "without tasks, the command adds one",
    on(driver, async (pipeline) => {
      expect(await why(pipeline)).toBe('Nothing to claim: no open tasks. Run: dibs add "Write the docs"');
    }),
  );

  test(
    "if everything is blocked, the command explains the first of it",
    on(driver, async (pipeline) => {
      await create(pipeline, "gone");
      await create(pipeline, "whole", { type: "group" });
      await create(pipeline, "waits", { dependsOn: ["gone"] });
      await pipeline.call("tasks.cancel", { taskId: "gone" });
      expect(await why(pipeline)).toBe("Nothing to claim: 1 blocked. Run: dibs explain waits");
    }),
  );

  test(
    "what runs, is blocked, waits for an answer, is scheduled or has failed is counted; groups are not",
    on(driver, async (pipeline) => {
      const { clock } = pipeline;
      await create(pipeline, "whole", { type: "group" });
      await create(pipeline, "runs", { parentId: "whole" });
      await create(pipeline, "held");
      await claim(pipeline, "runs", "b");
      await pipeline.call("tasks.claim", { taskId: "held", sessionId: "c", register: true });
      for (const id of ["next", "last"]) await create(pipeline, id, { dependsOn: ["runs"] });
      expect(await why(pipeline)).toBe("Nothing to claim: 1 running, 1 claimed, 2 blocked. Run: dibs list");
      await create(pipeline, "later", { notBefore: new Date(clock.now() + 3_600_000).toISOString() });
      await create(pipeline, "again");
      await claim(pipeline, "again", "d");
      await pipeline.call("tasks.fail", { taskId: "again", sessionId: "d", error: "broken" });
      expect(await why(pipeline)).toBe(
        "Nothing to claim: 1 running, 1 claimed, 2 blocked, 1 scheduled, 1 waiting for a retry. Run: dibs list",
      );
      await create(pipeline, "broken");
      await claim(pipeline, "broken", "d");
      await pipeline.call("tasks.fail", {
        taskId: "broken",
        sessionId: "d",
        error: "broken",
        retryable: false,
      });
      expect(await why(pipeline)).toMatch(/, 1 failed\. Run: dibs retry broken$/);
      await pipeline.call("tasks.ask", { taskId: "runs", sessionId: "b", question: "Which?" });
      expect(await why(pipeline)).toMatch(
        /: 1 claimed, 1 waiting for an answer, 2 blocked, .* Run: dibs inbox$/,
      );
    }),
  );

  test(
    "a paused project says so, and how to resume it",
    on(driver, async (pipeline) => {
      await create(pipeline, "runs");
      await claim(pipeline, "runs", "b");
      await create(pipeline, "next", { dependsOn: ["runs"] });
      await create(pipeline, "ready");
      const { project } = await pipeline.call("projects.pause", {});
      expect(await why(pipeline)).toBe(
        `Nothing to claim: 1 running, 1 blocked, project paused. Run: dibs project resume ${project.id}`,
      );
      expect((await pipeline.call("tasks.claimable", {})).why?.message).toContain("project paused");
      await pipeline.call("tasks.cancel", { taskId: "runs" });
      await pipeline.call("tasks.cancel", { taskId: "next" });
      expect(await why(pipeline)).toBe(
        `Nothing to claim: project paused. Run: dibs project resume ${project.id}`,
      );
    }),
  );

  test(
    "tasks for others are counted by what they ask for",
    on(driver, async (pipeline) => {
      await create(pipeline, "hers", { assignee: "ann" });
      await create(pipeline, "gpu", { requires: ["gpu"] });
      await create(pipeline, "gpu-2", { requires: ["gpu"] });
      await create(pipeline, "codex", { agentType: "codex" });
      expect(await why(pipeline)).toBe(
        "Nothing to claim: 1 assigned to others, 1 for another agent type, 2 need other capabilities. Run: dibs ready",
      );
      const ofA = await pipeline.call("tasks.claimable", { sessionId: "a" });
      expect(ofA.why?.message).toContain("2 need other capabilities");
      expect((await pipeline.call("tasks.claimable", {})).why).toBeUndefined();
    }),
  );

  test(
    "other labels, a task that was just released, and a session at its capacity are reasons, too",
    on(driver, async (pipeline) => {
      await create(pipeline, "docs", { labels: ["docs"] });
      expect(await why(pipeline, { labels: ["code"] })).toBe(
        "Nothing to claim: 1 with other labels. Run: dibs ready",
      );
      await claim(pipeline, "docs", "a");
      await create(pipeline, "other");
      expect(await why(pipeline, { resume: false })).toBe(
        "Nothing to claim: 1 running, 1 ready, session at its capacity of 1. Run: dibs in-flight --session a",
      );
      await claim(pipeline, "other", "b");
      await pipeline.call("tasks.release", { taskId: "docs", sessionId: "a" });
      expect(await why(pipeline)).toBe(
        "Nothing to claim: 1 running, 1 released by this session less than a minute ago. Run: dibs list",
      );
    }),
  );

  test(
    "a loop that needs no reason gets none, and a repeated look counts again only after a change",
    on(driver, async (pipeline) => {
      const { store } = pipeline;
      const loop = { sessionId: "a", register: true, why: false };
      expect(await pipeline.call("tasks.claimNext", loop)).toEqual({
        success: true,
        claim: null,
        task: null,
        resumed: false,
      });
      let counted = 0;
      const { read } = store;
      store.read = (at, job) =>
        read.call(store, at, (view, now) =>
          job(
            new Proxy(view, {
              get(target, name) {
                if (name === "openCounts") counted++;
                const found = Reflect.get(target, name);
                return typeof found === "function" ? found.bind(target) : found;
              },
            }),
            now,
          ),
        ) as never;
      await why(pipeline);
      const once = counted;
      expect(once).toBeGreaterThan(0);
      for (let n = 0; n < 5; n++) await why(pipeline, { waitMs: 5 });
      expect(counted).toBe(once);
      await create(pipeline, "hers", { assignee: "ann" });
      expect(await why(pipeline)).toContain("1 assigned to others");
      expect(counted).toBeGreaterThan(once);
      expect(await store.read(org, (view) => view.openCounts("nowhere"))).toEqual({});
    }),
  );
});
