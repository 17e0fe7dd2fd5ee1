// Seed 1, "Task Lifecycle": every transition with what it does to the task, the agent, the log and the people's notifications.

import { describe, expect, test } from "vitest";
import { type Desk, desks, minutes, must, type Told } from "./desk.js";
import { everyStoreName } from "./support.js";

const user = expect.stringMatching(/^user:/);

/** Seed 1's names in ours. */
const named = {
  CREATED: "task:created",
  QUEUED: "task:queued",
  LEASED: "task:claimed",
  STARTED: "task:started",
  AWAITING_RESPONSE: "task:awaiting-response",
  RESPONSE_RECEIVED: "task:response-received",
  COMPLETED: "task:completed",
  ERROR: "task:failed",
  RETRIED: "task:retried",
  CANCELLED: "task:cancelled",
} as const;
type Name = keyof typeof named;

async function expectTold({ timeline }: Desk, taskId: string, names: Name[]): Promise<Told[]> {
  const events = await timeline(taskId);
  const ours = events.filter(({ type }) => !type.startsWith("notification:"));
  expect(ours.map(({ type }) => type)).toEqual(names.map((name) => named[name]));
  for (const event of ours) expect(event.data.taskId).toBe(taskId);
  return ours;
}

const currentTaskId = async ({ get }: Desk, session: string) =>
  must(await get(`/api/sessions/${session}`)).session.currentTaskId;

const notifications = async ({ get }: Desk) => must(await get("/api/notifications")).notifications;

describe.each(everyStoreName)("seed 1's transitions on %s", (store) => {
  const desk = desks(store);

  describe("3.1 created → queued", () => {
    test("a task that I create is queued at once, with both events", async () => {
      const here = await desk();
      const { status, body } = await here.post("/api/tasks", { prompt: "Fix the login\n\nIt is slow." });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        success: true,
        task: {
          project: here.project,
          state: "queued",
          title: "Fix the login",
          prompt: "Fix the login\n\nIt is slow.",
          priority: 50,
          claim: null,
          startedAt: null,
          endedAt: null,
          createdAt: here.at(),
          updatedAt: here.at(),
          correlationId: expect.stringMatching(/./),
          createdBy: user,
        },
      });
      const [created, queued] = await expectTold(here, body.task.id, ["CREATED", "QUEUED"]);
      expect(created).toMatchObject({ actor: user, at: here.at(), project: here.project });
      expect(queued).toMatchObject({ actor: "system", seq: created!.seq + 1 });
      expect(must(await here.get("/api/tasks/claimable")).tasks).toMatchObject([{ id: body.task.id }]);
    });
  });

  describe("3.2 queued → running", () => {
    test("an agent leases and starts it in one step", async () => {
      const here = await desk();
      await here.session("agent-1");
      const id = await here.task();
      here.clock.advance(1_000);
      const request = { sessionId: "agent-1", start: true };
      const answer = must(await here.post(`/api/tasks/${id}/claim`, request));
      expect(answer.task).toMatchObject({ state: "running", startedAt: here.at(), updatedAt: here.at() });
      expect(answer.claim).toMatchObject({ sessionId: "agent-1", expiresAt: here.at(minutes(30)) });
      expect(await currentTaskId(here, "agent-1")).toBe(id);
      const events = await expectTold(here, id, ["CREATED", "QUEUED", "LEASED", "STARTED"]);
      for (const event of events.slice(2)) {
        expect(event).toMatchObject({
          actor: "agent:agent-1",
          sessionId: "agent-1",
          epoch: 1,
          data: { sessionId: "agent-1" },
        });
      }
    });

    test("or in two, and starting twice is one start", async () => {
      const here = await desk();
      await here.session("agent-1");
      const id = await here.task();
      await here.claim(id, "agent-1");
      expect((await here.shown(id)).state).toBe("claimed");
      here.clock.advance(1_000);
      const startedAt = here.at();
      const started = must(await here.post(`/api/tasks/${id}/start`, { sessionId: "agent-1", epoch: 1 }));
      expect(started.task).toMatchObject({ state: "running", startedAt });
      here.clock.advance(1_000);
      const again = must(await here.post(`/api/tasks/${id}/start`, { sessionId: "agent-1", epoch: 1 }));
      expect(again.task).toMatchObject({ state: "running", startedAt });
      await expectTold(here, id, ["CREATED", "QUEUED", "LEASED", "STARTED"]);
    });

    test("an agent that asks for work gets the most urgent task", async () => {
      const here = await desk();
      await here.session("agent-1");
      await here.task({ priority: 30 });
      const urgent = await here.task({ priority: 90 });
      const next = { sessionId: "agent-1", start: true };
      const answer = must(await here.post("/api/tasks/claim-next", next));
      expect(answer).toMatchObject({ resumed: false, claim: { taskId: urgent }, task: { state: "running" } });
    });

    test("of many agents that ask at the same time each gets another task", async () => {
      const here = await desk();
      const agents = Array.from({ length: 8 }, (_, n) => `agent-${n}`);
      for (const agent of agents) await here.session(agent);
      must(await here.post("/api/tasks/batch", { tasks: agents.map((_, n) => ({ prompt: `part ${n}` })) }));
      const answers = await Promise.all(
        agents.map((sessionId) => here.post("/api/tasks/claim-next", { sessionId, start: true })),
      );
      const ids = answers.map((answer) => must(answer).claim.taskId);
      expect(new Set(ids).size).toBe(agents.length);
    });
  });

  describe("3.3 running → awaiting response", () => {
    test("an agent's question waits for a human, and the human is told", async () => {
      const here = await desk();
      const id = await here.running("agent-1", { prompt: "Pick a colour" });
      here.clock.advance(1_000);
      const question = {
        sessionId: "agent-1",
        question: "Red or blue?",
        options: ["red", "blue"],
        default: "red",
      };
      const { status, body } = await here.post(`/api/tasks/${id}/ask`, question);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        task: {
          state: "awaiting_response",
          updatedAt: here.at(),
          question: {
            id: expect.any(String),
            text: "Red or blue?",
            options: ["red", "blue"],
            default: "red",
            askedAt: here.at(),
          },
        },
      });
      const events = await expectTold(here, id, [
        "CREATED",
        "QUEUED",
        "LEASED",
        "STARTED",
        "AWAITING_RESPONSE",
      ]);
      expect(events.at(-1)).toMatchObject({ actor: "agent:agent-1", data: { question: "Red or blue?" } });
      expect(await notifications(here)).toMatchObject([
        {
          type: "TASK_AWAITING_RESPONSE",
          severity: "warning",
          message: "Red or blue?",
          title: expect.stringMatching(/./),
          taskId: id,
          project: here.project,
          createdAt: here.at(),
          readAt: null,
        },
      ]);
      const told = await here.timeline(id);
      expect(told.map(({ type }) => type)).toContain("notification:created");
    });

    test("the question stands first in the inbox until it is answered", async () => {
      const here = await desk();
      const failing = await here.running("agent-0");
      must(
        await here.post(`/api/tasks/${failing}/fail`, {
          sessionId: "agent-0",
          error: "broken",
          retryable: false,
        }),
      );
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }));
      const inbox = must(await here.get("/api/inbox"));
      expect(inbox.questions).toMatchObject([{ id, question: { text: "which?" } }]);
      expect(inbox.unread).toBe(2);
      must(await here.post(`/api/tasks/${id}/respond`, { response: "that one" }));
      const after = must(await here.get("/api/inbox"));
      expect(after.questions).toEqual([]);
      expect(after.notifications).toMatchObject([{ type: "TASK_ERROR", taskId: failing }]);
    });
  });

  describe("3.4 awaiting response → running", () => {
    test("my answer lets the agent go on, with a fresh lease", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      const asked = must(
        await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }),
      );
      here.clock.advance(minutes(90)); // Far longer than the lease: its clock stood still.
      const answer = { response: "blue", questionId: asked.task.question.id };
      const { status, body } = await here.post(`/api/tasks/${id}/respond`, answer);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        task: {
          state: "running",
          response: "blue",
          question: null,
          updatedAt: here.at(),
          claim: { sessionId: "agent-1", expiresAt: here.at(minutes(30)) },
        },
      });
      const events = await expectTold(here, id, [
        "CREATED",
        "QUEUED",
        "LEASED",
        "STARTED",
        "AWAITING_RESPONSE",
        "RESPONSE_RECEIVED",
      ]);
      expect(events.at(-1)).toMatchObject({ actor: user, data: { response: "blue" } });
    });

    test("the agent hears the answer with its next heartbeat, until it has acted on it", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }));
      must(await here.post(`/api/tasks/${id}/respond`, { response: "blue" }));
      const heartbeat = async () =>
        must(await here.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "agent-1" })).response;
      expect(await heartbeat()).toBe("blue");
      expect(await heartbeat()).toBe("blue");
      must(await here.post(`/api/tasks/${id}/progress`, { sessionId: "agent-1", note: "blue it is" }));
      expect(await heartbeat()).toBeNull();
    });

    test("an answer to a task that asks nothing is refused, and so is one to an older question", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      const early = await here.post(`/api/tasks/${id}/respond`, { response: "yes" });
      expect([early.status, early.body.error]).toEqual([409, "TASK_NOT_AWAITING"]);
      const ask = async (question: string) =>
        must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question })).task.question.id;
      const first = await ask("one?");
      must(await here.post(`/api/tasks/${id}/respond`, { response: "1" }));
      await ask("two?");
      const stale = await here.post(`/api/tasks/${id}/respond`, { response: "1", questionId: first });
      expect([stale.status, stale.body.error]).toEqual([409, "QUESTION_MISMATCH"]);
      expect(await here.shown(id)).toMatchObject({ state: "awaiting_response", question: { text: "two?" } });
    });

    test("if the agent has gone meanwhile, the answer waits for the next one", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }));
      must(await here.delete("/api/sessions/agent-1"));
      expect(await here.shown(id)).toMatchObject({ state: "awaiting_response", claim: null });
      const { task } = must(await here.post(`/api/tasks/${id}/respond`, { response: "blue" }));
      expect(task).toMatchObject({ state: "queued", response: "blue" });
      await here.session("agent-2");
      const next = must(await here.post("/api/tasks/claim-next", { sessionId: "agent-2" }));
      expect(next.task).toMatchObject({ id, response: "blue", responsePending: true });
    });
  });

  describe("3.5 running → complete", () => {
    test("the result is kept, the agent is free and the task is over", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      here.clock.advance(minutes(3));
      const result = { output: "done", filesCreated: ["a.ts"], filesModified: ["b.ts"] };
      const request = { sessionId: "agent-1", epoch: 1, result };
      const { status, body } = await here.post(`/api/tasks/${id}/complete`, request);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        unblocked: [],
        task: { state: "completed", result, endedAt: here.at(), updatedAt: here.at(), claim: null },
      });
      expect(await currentTaskId(here, "agent-1")).toBeNull();
      expect(must(await here.get("/api/tasks/claimable")).tasks).toEqual([]);
      const events = await expectTold(here, id, ["CREATED", "QUEUED", "LEASED", "STARTED", "COMPLETED"]);
      expect(events.at(-1)).toMatchObject({ actor: "agent:agent-1", data: { sessionId: "agent-1" } });
    });

    test("a result can be just a text", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      const { task } = must(
        await here.post(`/api/tasks/${id}/complete`, { sessionId: "agent-1", result: "ok" }),
      );
      expect(task.result).toEqual({ output: "ok", filesCreated: [], filesModified: [] });
    });

    test("nobody is told unless the project asks for it", async () => {
      const here = await desk();
      const first = await here.running("agent-1");
      must(await here.post(`/api/tasks/${first}/complete`, { sessionId: "agent-1", result: "ok" }));
      expect(await notifications(here)).toEqual([]);
      await here.settings({ notifications: { taskCompleted: true } });
      const second = await here.running("agent-2");
      must(await here.post(`/api/tasks/${second}/complete`, { sessionId: "agent-2", result: "ok" }));
      expect(await notifications(here)).toMatchObject([
        { type: "TASK_COMPLETED", severity: "info", taskId: second },
      ]);
    });
  });

  describe("3.6 running → error", () => {
    test("a failure for good is kept with its error, and a human is told", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      here.clock.advance(minutes(1));
      const request = { sessionId: "agent-1", error: "tests are red", retryable: false };
      const { status, body } = await here.post(`/api/tasks/${id}/fail`, request);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        willRetry: false,
        retryAt: null,
        task: {
          state: "failed",
          error: "tests are red",
          endedAt: here.at(),
          updatedAt: here.at(),
          claim: null,
        },
      });
      expect(await currentTaskId(here, "agent-1")).toBeNull();
      const events = await expectTold(here, id, ["CREATED", "QUEUED", "LEASED", "STARTED", "ERROR"]);
      expect(events.at(-1)).toMatchObject({ actor: "agent:agent-1", data: { error: "tests are red" } });
      expect(await notifications(here)).toMatchObject([
        { type: "TASK_ERROR", severity: "error", message: "tests are red", taskId: id, readAt: null },
      ]);
    });

    test("while retries last it is tried again instead, and nobody is bothered", async () => {
      const here = await desk();
      await here.settings({ retry: { jitter: 0 } });
      const id = await here.running("agent-1", { maxRetries: 1 });
      const first = must(await here.post(`/api/tasks/${id}/fail`, { sessionId: "agent-1", error: "flaky" }));
      expect(first).toMatchObject({
        willRetry: true,
        retryAt: here.at(30_000),
        task: { state: "queued", error: "flaky", retryCount: 1, notBefore: here.at(30_000) },
      });
      expect(await notifications(here)).toEqual([]);
      here.clock.advance(30_000);
      await here.claim(id, "agent-1", { start: true });
      const last = must(await here.post(`/api/tasks/${id}/fail`, { sessionId: "agent-1", error: "again" }));
      expect(last).toMatchObject({ willRetry: false, task: { state: "failed", retryCount: 1 } });
      const failures = (await here.timeline(id)).filter(({ type }) => /retry-scheduled|failed/.test(type));
      expect(failures).toMatchObject([
        { type: "task:retry-scheduled", data: { error: "flaky" } },
        { type: "task:failed", data: { error: "again" } },
      ]);
      expect(await notifications(here)).toMatchObject([{ type: "TASK_ERROR", message: "again" }]);
    });

    test("an agent can give up while its question is open", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }));
      const request = { sessionId: "agent-1", error: "no answer", retryable: false };
      const { task } = must(await here.post(`/api/tasks/${id}/fail`, request));
      expect(task).toMatchObject({ state: "failed", question: null });
      expect(must(await here.get("/api/inbox")).questions).toEqual([]);
    });
  });

  describe("3.7 error → queued", () => {
    test("I retry a failed task, and it is as if it had never been tried", async () => {
      const here = await desk();
      const id = await here.running("agent-1", { maxRetries: 0 });
      must(await here.post(`/api/tasks/${id}/fail`, { sessionId: "agent-1", error: "red" }));
      here.clock.advance(minutes(1));
      const { status, body } = await here.post(`/api/tasks/${id}/retry`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        task: {
          state: "queued",
          error: null,
          claim: null,
          startedAt: null,
          endedAt: null,
          retryCount: 0,
          lostCount: 0,
          updatedAt: here.at(),
        },
      });
      const events = await expectTold(here, id, [
        "CREATED",
        "QUEUED",
        "LEASED",
        "STARTED",
        "ERROR",
        "RETRIED",
      ]);
      expect(events.at(-1)!.actor).toEqual(user);
      expect(must(await here.get("/api/tasks/claimable")).tasks).toMatchObject([{ id }]);
      // The fencing number goes on.
      expect((await here.claim(id, "agent-1")).epoch).toBe(2);
    });

    test("what is not over cannot be retried, what is cancelled can", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      const early = await here.post(`/api/tasks/${id}/retry`);
      expect([early.status, early.body.error]).toEqual([409, "TASK_NOT_RETRYABLE"]);
      must(await here.post(`/api/tasks/${id}/cancel`));
      expect(must(await here.post(`/api/tasks/${id}/retry`)).task.state).toBe("queued");
    });
  });

  describe("3.8 queued or running → cancelled", () => {
    test("I cancel a queued task", async () => {
      const here = await desk();
      const id = await here.task();
      const { status, body } = await here.post(`/api/tasks/${id}/cancel`, { reason: "not needed" });
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: true, task: { state: "cancelled", endedAt: here.at() } });
      const events = await expectTold(here, id, ["CREATED", "QUEUED", "CANCELLED"]);
      expect(events.at(-1)).toMatchObject({ actor: user, data: { reason: "not needed" } });
      expect(must(await here.get("/api/tasks/claimable")).tasks).toEqual([]);
    });

    test("I cancel a running task: its agent is free and told to stop", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/cancel`));
      expect(await here.shown(id)).toMatchObject({ state: "cancelled", claim: null, endedAt: here.at() });
      expect(await currentTaskId(here, "agent-1")).toBeNull();
      const stop = await here.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "agent-1" });
      expect([stop.status, stop.body.error]).toEqual([409, "TASK_CANCELLED"]);
      await expectTold(here, id, ["CREATED", "QUEUED", "LEASED", "STARTED", "CANCELLED"]);
    });

    test("I cancel a task that waits for me: the question is gone", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: "agent-1", question: "which?" }));
      must(await here.post(`/api/tasks/${id}/cancel`));
      expect(must(await here.get("/api/inbox"))).toMatchObject({
        questions: [],
        notifications: [],
        unread: 0,
      });
    });

    test("what is over cannot be cancelled", async () => {
      const here = await desk();
      const id = await here.task();
      must(await here.post(`/api/tasks/${id}/cancel`));
      const again = await here.post(`/api/tasks/${id}/cancel`);
      expect([again.status, again.body.error]).toEqual([409, "TASK_NOT_CANCELLABLE"]);
    });
  });

  describe("4 a lease that is over", () => {
    test("another agent can lease it, and what the first one brings too late is kept but not used", async () => {
      const here = await desk();
      const id = await here.running("agent-1");
      await here.session("agent-2");
      here.clock.advance(minutes(30));
      const late = { sessionId: "agent-1", epoch: 1, result: "too late" };
      const refused = await here.post(`/api/tasks/${id}/complete`, late);
      expect([refused.status, refused.body.error]).toEqual([410, "CLAIM_EXPIRED"]);
      expect(await here.shown(id)).toMatchObject({ state: "queued", result: null, lostCount: 1 });
      const next = must(await here.post("/api/tasks/claim-next", { sessionId: "agent-2", start: true }));
      expect(next.claim).toMatchObject({ taskId: id, epoch: 2 });
      const stale = await here.post(`/api/tasks/${id}/complete`, late);
      expect([stale.status, stale.body.error]).toEqual([403, "NOT_CLAIM_OWNER"]);
      const { attempts } = must(await here.get(`/api/tasks/${id}/attempts`));
      expect(attempts).toMatchObject([
        { epoch: 2, sessionId: "agent-2", releasedAt: null, lateResult: null },
        { epoch: 1, sessionId: "agent-1", lateResult: { result: { output: "too late" } } },
      ]);
      expect(await here.told(id)).toContain("task:claim-expired");
    });

    test("a task that loses its agent three times in a row fails, and a human is told", async () => {
      const here = await desk();
      const id = await here.task();
      for (const agent of ["agent-1", "agent-2", "agent-3"]) {
        await here.session(agent);
        await here.claim(id, agent, { start: true });
        here.clock.advance(minutes(30));
      }
      expect(await here.shown(id)).toMatchObject({ state: "failed", error: "WORKER_LOST", lostCount: 3 });
      expect(await notifications(here)).toMatchObject([
        { type: "WORKER_LOST", severity: "warning", taskId: id },
      ]);
    });
  });

  describe("5 titles", () => {
    const fifty = "x".repeat(50);
    test.each([
      ["a short line stays", "Fix it", "Fix it"],
      ["only the first line counts", "Fix it\nwith care", "Fix it"],
      ["fifty characters stay", fifty, fifty],
      ["fifty-one become 47 and three dots", `${fifty}y`, `${"x".repeat(47)}...`],
      ["a long first line is cut, whatever follows", `${fifty}y\nmore`, `${"x".repeat(47)}...`],
      ["a character that needs two units is never cut in half", "🦊".repeat(60), `${"🦊".repeat(47)}...`],
    ])("%s", async (_what, prompt, title) => {
      const here = await desk();
      const { task } = must(await here.post("/api/tasks", { prompt }));
      expect([task.title, task.prompt]).toEqual([title, prompt]);
    });

    test("a title of my own stays as it is", async () => {
      const here = await desk();
      const title = "t".repeat(120);
      expect(must(await here.post("/api/tasks", { prompt: "Fix it", title })).task.title).toBe(title);
    });
  });

  describe("6 priority", () => {
    test.each([
      [0, "low"],
      [30, "low"],
      [31, "medium"],
      [50, "medium"],
      [60, "medium"],
      [61, "high"],
      [99, "high"],
      [100, "critical"],
    ])("%i is %s", async (priority, priorityLabel) => {
      const here = await desk();
      const { task } = must(await here.post("/api/tasks", { prompt: "x", priority }));
      expect(task).toMatchObject({ priority, priorityLabel });
    });

    test("is 50 unless I say otherwise, and nothing outside 0 to 100", async () => {
      const here = await desk();
      expect((await here.shown(await here.task())).priority).toBe(50);
      for (const priority of [-1, 101, 1.5, "urgent"]) {
        const { status, body } = await here.post("/api/tasks", { prompt: "x", priority });
        expect([status, body.error, body.issues[0].path]).toEqual([400, "VALIDATION_FAILED", "priority"]);
      }
    });

    test("higher is handed out first, and among equals the older one", async () => {
      const here = await desk();
      await here.session("agent-1", { capacity: 10 });
      const order: string[] = [];
      for (const priority of [10, 50, 90, 50, 100]) order.push(await here.task({ priority }));
      const handed: string[] = [];
      for (const _ of order) {
        handed.push(must(await here.post("/api/tasks/claim-next", { sessionId: "agent-1" })).claim.taskId);
      }
      expect(handed).toEqual([4, 2, 1, 3, 0].map((index) => order[index]));
    });
  });
});
