import { expect, test } from "vitest";
import { on } from "./support.js";

test.each(["memory", "sqlite", "postgres"] as const)("a task goes its way over HTTP on %s", (store) =>
  on(store, async (world) => {
    const { body: made, status } = await world.post("/api/tasks", { prompt: "do it" });
    expect(status).toBe(201);
    await world.session("a");
    const claimed = await world.post("/api/tasks/claim-next", { sessionId: "a" });
    expect(claimed.body.claim.taskId).toBe(made.task.id);
    const done = await world.post(`/api/tasks/${made.task.id}/complete`, { sessionId: "a", result: "ok" });
    expect(done.body.task.state).toBe("completed");
    const metrics = await world.get("/metrics");
    expect(metrics.body).toContain("task_completions_total 1");
    expect((await world.get("/api/stats")).body.by_status.done).toBe(1);
    expect((await world.get("/api/nothing")).status).toBe(404);
    expect((await world.get("/api/tasks", { token: null })).status).toBe(401);
  })(),
);
