import { describe, expect } from "vitest";
import { carryOut } from "../../core/decide.js";
import type { EventFilter } from "../../core/view.js";
import { type Driver, minute, org, project, teller, type World } from "./harness.js";

async function page(world: World, filter: Partial<EventFilter>) {
  return world.read((view) => view.events({ after: 0, limit: 1000, ...filter }));
}

async function seqs(world: World, filter: Partial<EventFilter>) {
  return (await page(world, filter)).map((event) => event.seq);
}

export function events(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: events`, () => {
    it("are numbered from one without gaps, across commits, refusals and failures", async (world) => {
      const hold = await world.hold("a");
      await world.refused("TASK_ALREADY_CLAIMED", { type: "claim", ...hold, sessionId: "b", register: {} });
      await world.store.commit(org, [
        () => {
          throw new Error("broken job");
        },
      ]);
      await world.task();
      await world.complete(hold);
      const all = await world.events();
      expect(all.map((event) => event.seq)).toEqual(all.map((_, index) => index + 1));
      expect(all.at(-1)!.seq).toBe((await world.read((view) => view.org())).eventSeq);
    });

    it("of several commands in one commit come in their order", async (world) => {
      const tasks = [{ prompt: "x" }];
      await world.together([
        { type: "register-session", session: { id: "a" } },
        { type: "create", correlationId: "c", tasks },
        { type: "claim", taskId: "0001", sessionId: "a" },
        { type: "claim", taskId: "0001", sessionId: "b", register: {} },
        { type: "start", taskId: "0001", sessionId: "a", epoch: 1 },
        { type: "create", correlationId: "c", tasks },
      ]);
      expect((await world.events()).map((event) => [event.seq, event.type, event.taskId])).toEqual([
        [1, "session:registered", null],
        [2, "task:created", "0001"],
        [3, "task:queued", "0001"],
        [4, "task:claimed", "0001"],
        [5, "task:started", "0001"],
        [6, "task:created", "0002"],
        [7, "task:queued", "0002"],
      ]);
    });

    it("tell what, when, where, by whom and with which epoch", async (world) => {
      world.clock.advance(1234);
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "progress", ...hold, note: "half", percent: 50 });
      expect((await world.events()).at(-1)).toMatchObject({
        type: "task:progress",
        at: world.clock.now(),
        org,
        project,
        taskId: hold.taskId,
        sessionId: "a",
        epoch: 1,
        actor: "agent:a",
        data: { note: "half", percent: 50 },
      });
    });

    it("name who did it: a person, an agent or the system", async (world) => {
      const tasks = [{ prompt: "x" }];
      await world.ok({ type: "create", correlationId: "c", tasks }, "user:ann");
      const taskId = "0001";
      await world.claim(taskId, "a", { start: true });
      await world.ok({ type: "ask", taskId, sessionId: "a", question: "Which?" });
      await world.ok({ type: "respond", taskId, response: "x" }, "user:bob");
      world.clock.advance(30 * minute);
      await world.ok({ type: "cancel", taskId, reason: "enough" }, "user:eve");
      expect((await page(world, { taskId })).map((event) => [event.type, event.actor])).toEqual([
        ["task:created", "user:ann"],
        ["task:queued", "system"],
        ["task:claimed", "agent:a"],
        ["task:started", "agent:a"],
        ["task:awaiting-response", "agent:a"],
        ["notification:created", "system"],
        ["task:response-received", "user:bob"],
        ["notification:read", "user:bob"],
        ["task:claim-expired", "system"],
        ["task:cancelled", "user:eve"],
      ]);
    });

    it("come in pages by number and limit", async (world) => {
      for (let n = 0; n < 5; n++) await world.task();
      expect(await seqs(world, { limit: 3 })).toEqual([1, 2, 3]);
      expect(await seqs(world, { after: 3, limit: 3 })).toEqual([4, 5, 6]);
      expect(await seqs(world, { after: 9 })).toEqual([10]);
      expect(await seqs(world, { after: 10 })).toEqual([]);
      expect(await seqs(world, { after: 99 })).toEqual([]);
    });

    it("can be had of one project, one task, some types, and all of these at once", async (world) => {
      await world.ok({ type: "create-project", id: "other" });
      const tasks = [{ prompt: "x" }];
      const first = await world.task();
      await world.ok({ type: "create", project: "other", correlationId: "c", tasks });
      await world.task();
      expect(await seqs(world, {})).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await seqs(world, { project })).toEqual([2, 3, 6, 7]);
      expect(await seqs(world, { project: "other" })).toEqual([1, 4, 5]);
      expect(await seqs(world, { project: null })).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await seqs(world, { taskId: first })).toEqual([2, 3, 4, 5]);
      expect(await seqs(world, { types: ["task:created"] })).toEqual([2, 4, 6]);
      expect(await seqs(world, { types: ["task:queued", "project:updated"] })).toEqual([1, 3, 5, 7]);
      expect(await seqs(world, { types: [] })).toEqual([]);
      expect(
        await seqs(world, { project, taskId: first, types: ["task:queued"], after: 2, limit: 1 }),
      ).toEqual([3]);
    });

    it("a heartbeat, a refusal and a repetition leave none", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const before = (await world.events()).length;
      await world.ok({ type: "heartbeat", ...hold });
      await world.ok({ type: "session-heartbeat", sessionId: "a" });
      await world.ok({ type: "start", ...hold });
      await world.claim(hold.taskId, "a");
      await world.refused("STALE_EPOCH", { type: "heartbeat", ...hold, epoch: 9 });
      await world.ok({ type: "claim-next", sessionId: "a" });
      expect((await world.events()).length).toBe(before);
    });

    it("an edit names the fields it changed, and one that changes nothing is no event", async (world) => {
      const id = await world.task({ title: "Old", labels: ["a"], description: "long" });
      const patch = { title: "New", priority: 90, description: null, labels: ["a", "b"] };
      await world.ok({ type: "update", taskId: id, patch });
      const last = (await world.events()).at(-1)!;
      expect(last).toMatchObject({ type: "task:updated", actor: "user:test" });
      expect([...(last.data.changed as string[])].sort()).toEqual([
        "description",
        "labels",
        "priority",
        "title",
      ]);
      await world.ok({ type: "update", taskId: id, patch });
      await world.ok({ type: "update", taskId: id, patch: {} });
      expect((await world.events()).at(-1)!.seq).toBe(last.seq);
    });

    it("an edit is kept, field by field", async (world) => {
      const id = await world.task();
      const patch = {
        title: "New",
        prompt: "do that",
        description: "why",
        phase: "test",
        priority: 7,
        labels: ["x", "x", "y"],
        files: ["a.ts"],
        assignee: "ann",
        agentType: "coder",
        requires: ["gpu"],
        maxRetries: 9,
        notBefore: world.clock.now() + minute,
        timeoutMs: 5000,
        metadata: { a: [1, { b: null }] },
      };
      await world.ok({ type: "update", taskId: id, patch });
      const { prompt, description, metadata, ...fields } = patch;
      expect(await world.look(id)).toMatchObject({ ...fields, labels: ["x", "y"] });
      expect(await world.read((view) => view.text(project, id))).toEqual({ prompt, description, metadata });
      const none = { description: null, phase: null, assignee: null, agentType: null, notBefore: null };
      await world.ok({ type: "update", taskId: id, patch: { ...none, timeoutMs: null, metadata: null } });
      expect(await world.look(id)).toMatchObject({
        phase: null,
        assignee: null,
        agentType: null,
        timeoutMs: null,
      });
      expect(await world.read((view) => view.text(project, id))).toEqual({
        prompt,
        description: null,
        metadata: null,
      });
    });

    it("a project's events tell its settings", async (world) => {
      await world.ok({ type: "create-project", id: "other", settings: { maxRetries: 1 } });
      await world.ok({ type: "update-project", project: "other", paused: true });
      expect((await world.events()).map((event) => [event.type, event.project])).toEqual([
        ["project:updated", "other"],
        ["project:updated", "other"],
      ]);
      expect(await world.read((view) => view.project("other"))).toMatchObject({
        paused: true,
        settings: { maxRetries: 1, maxLost: 3 },
      });
      await world.refused("ID_TAKEN", { type: "create-project", id: "other" });
      await world.refused("VALIDATION_FAILED", { type: "create-project", id: "../x" });
      expect((await world.read((view) => view.projects())).map(({ id }) => id)).toEqual([project, "other"]);
    });
  });

  describe(`${driver.name}: two orgs`, () => {
    it("share nothing: not tasks, numbers, sessions, events or keys", async (world) => {
      expect(await world.store.open("acme", project)).toBe(project);
      const tasks = [{ prompt: "theirs" }];
      const [created] = await world.store.commit("acme", [
        (transaction) =>
          carryOut(transaction, { type: "create", project, correlationId: "c", tasks }, "user:them"),
      ]);
      expect(created).toMatchObject({ ok: true, value: { ok: true, value: { ids: ["0001"] } } });
      expect(await world.events()).toEqual([]);
      const mine = await world.hold("a", { prompt: "mine" });
      expect(mine.taskId).toBe("0001");
      await world.store.read("acme", (view) => {
        expect(view.text(project, "0001")?.prompt).toBe("theirs");
        expect(view.claim(project, "0001")).toBeUndefined();
        expect(view.session(project, "a")).toBeUndefined();
        expect(view.openClaims({ project: null, limit: 10 })).toEqual([]);
        expect(view.sessions({ project: null, live: false, limit: 10 })).toEqual([]);
        expect(view.taskCounts(null)).toEqual({ queued: 1 });
        expect(view.events({ after: 0, limit: 10 }).map((event) => [event.seq, event.org])).toEqual([
          [1, "acme"],
          [2, "acme"],
        ]);
      });
      world.clock.advance(30 * minute);
      const [swept] = await world.store.commit("acme", [
        (transaction) => carryOut(transaction, { type: "sweep", limit: 10 }, "system"),
      ]);
      expect(swept).toMatchObject({ value: { value: [] } });
      expect(await world.stateOf(mine.taskId)).toBe("claimed");
    });

    it("an org keeps the default project of its first opening", async (world) => {
      expect(await world.store.open(org, "renamed")).toBe(project);
      expect((await world.read((view) => view.projects())).map(({ id }) => id)).toEqual([project]);
      expect((await world.read((view) => view.org())).defaultProject).toBe(project);
    });
  });
}
