import { describe, expect } from "vitest";
import type { TaskFilter } from "../../core/view.js";
import { type Driver, minute, project, teller, type World } from "./harness.js";

async function found(world: World, filter: Partial<TaskFilter>): Promise<string[]> {
  const tasks = await world.read((view) => view.tasks({ project, afterOrdinal: 0, limit: 100, ...filter }));
  return tasks.map((task) => task.id);
}

/** Counts with the zeroes left out. */
async function counts(world: World, of: string | null = project) {
  const all = Object.entries(await world.read((view) => view.taskCounts(of)));
  return Object.fromEntries(all.filter(([, count]) => count !== 0));
}

/** One task in each state, named by it. */
async function oneOfEach(world: World): Promise<void> {
  for (const id of [
    "queued",
    "claimed",
    "running",
    "awaiting_response",
    "completed",
    "failed",
    "cancelled",
  ]) {
    await world.task({ id, maxRetries: 0 });
    const hold = { taskId: id, sessionId: id, epoch: 1 };
    if (id !== "queued") await world.claim(id, id, { start: id !== "claimed" });
    if (id === "awaiting_response") await world.ok({ type: "ask", ...hold, question: "Which?" });
    if (id === "completed") await world.complete(hold);
    if (id === "failed") await world.ok({ type: "fail", ...hold, error: "x", spread: 0 });
    if (id === "cancelled") await world.ok({ type: "cancel", taskId: id });
  }
}

export function pages(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: lists and pages`, () => {
    it("tasks come in creation order, page by page, each once", async (world) => {
      const ids: string[] = [];
      for (let n = 0; n < 7; n++) ids.push(await world.task());
      const seen: string[] = [];
      for (let afterOrdinal = 0; ; ) {
        const page = await world.read((view) => view.tasks({ project, afterOrdinal, limit: 3 }));
        expect(page.length).toBeLessThanOrEqual(3);
        seen.push(...page.map((task) => task.id));
        if (page.length < 3) break;
        afterOrdinal = page.at(-1)!.ordinal;
      }
      expect(seen).toEqual(ids);
    });

    it("open tasks are counted by state without groups, and the ready queue by who can claim from it", async (world) => {
      await oneOfEach(world);
      await world.task({ type: "group" });
      await world.task({ dependsOn: ["running"] });
      await world.task({ assignee: "ann", labels: ["ui", "docs"] });
      await world.task({ notBefore: world.clock.now() + minute, labels: ["ui"] });
      expect(await world.read((view) => view.openCounts(project))).toEqual({
        queued: 4,
        claimed: 1,
        running: 1,
        awaiting_response: 1,
        failed: 1,
      });
      const lanes = (of: string | null, at = world.clock.now()) =>
        world.read((view) =>
          view
            .readyCounts(of, at)
            .map(({ ready, scheduled }) => `${ready} ready, ${scheduled} scheduled`)
            .sort(),
        );
      const now = ["1 ready, 0 scheduled", "1 ready, 1 scheduled"];
      expect([await lanes(project), await lanes(null)]).toEqual([now, now]);
      expect(await lanes(project, world.clock.now() + minute)).toEqual([
        "1 ready, 0 scheduled",
        "2 ready, 0 scheduled",
      ]);
      expect(await world.read((view) => view.openCounts("elsewhere"))).toEqual({});
    });

    it("tasks before one, the newest first", async (world) => {
      const ids: string[] = [];
      for (let n = 0; n < 4; n++) ids.push(await world.task());
      const [first, second, third, last] = ids as [string, string, string, string];
      await world.ok({ type: "cancel", taskId: second });
      expect(await found(world, { beforeOrdinal: 5, project: null })).toEqual([last, third, second, first]);
      expect(await found(world, { beforeOrdinal: 4, limit: 2 })).toEqual([third, second]);
      expect(await found(world, { beforeOrdinal: 4, afterOrdinal: 1, states: ["queued"] })).toEqual([third]);
      expect(await found(world, { beforeOrdinal: 1 })).toEqual([]);
    });

    it("tasks by state, where a held task has the state of its claim", async (world) => {
      await oneOfEach(world);
      for (const state of [
        "queued",
        "claimed",
        "running",
        "awaiting_response",
        "completed",
        "failed",
      ] as const) {
        expect(await found(world, { states: [state] })).toEqual([state]);
      }
      expect(await found(world, { states: ["cancelled", "queued", "running"] })).toEqual([
        "queued",
        "running",
        "cancelled",
      ]);
      expect(await found(world, { states: ["completed", "failed"] })).toEqual(["completed", "failed"]);
    });

    it("a question without a holder is still awaiting", async (world) => {
      await oneOfEach(world);
      await world.ok({ type: "end-session", sessionId: "awaiting_response", reason: "session_ended" });
      expect(await found(world, { states: ["awaiting_response"] })).toEqual(["awaiting_response"]);
      expect((await counts(world)).awaiting_response).toBe(1);
    });

    it("counts by state", async (world) => {
      expect(await counts(world)).toEqual({});
      await oneOfEach(world);
      const each = {
        queued: 1,
        claimed: 1,
        running: 1,
        awaiting_response: 1,
        completed: 1,
        failed: 1,
        cancelled: 1,
      };
      expect(await counts(world)).toEqual(each);
      await world.ok({ type: "create-project", id: "other" });
      const tasks = [{ prompt: "x" }];
      await world.ok({ type: "create", project: "other", correlationId: "c", tasks });
      expect(await counts(world)).toEqual(each);
      expect(await counts(world, "other")).toEqual({ queued: 1 });
      expect(await counts(world, null)).toEqual({ ...each, queued: 2 });
      await world.claim("queued", "a");
      expect(await counts(world)).toEqual({ ...each, queued: undefined, claimed: 2 });
    });

    it("tasks by label, assignee and parent", async (world) => {
      await world.task({ id: "a", labels: ["ui", "web"], assignee: "ann" });
      await world.task({ id: "b", labels: ["u"], assignee: "bob" });
      await world.task({ id: "c", parentId: "a", labels: ["ui"] });
      expect(await found(world, { label: "ui" })).toEqual(["a", "c"]);
      expect(await found(world, { label: "u" })).toEqual(["b"]);
      expect(await found(world, { assignee: "ann" })).toEqual(["a"]);
      expect(await found(world, { parentId: null })).toEqual(["a", "b"]);
      expect(await found(world, { parentId: "a" })).toEqual(["c"]);
      expect(await found(world, { parentId: "a", label: "ui", states: ["queued"], text: "do" })).toEqual([
        "c",
      ]);
      expect(await found(world, { parentId: "b" })).toEqual([]);
    });

    it("tasks by a part of id, title or prompt, whatever the case, and nothing is a wildcard", async (world) => {
      await world.task({ id: "login-fix", title: "One", prompt: "first" });
      await world.task({ id: "b", title: "Repair the Login", prompt: "second" });
      await world.task({ id: "c", title: "Three", prompt: "a line\nand 100% of the LOGIN_page\\x" });
      expect(await found(world, { text: "login" })).toEqual(["login-fix", "b", "c"]);
      expect(await found(world, { text: "LOGIN" })).toEqual(["login-fix", "b", "c"]);
      expect(await found(world, { text: "100%" })).toEqual(["c"]);
      expect(await found(world, { text: "n_p" })).toEqual(["c"]);
      expect(await found(world, { text: "n_f" })).toEqual([]);
      expect(await found(world, { text: "%" })).toEqual(["c"]);
      expect(await found(world, { text: "page\\x" })).toEqual(["c"]);
      expect(await found(world, { text: "'; DROP TABLE task; --" })).toEqual([]);
    });

    it("tasks that are ready by an instant, scheduled after it, or blocked", async (world) => {
      const now = world.clock.now();
      await world.task({ id: "free" });
      await world.task({ id: "later", notBefore: now + minute });
      await world.task({ id: "blocked", dependsOn: ["free"] });
      await world.task({ id: "group", type: "group" });
      await world.task({ id: "part", parentId: "group" });
      await world.task({ id: "held" });
      await world.claim("held", "a");
      const queued = (as: "ready" | "scheduled" | "blocked", at: number) =>
        found(world, { queued: { as, at } });
      expect(await queued("ready", now)).toEqual(["free", "part"]);
      expect(await queued("ready", now + minute)).toEqual(["free", "later", "part"]);
      expect(await queued("scheduled", now)).toEqual(["later"]);
      expect(await queued("scheduled", now + minute)).toEqual([]);
      expect(await queued("blocked", now)).toEqual(["blocked", "group"]);
    });

    it("tasks of one project or of all", async (world) => {
      await world.ok({ type: "create-project", id: "other" });
      await world.task({ id: "here" });
      const tasks = [{ prompt: "x", id: "there" }];
      await world.ok({ type: "create", project: "other", correlationId: "c", tasks });
      expect(await found(world, {})).toEqual(["here"]);
      expect(await found(world, { project: "other" })).toEqual(["there"]);
      expect(await found(world, { project: null })).toEqual(["here", "there"]);
      expect(await found(world, { project: "nowhere" })).toEqual([]);
    });

    it("open claims, oldest first, of a project or a session", async (world) => {
      const first = await world.hold("a");
      world.clock.advance(1000);
      const second = await world.hold("b");
      world.clock.advance(1000);
      const third = await world.hold("a");
      await world.ok({ type: "create-project", id: "other" });
      const list = (filter: { project: string | null; sessionId?: string; limit?: number }) =>
        world.read((view) => view.openClaims({ limit: 10, ...filter }).map((claim) => claim.taskId));
      const all = [first, second, third].map((hold) => hold.taskId);
      expect(await list({ project })).toEqual(all);
      expect(await list({ project: null })).toEqual(all);
      expect(await list({ project: "other" })).toEqual([]);
      expect(await list({ project, limit: 2 })).toEqual(all.slice(0, 2));
      expect(await list({ project, sessionId: "a" })).toEqual([first.taskId, third.taskId]);
      await world.complete(first);
      expect(await list({ project, sessionId: "a" })).toEqual([third.taskId]);
      expect(await world.read((view) => view.claimsOf(project, "a").map((claim) => claim.taskId))).toEqual([
        third.taskId,
      ]);
    });

    it("sessions by id, page by page, live ones or all", async (world) => {
      for (const id of ["c", "a", "d", "b"]) await world.session(id);
      await world.ok({ type: "end-session", sessionId: "b", reason: "session_ended" });
      const list = (filter: { live?: boolean; afterId?: string; limit?: number; project?: string | null }) =>
        world.read((view) =>
          view.sessions({ project, live: false, limit: 10, ...filter }).map((session) => session.id),
        );
      expect(await list({})).toEqual(["a", "b", "c", "d"]);
      expect(await list({ live: true })).toEqual(["a", "c", "d"]);
      expect(await list({ limit: 2 })).toEqual(["a", "b"]);
      expect(await list({ afterId: `${project}/b`, limit: 2 })).toEqual(["c", "d"]);
      expect(await list({ project: null, live: true, afterId: `${project}/a` })).toEqual(["c", "d"]);
      expect(await list({ project: "other" })).toEqual([]);
    });

    it("notifications, newest first, page by page, unread or all", async (world) => {
      for (let n = 0; n < 12; n++) {
        const hold = await world.hold("a", { maxRetries: 0 });
        await world.ok({ type: "fail", ...hold, error: `error ${n}`, retryable: false, spread: 0 });
      }
      const list = (filter: { unread?: boolean; before?: number; limit?: number; project?: string | null }) =>
        world.read((view) =>
          view
            .notifications({ project, unread: false, limit: 100, ...filter })
            .map((each) => Number(each.id.slice(1))),
        );
      const all = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
      expect(await list({})).toEqual(all);
      expect(await list({ limit: 3 })).toEqual([12, 11, 10]);
      expect(await list({ before: 10, limit: 3 })).toEqual([9, 8, 7]);
      await world.ok({ type: "read-notification", id: "n11" });
      expect(await list({ unread: true, limit: 3 })).toEqual([12, 10, 9]);
      expect(await list({ project: null })).toEqual(all);
      expect(await list({ project: "other" })).toEqual([]);
      const unread = await world.read((view) => [project, null, "other"].map((of) => view.unreadCount(of)));
      expect(unread).toEqual([11, 11, 0]);
    });

    it("attempts of a task, newest first", async (world) => {
      const id = await world.task();
      for (const sessionId of ["a", "b", "c"]) {
        await world.claim(id, sessionId, { start: true });
        world.clock.advance(1000);
        await world.ok({ type: "release", taskId: id, sessionId, reason: `from ${sessionId}`, spread: 0 });
      }
      const attempts = await world.read((view) => view.attempts(project, id, 2));
      expect(attempts.map((attempt) => [attempt.epoch, attempt.sessionId, attempt.releaseReason])).toEqual([
        [3, "c", "from c"],
        [2, "b", "from b"],
      ]);
    });

    it("text of any alphabet, quotes and line ends comes back as it was", async (world) => {
      const prompt = "Ünïcödé 🙂 'quotes' \"double\" \\ back\r\n\ttab \u2028 end";
      const metadata = { kéy: [prompt, 1.5, true, null, { deep: {} }] };
      const id = await world.task({ prompt, title: prompt, labels: [prompt], files: ["ä b.ts"], metadata });
      expect(await world.look(id)).toMatchObject({ title: prompt, labels: [prompt], files: ["ä b.ts"] });
      expect(await world.read((view) => view.text(project, id))).toEqual({
        prompt,
        description: null,
        metadata,
      });
      expect(await found(world, { label: prompt })).toEqual([id]);
      expect(await world.next("a", { labels: [prompt] })).toBe(id);
    });
  });
}
