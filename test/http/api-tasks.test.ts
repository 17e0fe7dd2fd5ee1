// Creating, finding, editing and understanding tasks over HTTP.

import { describe, expect, test } from "vitest";
import { type Desk, desks, minutes, must } from "./desk.js";
import { storeNames } from "./support.js";

const ids = (list: { id: string }[]) => list.map(({ id }) => id);

describe.each(storeNames)("tasks on %s", (store) => {
  const desk = desks(store);

  describe("create", () => {
    test("keeps everything that I say about a task", async () => {
      const here = await desk();
      const parentId = await here.task({ id: "epic", type: "group" });
      const dependsOn = [await here.task({ id: "first" })];
      const input = {
        id: "hierarchy-phase4",
        parentId,
        title: "Phase 4",
        prompt: "Do phase 4",
        description: "All of it",
        phase: "implementation",
        priority: 77,
        labels: ["metrics", "backend"],
        files: ["src/**/*.ts"],
        dependsOn,
        assignee: "alice",
        agentType: "autonomous",
        requires: ["docker"],
        maxRetries: 7,
        notBefore: here.at(minutes(5)),
        timeoutMs: 90_000,
        metadata: { ticket: 42, nested: { deep: [1, null, "x"] } },
      };
      const { status, body } = await here.post("/api/tasks", input);
      expect(status).toBe(201);
      expect(body.task).toMatchObject({ ...input, type: "task", state: "queued", project: here.project });
      expect(must(await here.get("/api/tasks/hierarchy-phase4")).task).toEqual(body.task);
    });

    test("a description is enough", async () => {
      const { task } = must(await (await desk()).post("/api/tasks", { description: "Only this" }));
      expect(task).toMatchObject({ description: "Only this", prompt: "Only this", title: "Only this" });
    });

    test("ids count up, below a parent too", async () => {
      const { task } = await desk();
      expect(await task()).toBe("0001");
      expect(await task()).toBe("0002");
      expect(await task({ parentId: "0001" })).toBe("0001_t1");
      expect(await task({ parentId: "0001" })).toBe("0001_t2");
      expect(await task({ parentId: "0001_t1" })).toBe("0001_t1.1");
      expect(await task({ parentId: "0001_t1.1" })).toBe("0001_t1.1.1");
    });

    test.each([
      ["p1", 100],
      ["p2", 80],
      ["p3", 60],
      ["p4", 40],
      ["p5", 20],
      ["critical", 100],
      ["high", 80],
      ["medium", 50],
      ["normal", 50],
      ["low", 20],
      ["HIGH", 80],
    ])("priority %s is %i", async (word, priority) => {
      const here = await desk();
      expect((await here.shown(await here.task({ priority: word }))).priority).toBe(priority);
    });

    test("what cannot be is refused: unknown parents and dependencies, cycles, taken ids, parents that are over", async () => {
      const here = await desk();
      const refused = async (input: object) => {
        const { status, body } = await here.post("/api/tasks", { prompt: "x", ...input });
        return [status, body.error];
      };
      const done = await here.running("worker", { id: "done" });
      must(await here.post(`/api/tasks/${done}/complete`, { sessionId: "worker" }));
      const parent = await here.task({ id: "parent" });
      expect(await refused({ parentId: "nope" })).toEqual([404, "TASK_NOT_FOUND"]);
      expect(await refused({ dependsOn: ["nope"] })).toEqual([400, "DEPENDENCY_NOT_FOUND"]);
      expect(await refused({ id: "parent" })).toEqual([409, "ID_TAKEN"]);
      expect(await refused({ parentId: "done" })).toEqual([409, "INVALID_STATE"]);
      // A parent waits for its children.
      expect(await refused({ parentId: parent, dependsOn: [parent] })).toEqual([400, "DEPENDENCY_CYCLE"]);
      expect(ids(must(await here.get("/api/tasks")).tasks)).toEqual(["done", "parent"]);
    });
  });

  describe("batch", () => {
    test("makes a plan at once, with keys, titles and ids as references", async () => {
      const here = await desk();
      await here.task({ id: "base" });
      const { status, body } = await here.post("/api/tasks/batch", {
        tasks: [
          { key: "design", prompt: "Design it" },
          { key: "build", prompt: "Build it", dependsOn: ["design", "base"] },
          { title: "Test it", prompt: "Test all of it", dependsOn: ["build"] },
          { prompt: "Ship it", dependsOn: ["Test it"] },
          { key: "part", prompt: "A part", parentId: "build" },
        ],
      });
      expect(status).toBe(201);
      expect(body.success).toBe(true);
      const [design, build, tests, ship, part] = body.tasks;
      expect(body.ids).toEqual({ design: design.id, build: build.id, part: part.id });
      expect(build.dependsOn).toEqual([design.id, "base"]);
      expect(tests.dependsOn).toEqual([build.id]);
      expect(ship.dependsOn).toEqual([tests.id]);
      expect(part.parentId).toBe(build.id);
      expect(ids(must(await here.get("/api/tasks/claimable")).tasks).sort()).toEqual(
        ["base", design.id, part.id].sort(),
      );
    });

    test("with a plan's name updates what an earlier one created, after a dry run if I like", async () => {
      const here = await desk();
      const load = (body: object, more?: object) =>
        here.post("/api/tasks/batch", { plan: "docs/plan.md", ...body }, more);
      const design = { key: "design", prompt: "Design it" };
      const build = { key: "build", prompt: "Build it", dependsOn: ["design"] };
      const first = must(await load({ tasks: [design, build] }));
      expect(first.plan).toMatchObject({ isNew: true, counts: { new: 2 } });
      const edited = {
        tasks: [
          { ...design, priority: "high" },
          { key: "ship", prompt: "Ship it" },
        ],
      };
      const dry = must(await load({ ...edited, dryRun: true, prune: true }));
      expect(dry).toMatchObject({ ids: { design: first.ids.design }, plan: { dryRun: true } });
      expect(dry.plan.changes).toMatchObject([
        { change: "changed", key: "design", fields: ["priority"] },
        { change: "new", key: "ship", taskId: null },
        { change: "cancelled", key: null, taskId: first.ids.build },
      ]);
      expect(must(await here.get("/api/tasks")).tasks).toEqual(first.tasks);
      const { token } = must(await here.post("/api/tokens", { role: "worker" }));
      const worker = { headers: { authorization: `Bearer ${token}` } };
      expect((await load(edited, worker)).body).toMatchObject({ error: "FORBIDDEN" });
      must(await load({ tasks: [design, build, { prompt: "More" }] }, worker));
      const again = must(await load(edited));
      expect(again.plan.counts).toMatchObject({ new: 1, changed: 1, gone: 2, cancelled: 0 });
      expect(again.tasks[0]).toMatchObject({ id: first.ids.design, priority: 80 });
    });

    test("has a dry run, prunes and knows what is done only with a plan", async () => {
      const here = await desk();
      const tasks = [{ prompt: "x" }];
      for (const more of [{ dryRun: true }, { prune: true }, { tasks: [{ prompt: "x", done: true }] }]) {
        const { status, body } = await here.post("/api/tasks/batch", { tasks, ...more });
        expect([status, body.message]).toEqual([
          400,
          expect.stringContaining("only for a batch with a plan"),
        ]);
      }
    });

    test("is all or nothing", async () => {
      const here = await desk();
      const bad = async (tasks: object[]) => {
        const { status, body } = await here.post("/api/tasks/batch", { tasks });
        expect(must(await here.get("/api/tasks")).tasks).toEqual([]);
        return [status, body.error];
      };
      const good = { prompt: "good" };
      expect(await bad([good, { prompt: "x", dependsOn: ["nope"] }])).toEqual([400, "DEPENDENCY_NOT_FOUND"]);
      expect(
        await bad([
          { key: "a", prompt: "a", dependsOn: ["b"] },
          { key: "b", prompt: "b", dependsOn: ["a"] },
        ]),
      ).toEqual([400, "DEPENDENCY_CYCLE"]);
      expect(await bad([good, { key: "k", prompt: "x" }, { key: "k", prompt: "y" }])).toEqual([
        400,
        "VALIDATION_FAILED",
      ]);
      expect(
        await bad([{ prompt: "same" }, { prompt: "same" }, { prompt: "x", dependsOn: ["same"] }]),
      ).toEqual([400, "VALIDATION_FAILED"]);
      expect(await bad([good, { id: "i", prompt: "x" }, { id: "i", prompt: "y" }])).toEqual([
        409,
        "ID_TAKEN",
      ]);
      expect(await bad([good, { prompt: "x", parentId: "nope" }])).toEqual([404, "TASK_NOT_FOUND"]);
      expect(await here.task()).toBe("0001");
    });

    test("a cycle is written out with the names that I used", async () => {
      const here = await desk();
      const { body } = await here.post("/api/tasks/batch", {
        tasks: [
          { key: "a", prompt: "a", dependsOn: ["b"] },
          { key: "b", prompt: "b", dependsOn: ["c"] },
          { key: "c", prompt: "c", dependsOn: ["a"] },
        ],
      });
      expect(body.message).toMatch(/a → b → c → a|b → c → a → b|c → a → b → c/);
    });

    test("a thousand tasks are one request", async () => {
      const here = await desk();
      const tasks = Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, prompt: `task ${n}` }));
      const body = must(await here.post("/api/tasks/batch", { tasks }));
      expect(new Set(Object.values(body.ids)).size).toBe(1000);
      expect(ids(body.tasks)).toEqual(tasks.map(({ key }) => body.ids[key]));
    });
  });

  describe("list", () => {
    /** One of each kind. */
    async function mixture(): Promise<Desk> {
      const here = await desk();
      await here.session("worker", { capacity: 10 });
      await here.task({ id: "queued", labels: ["red"] });
      await here.task({ id: "blocked", dependsOn: ["queued"], labels: ["red", "blue"] });
      await here.task({ id: "later", notBefore: here.at(minutes(10)), assignee: "alice" });
      await here.task({ id: "claimed" });
      await here.claim("claimed", "worker");
      await here.task({ id: "running", prompt: "find the NEEDLE here" });
      await here.claim("running", "worker", { start: true });
      await here.task({ id: "asking" });
      await here.claim("asking", "worker", { start: true });
      must(await here.post("/api/tasks/asking/ask", { sessionId: "worker", question: "?" }));
      await here.task({ id: "done" });
      await here.claim("done", "worker");
      must(await here.post("/api/tasks/done/complete", { sessionId: "worker", result: "ok" }));
      await here.task({ id: "broken" });
      await here.claim("broken", "worker");
      must(await here.post("/api/tasks/broken/fail", { sessionId: "worker", error: "x", retryable: false }));
      await here.task({ id: "dropped" });
      must(await here.post("/api/tasks/dropped/cancel"));
      await here.task({ id: "child", parentId: "blocked" });
      return here;
    }

    test("filters by state, label, assignee, parent, text and whether it can be claimed", async () => {
      const here = await mixture();
      const found = async (query: string) => ids(must(await here.get(`/api/tasks?${query}`)).tasks);
      expect(await found("state=queued")).toEqual(["queued", "blocked", "later", "child"]);
      expect(await found("state=claimed")).toEqual(["claimed"]);
      expect(await found("state=running")).toEqual(["running"]);
      expect(await found("state=awaiting_response")).toEqual(["asking"]);
      expect(await found("state=completed")).toEqual(["done"]);
      expect(await found("state=failed")).toEqual(["broken"]);
      expect(await found("state=cancelled")).toEqual(["dropped"]);
      expect(await found("state=failed,cancelled")).toEqual(["broken", "dropped"]);
      expect(await found("state=failed&state=cancelled")).toEqual(["broken", "dropped"]);
      expect(await found("status=failed")).toEqual(["broken"]);
      expect(await found("label=red")).toEqual(["queued", "blocked"]);
      expect(await found("label=blue")).toEqual(["blocked"]);
      expect(await found("label=green")).toEqual([]);
      expect(await found("assignee=alice")).toEqual(["later"]);
      expect(await found("parent=blocked")).toEqual(["child"]);
      expect(await found("parent=")).not.toContain("child");
      expect(await found("q=needle")).toEqual(["running"]);
      expect(await found("q=block")).toEqual(["blocked"]);
      expect(await found("claimable=true")).toEqual(["queued", "child"]);
      expect(await found("state=queued&label=red&claimable=true")).toEqual(["queued"]);
      expect(await found("")).toHaveLength(10);
    });

    test.each([
      ["QUEUED", "queued"],
      ["pending", "queued"],
      ["available", "queued"],
      ["in_progress", "running"],
      ["AWAITING_RESPONSE", "asking"],
      ["COMPLETE", "done"],
      ["done", "done"],
      ["ERROR", "broken"],
      ["CANCELLED", "dropped"],
    ])("knows every seed's word for a state: %s", async (word, id) => {
      const here = await mixture();
      expect(ids(must(await here.get(`/api/tasks?state=${word}`)).tasks)).toContain(id);
    });

    test("goes through all pages without loss or repetition, whatever the page size", async () => {
      const here = await desk();
      const tasks = Array.from({ length: 57 }, (_, n) => ({
        prompt: `task ${n}`,
        labels: n % 3 === 0 ? ["third"] : [],
      }));
      const made = ids(must(await here.post("/api/tasks/batch", { tasks })).tasks);
      for (const limit of [1, 10, 19, 56, 57, 58, 1000]) {
        const { pages, seen } = await walk(here, `/api/tasks?limit=${limit}`);
        expect(seen).toEqual(made);
        expect(pages).toBe(Math.ceil(57 / limit));
      }
      const thirds = await walk(here, "/api/tasks?limit=4&label=third");
      expect(thirds.seen).toEqual(made.filter((_, n) => n % 3 === 0));
    });

    test("a page is a hundred unless I say otherwise", async () => {
      const here = await desk();
      must(
        await here.post("/api/tasks/batch", { tasks: Array.from({ length: 101 }, () => ({ prompt: "x" })) }),
      );
      const page = must(await here.get("/api/tasks"));
      expect(page.tasks).toHaveLength(100);
      expect(page.nextCursor).toEqual(expect.any(String));
      const rest = must(await here.get(`/api/tasks?cursor=${page.nextCursor}`));
      expect([rest.tasks.length, rest.nextCursor]).toEqual([1, null]);
    });

    test("tasks that change while I turn the pages are neither lost nor seen twice", async () => {
      const here = await desk();
      await here.session("worker", { capacity: 100 });
      const tasks = Array.from({ length: 20 }, (_, n) => ({ prompt: `task ${n}` }));
      const made = ids(must(await here.post("/api/tasks/batch", { tasks })).tasks);
      const { seen } = await walk(here, "/api/tasks?limit=5", async (page) => {
        // One of the seen, one of the unseen, and a new one.
        must(await here.post(`/api/tasks/${made[page]}/cancel`));
        must(await here.patch(`/api/tasks/${made[19 - page]}`, { priority: 99 }));
        if (page < 3) await here.task();
      });
      expect(seen.slice(0, 20)).toEqual(made);
      expect(new Set(seen).size).toBe(seen.length);
    });

    test("what is in flight has pages, and what ends while I turn them takes nothing else along", async () => {
      const here = await desk();
      const first = must(await here.get("/api/projects")).projects[0].settings.claim;
      await here.session("worker", { capacity: 100 });
      const tasks = Array.from({ length: 12 }, (_, n) => ({ prompt: `task ${n}` }));
      const made = ids(must(await here.post("/api/tasks/batch", { tasks })).tasks);
      const claim = (id: string, start: boolean) =>
        here.post(`/api/tasks/${id}/claim`, { sessionId: "worker", start });
      const [lost, held] = [made.slice(0, 4), made.slice(4)];
      for (const id of lost) must(await claim(id, false));
      here.clock.advance(first.startTimeoutMs);
      // All but the last two in the same instant.
      for (const [n, id] of held.entries()) {
        if (n >= held.length - 2) here.clock.advance(1_000);
        must(await claim(id, true));
      }
      const inFlight = { list: "inFlight", field: "taskId" };
      const path = "/api/tasks/in-flight";
      for (const limit of [1, 3, 8, 9]) {
        const { seen, pages } = await walk(here, `${path}?limit=${limit}`, undefined, inFlight);
        expect(seen).toEqual(held);
        expect(pages).toBe(Math.ceil(8 / limit));
      }
      const whole = must(await here.get(path));
      expect(whole).not.toHaveProperty("nextCursor");
      const page = must(await here.get(`${path}?limit=2`));
      expect(page.summary).toEqual(whole.summary);
      const { seen } = await walk(
        here,
        `${path}?includeExpired=true&limit=3`,
        // Where the page ended, and one that is still to come.
        async (at) => {
          if (at > 0) return;
          for (const id of [held[2], held[5]])
            must(await here.post(`/api/tasks/${id}/complete`, { sessionId: "worker" }));
        },
        inFlight,
      );
      expect(seen).toEqual([...held.filter((id) => id !== held[5]), ...lost]);
      for (const cursor of ["1", "open/x/y/z", "open/1/", "lost"]) {
        const refused = await here.get(`${path}?cursor=${encodeURIComponent(cursor)}`);
        expect(refused.body.error, cursor).toBe("VALIDATION_FAILED");
      }
    });

    test("sessions, notifications, projects, locks and tokens have pages, too", async () => {
      const here = await desk();
      const { world, project } = here;
      const names = Array.from({ length: 7 }, (_, n) => `page-${project}-${n}`);
      for (const name of names) {
        await here.running(name);
        must(await here.post("/api/locks", { name, sessionId: name }));
        must(await world.post("/api/tokens", { name }));
        must(await world.post("/api/projects", { id: name }));
      }
      const held = must(await here.get("/api/tasks/in-flight")).inFlight;
      for (const { taskId, claim } of held) {
        must(await here.post(`/api/tasks/${taskId}/ask`, { sessionId: claim.sessionId, question: "?" }));
      }
      const ours = (seen: string[]) => seen.filter((name) => names.includes(name)).sort();
      const all = async (path: string, list: string, field: string) =>
        (await walk(here, path, undefined, { list, field })).seen;
      expect(ours(await all("/api/sessions?limit=2", "sessions", "id"))).toEqual(names);
      expect(ours(await all("/api/locks?limit=2", "locks", "name"))).toEqual(names);
      expect(ours(await all("/api/tokens?limit=2", "tokens", "name"))).toEqual(names);
      expect(ours(await all("/api/projects?limit=2", "projects", "id"))).toEqual(names);
      const told = await all("/api/notifications?limit=2", "notifications", "taskId");
      expect(told.sort()).toEqual(held.map(({ taskId }: { taskId: string }) => taskId).sort());
      const nodes = await all("/api/graph?limit=2", "nodes", "id");
      expect(await all("/api/task-rows?limit=2", "rows", "id")).toEqual(nodes);
      expect(nodes).toHaveLength(7);
    });
  });

  describe("update", () => {
    test("changes what I name and leaves the rest", async () => {
      const here = await desk();
      const id = await here.task({ priority: 10, labels: ["a"], assignee: "alice" });
      here.clock.advance(1_000);
      const changes = {
        title: "New title",
        prompt: "New prompt",
        description: "New description",
        phase: "test",
        priority: "high",
        labels: ["b", "c"],
        files: ["x.ts"],
        assignee: null,
        maxRetries: 0,
        timeoutMs: 5_000,
        metadata: { a: 1 },
      };
      const { status, body } = await here.patch(`/api/tasks/${id}`, changes);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        task: { ...changes, priority: 80, assignee: null, state: "queued", updatedAt: here.at() },
      });
      const [event] = (await here.timeline(id)).filter(({ type }) => type === "task:updated");
      expect((event!.data.changed as string[]).sort()).toEqual(Object.keys(changes).sort());
    });

    test("dependencies and needs can change only while it is queued, the parent never", async () => {
      const here = await desk();
      const first = await here.task();
      const id = await here.task();
      must(await here.patch(`/api/tasks/${id}`, { dependsOn: [first] }));
      expect(must(await here.get(`/api/tasks/${id}/explain`)).claimable).toBe(false);
      must(await here.patch(`/api/tasks/${id}`, { dependsOn: [] }));
      expect(must(await here.get(`/api/tasks/${id}/explain`)).claimable).toBe(true);
      await here.session("worker");
      await here.claim(id, "worker");
      for (const change of [{ dependsOn: [first] }, { requires: ["docker"] }]) {
        const { status, body } = await here.patch(`/api/tasks/${id}`, change);
        expect([status, body.error]).toEqual([409, "INVALID_STATE"]);
      }
      must(await here.patch(`/api/tasks/${id}`, { title: "While it is held" }));
      const { status, body } = await here.patch(`/api/tasks/${id}`, { parentId: first });
      expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
    });

    test("what is completed cannot be edited; what was cancelled can, before it is retried", async () => {
      const here = await desk();
      const id = await here.task();
      must(await here.post(`/api/tasks/${id}/cancel`));
      expect(must(await here.patch(`/api/tasks/${id}`, { title: "better" })).task.title).toBe("better");
      must(await here.post(`/api/tasks/${id}/retry`));
      must(await here.post(`/api/tasks/${id}/claim`, { sessionId: "s", register: true }));
      must(await here.post(`/api/tasks/${id}/complete`, { sessionId: "s", result: "done" }));
      const { status, body } = await here.patch(`/api/tasks/${id}`, { title: "late" });
      expect([status, body.error]).toEqual([409, "INVALID_STATE"]);
    });
  });

  describe("cancel", () => {
    test("of a parent leaves its children unless I say cascade", async () => {
      const here = await desk();
      const parent = await here.task({ id: "parent" });
      const child = await here.task({ parentId: parent });
      const grandchild = await here.task({ parentId: child });
      const one = must(await here.post(`/api/tasks/${child}/cancel`));
      expect(one.cancelled).toEqual([child]);
      expect((await here.shown(grandchild)).state).toBe("queued");
      const all = must(await here.post(`/api/tasks/${parent}/cancel`, { cascade: true, reason: "stop" }));
      expect(all.cancelled.sort()).toEqual([grandchild, parent].sort());
      expect((await here.shown(grandchild)).state).toBe("cancelled");
    });
  });

  describe("progress", () => {
    test("is a note on the timeline, and renews the lease", async () => {
      const here = await desk();
      const id = await here.running("worker");
      here.clock.advance(minutes(10));
      const request = { sessionId: "worker", epoch: 1, note: "half way", percent: 50 };
      const { status, body } = await here.post(`/api/tasks/${id}/progress`, request);
      expect(status).toBe(200);
      expect(body.task.claim).toMatchObject({
        progress: { note: "half way", percent: 50, at: here.at() },
        expiresAt: here.at(minutes(30)),
      });
      expect((await here.timeline(id)).at(-1)).toMatchObject({
        type: "task:progress",
        data: { note: "half way", percent: 50 },
      });
    });
  });

  describe("complete", () => {
    test("names what it has unblocked, and repeats its answer", async () => {
      const here = await desk();
      const id = await here.running("worker");
      const next = [await here.task({ dependsOn: [id] }), await here.task({ dependsOn: [id] })];
      const both = await here.task({ dependsOn: [id, next[0]] });
      const request = { sessionId: "worker", epoch: 1, result: "ok" };
      const first = must(await here.post(`/api/tasks/${id}/complete`, request));
      expect(first.unblocked.sort()).toEqual(next.sort());
      const again = must(await here.post(`/api/tasks/${id}/complete`, request));
      expect(again.unblocked.sort()).toEqual(next);
      for (const each of next) expect(await here.told(each)).toContain("task:unblocked");
      expect(await here.told(both)).not.toContain("task:unblocked");
    });

    test("from claimed starts it on the way", async () => {
      const here = await desk();
      await here.session("worker");
      const id = await here.task();
      await here.claim(id, "worker");
      must(await here.post(`/api/tasks/${id}/complete`, { sessionId: "worker" }));
      expect((await here.told(id)).slice(-2)).toEqual(["task:started", "task:completed"]);
    });

    test("a group completes by itself when its children have", async () => {
      const here = await desk();
      await here.session("worker", { capacity: 2 });
      const group = await here.task({ type: "group", title: "All" });
      const children = [await here.task({ parentId: group }), await here.task({ parentId: group })];
      expect((await here.post(`/api/tasks/${group}/claim`, { sessionId: "worker" })).body.error).toBe(
        "TASK_NOT_CLAIMABLE",
      );
      for (const child of children) {
        expect((await here.shown(group)).state).toBe("queued");
        await here.claim(child, "worker");
        must(await here.post(`/api/tasks/${child}/complete`, { sessionId: "worker" }));
      }
      expect((await here.shown(group)).state).toBe("completed");
    });
  });

  describe("explain", () => {
    const reasons = async ({ get }: Desk, id: string, session?: string) => {
      const query = session === undefined ? "" : `?sessionId=${session}`;
      const body = must(await get(`/api/tasks/${id}/explain${query}`));
      expect(body.taskId).toBe(id);
      return body;
    };
    const codes = (body: { reasons: { code: string }[] }) => body.reasons.map(({ code }) => code);

    test("a task that can be claimed has no reasons, but says that nobody is there", async () => {
      const here = await desk();
      const id = await here.task();
      expect(await reasons(here, id)).toMatchObject({
        claimable: true,
        reasons: [{ code: "NO_LIVE_SESSION_FITS" }],
      });
      await here.session("worker");
      expect(await reasons(here, id)).toMatchObject({ claimable: true, reasons: [] });
    });

    test("the whole chain that it waits for is named, and what is broken in it", async () => {
      const here = await desk();
      const first = await here.running("worker");
      const second = await here.task({ dependsOn: [first] });
      const third = await here.task({ dependsOn: [second] });
      must(
        await here.post(`/api/tasks/${first}/fail`, { sessionId: "worker", error: "x", retryable: false }),
      );
      const { claimable, reasons: why } = await reasons(here, third);
      expect(claimable).toBe(false);
      expect(why[0]).toMatchObject({
        code: "WAITING_ON_DEPENDENCIES",
        taskIds: expect.arrayContaining([first, second]),
        message: expect.stringContaining(`${first} (failed)`),
        fix: `dibs retry ${first}`,
      });
    });

    test("every other reason has its code, and where something helps, a command", async () => {
      const here = await desk();
      await here.session("worker", { agentType: "cli" });
      await here.session("other");
      const parent = await here.task();
      await here.task({ parentId: parent });
      expect(codes(await reasons(here, parent))).toEqual(["WAITING_ON_CHILDREN"]);
      const group = await here.task({ type: "group", title: "g" });
      expect(codes(await reasons(here, group))).toContain("IS_GROUP");
      const later = await here.task({ notBefore: here.at(minutes(5)) });
      expect(await reasons(here, later)).toMatchObject({
        reasons: [{ code: "SCHEDULED", until: here.at(minutes(5)) }],
      });
      const picky = await here.task({ assignee: "alice", agentType: "autonomous", requires: ["docker"] });
      expect(codes(await reasons(here, picky, "worker"))).toEqual([
        "ASSIGNED_TO_OTHER",
        "WRONG_AGENT_TYPE",
        "MISSING_CAPABILITY",
      ]);
      expect((await reasons(here, picky)).claimable).toBe(true);
      const held = await here.task();
      await here.claim(held, "worker", { start: true });
      expect(await reasons(here, held)).toMatchObject({
        reasons: [
          {
            code: "CLAIMED",
            message: expect.stringContaining("worker"),
            until: here.at(minutes(30)),
            sessionId: "worker",
            holderAlive: true,
          },
        ],
      });
      must(await here.post(`/api/tasks/${held}/ask`, { sessionId: "worker", question: "which?" }));
      expect(await reasons(here, held)).toMatchObject({
        reasons: [{ code: "AWAITING_RESPONSE", message: expect.stringContaining("which?") }],
      });
      must(await here.post(`/api/tasks/${held}/cancel`));
      expect(codes(await reasons(here, held))).toEqual(["TERMINAL"]);
      must(await here.post(`/api/projects/${here.project}/pause`));
      expect(await reasons(here, picky)).toMatchObject({
        claimable: false,
        reasons: [{ code: "PROJECT_PAUSED", fix: `dibs project resume ${here.project}` }],
      });
    });
  });

  describe("blocked-by, claimable and graph", () => {
    test("I see who waits for a task, directly and further on", async () => {
      const here = await desk();
      for (const [id, dependsOn] of Object.entries({ a: [], b: ["a"], c: ["b"], d: ["c"], e: ["a", "d"] })) {
        await here.task({ id, dependsOn });
      }
      const { status, body } = await here.get("/api/tasks/a/blocked-by");
      expect(status).toBe(200);
      expect(body.taskId).toBe("a");
      expect(body.direct.sort()).toEqual(["b", "e"]);
      expect(body.transitive.sort()).toEqual(["c", "d"]);
      expect(must(await here.get("/api/tasks/e/blocked-by"))).toMatchObject({ direct: [], transitive: [] });
    });

    test("claimable lists what can be claimed, in the order of claiming, for one session too", async () => {
      const here = await desk();
      await here.session("worker", { capabilities: ["docker"], capacity: 9 });
      await here.session("plain", { capacity: 9 });
      await here.task({ id: "low", priority: 10 });
      await here.task({ id: "high", priority: 90 });
      await here.task({ id: "special", priority: 95, requires: ["docker"] });
      await here.task({ id: "blocked", dependsOn: ["low"] });
      expect(ids(must(await here.get("/api/tasks/claimable")).tasks)).toEqual(["special", "high", "low"]);
      expect(ids(must(await here.get("/api/tasks/claimable?sessionId=plain")).tasks)).toEqual([
        "high",
        "low",
      ]);
      expect(ids(must(await here.get("/api/tasks/claimable?limit=1")).tasks)).toEqual(["special"]);
      const handed: string[] = [];
      for (let n = 0; n < 3; n++) {
        handed.push(must(await here.post("/api/tasks/claim-next", { sessionId: "worker" })).claim.taskId);
      }
      expect(handed).toEqual(["special", "high", "low"]);
    });

    test("the graph has every task, and an edge from each to what it waits for", async () => {
      const here = await desk();
      await here.task({ id: "a" });
      await here.task({ id: "b", dependsOn: ["a"] });
      await here.task({ id: "c", parentId: "b" });
      const { nodes, edges, nextCursor } = must(await here.get("/api/graph"));
      expect(nodes).toMatchObject([
        { id: "a", state: "queued", parentId: null },
        { id: "b" },
        { id: "c", parentId: "b" },
      ]);
      expect(edges).toEqual([{ from: "b", to: "a" }]);
      expect(nextCursor).toBeNull();
    });
  });

  describe("rows", () => {
    test("tell of each task in short what a list shows, and cut long texts", async () => {
      const here = await desk();
      const id = await here.running("worker", { labels: ["ui"] });
      must(
        await here.post(`/api/tasks/${id}/progress`, {
          sessionId: "worker",
          note: "x".repeat(500),
          percent: 40,
        }),
      );
      await here.task({ id: "next", dependsOn: [id] });
      const { rows, nextCursor } = must(await here.get("/api/task-rows"));
      const task = must(await here.get(`/api/tasks/${id}`)).task;
      const { sessionId, epoch, expiresAt } = task.claim;
      expect(rows).toMatchObject([
        {
          id,
          state: "running",
          labels: ["ui"],
          startedAt: task.startedAt,
          updatedAt: task.updatedAt,
          claim: { sessionId, epoch, expiresAt, healthStatus: "healthy", percent: 40, note: "x".repeat(200) },
        },
        { id: "next", state: "queued", dependsOn: [id], pendingDependencies: 1, claim: null, readyAt: null },
      ]);
      expect(rows[0]).not.toHaveProperty("prompt");
      expect(nextCursor).toBeNull();
    });

    test("can be asked for by state, or by id within one project", async () => {
      const here = await desk();
      const id = await here.running("worker");
      await here.task({ id: "b" });
      expect(ids(must(await here.get("/api/task-rows?state=running,claimed")).rows)).toEqual([id]);
      expect(ids(must(await here.get("/api/task-rows?taskIds=b,nope")).rows)).toEqual(["b"]);
      const answer = await here.get("/api/task-rows?taskIds=b&project=*");
      expect([answer.status, answer.body.error]).toEqual([400, "VALIDATION_FAILED"]);
    });
  });

  describe("attempts", () => {
    test("every attempt is kept, newest first, with how it ended", async () => {
      const here = await desk();
      const id = await here.running("worker");
      must(await here.post(`/api/tasks/${id}/release`, { sessionId: "worker", reason: "lunch" }));
      await here.claim(id, "worker", { start: true, metadata: { pid: 1 } });
      here.clock.advance(minutes(30));
      await here.claim(id, "worker", { start: true });
      must(await here.post(`/api/tasks/${id}/complete`, { sessionId: "worker", result: "ok" }));
      expect(must(await here.get(`/api/tasks/${id}/attempts`)).attempts).toMatchObject([
        { epoch: 3, sessionId: "worker", releaseReason: "completed", result: { output: "ok" } },
        { epoch: 2, releaseReason: "ttl", releasedAt: here.at(), result: null, metadata: { pid: 1 } },
        { epoch: 1, releaseReason: "lunch" },
      ]);
    });
  });
});

/** All pages of a list. `between` is called after each page but the last. */
async function walk(
  { get }: Desk,
  path: string,
  between: (page: number) => Promise<void> = async () => undefined,
  { list, field } = { list: "tasks", field: "id" },
): Promise<{ pages: number; seen: string[] }> {
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages++) {
    const body = must(await get(cursor === null ? path : `${path}&cursor=${encodeURIComponent(cursor)}`));
    seen.push(...body[list].map((each: Record<string, string>) => each[field]));
    cursor = (body.nextCursor ?? null) as string | null;
    if (cursor === null) return { pages, seen };
    await between(pages - 1);
  }
}
