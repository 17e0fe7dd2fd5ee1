import { describe, expect, test } from "vitest";
import { problemBody } from "../../src/contract/problem.js";
import { DibsError, httpStatus, openDibs } from "../../src/index.js";
import { type Answer, expectConforms } from "./conforms.js";

const json = "application/json; charset=utf-8";
const problem = "application/problem+json";
const ok = (method: string, path: string, body: unknown, status = 200): Answer => ({
  method,
  path,
  status,
  contentType: json,
  body: JSON.parse(JSON.stringify(body)),
});

async function refused(method: string, path: string, call: Promise<unknown>): Promise<Answer> {
  const error = await call.then(
    () => expect.fail("it was not refused"),
    (thrown: unknown) => thrown as DibsError,
  );
  const body = JSON.parse(JSON.stringify(problemBody(error)));
  return { method, path, status: httpStatus[error.code], contentType: problem, body };
}

describe("the check of answers", () => {
  test("what operations answer conforms", async () => {
    const dibs = await openDibs({ memory: true });
    const session = await dibs.sessions.register({ id: "agent-1", capabilities: ["ui"] });
    expectConforms(ok("POST", "/api/sessions", session, 201));
    const created = await dibs.tasks.create({ prompt: "Add a switch", metadata: { a: [1, { b: null }] } });
    expectConforms(ok("POST", "/api/tasks", created, 201));
    expectConforms(ok("POST", "/api/tasks/batch", await dibs.tasks.batch({ tasks: [{ prompt: "b" }] }), 201));
    const holder = { taskId: created.task.id, sessionId: "agent-1" };
    const at = `/api/tasks/${created.task.id}`;
    expectConforms(ok("POST", `${at}/claim`, await dibs.tasks.claim({ ...holder, start: true })));
    expectConforms(ok("GET", "/api/tasks/in-flight?includeExpired=true", await dibs.tasks.inFlight({})));
    expectConforms(ok("GET", "/api/tasks/claims/stats", await dibs.claims.stats({})));
    expectConforms(ok("GET", "/api/sessions/summary", await dibs.sessions.summary({})));
    expectConforms(ok("POST", `${at}/ask`, await dibs.tasks.ask({ ...holder, question: "Which?" })));
    expectConforms(ok("GET", "/api/inbox", await dibs.notifications.inbox({})));
    expectConforms(ok("POST", `${at}/respond`, await dibs.tasks.respond({ ...holder, response: "This" })));
    expectConforms(ok("POST", `${at}/complete`, await dibs.tasks.complete({ ...holder, result: "done" })));
    expectConforms(ok("GET", `${at}/attempts`, await dibs.tasks.attempts(holder)));
    expectConforms(ok("GET", `${at}/explain`, await dibs.tasks.explain({ taskId: created.task.id })));
    expectConforms(ok("GET", "/api/events?after=0", await dibs.events.list({})));
    expectConforms(ok("GET", "/api/tasks?state=queued", await dibs.tasks.list({})));
    expectConforms(ok("GET", "/api/graph", await dibs.tasks.graph({})));
    expectConforms(ok("GET", "/api/projects/default", await dibs.projects.get({})));
    for (let i = 0; i < 2; i++) {
      expectConforms(
        ok("POST", "/api/tasks/claim-next", await dibs.tasks.claimNext({ sessionId: "agent-1" })),
      );
    }
    await dibs.close();
  });

  test("what operations refuse conforms", async () => {
    const dibs = await openDibs({ memory: true });
    for (const id of ["a", "b"]) await dibs.sessions.register({ id });
    const { task } = await dibs.tasks.create({ prompt: "one" });
    const waiting = await dibs.tasks.create({ prompt: "two", dependsOn: [task.id] });
    await dibs.tasks.claim({ taskId: task.id, sessionId: "a" });
    const claim = (taskId: string, sessionId: string) =>
      refused("POST", `/api/tasks/${taskId}/claim`, dibs.tasks.claim({ taskId, sessionId }));
    for (const [taskId, sessionId, code] of [
      [task.id, "b", "TASK_ALREADY_CLAIMED"],
      [waiting.task.id, "b", "TASK_NOT_CLAIMABLE"],
      ["9999", "b", "TASK_NOT_FOUND"],
      [task.id, "c", "SESSION_NOT_FOUND"],
      ["..", "b", "VALIDATION_FAILED"],
    ] as const) {
      const answer = await claim(taskId, sessionId);
      expect(answer.body).toMatchObject({ error: code });
      expectConforms(answer);
    }
    await dibs.close();
  });

  const task: Answer = {
    method: "GET",
    path: "/api/graph?limit=1",
    status: 200,
    contentType: json,
    body: { nodes: [], edges: [], nextCursor: null },
  };

  test("complains about a status, a type, a missing field, a field too many and a wrong value", () => {
    expectConforms(task);
    expectConforms({ ...task, body: JSON.stringify(task.body) });
    const wrong = (change: Partial<Answer>) => () => expectConforms({ ...task, ...change });
    expect(wrong({ status: 201 })).toThrow(
      "GET /api/graph (tasks.graph) answered 201: documented are only 200, 400",
    );
    expect(wrong({ contentType: "text/html" })).toThrow("its type is text/html, not application/json");
    expect(wrong({ contentType: null })).toThrow("its type is missing");
    expect(wrong({ body: { nodes: [], edges: [] } })).toThrow("must have required property 'nextCursor'");
    expect(wrong({ body: { ...(task.body as object), secret: 1 } })).toThrow(/additional.*"secret"/);
    expect(wrong({ body: { nodes: [], edges: [{ from: "a", to: "b", x: 1 }], nextCursor: null } })).toThrow(
      /at \/edges\/0: .*"x"/,
    );
    expect(wrong({ body: { nodes: 7, edges: [], nextCursor: null } })).toThrow("at /nodes: must be array");
  });

  test("closes the shapes that answers share, too", async () => {
    const dibs = await openDibs({ memory: true });
    const { task: made } = await dibs.tasks.create({ prompt: "one" });
    await dibs.close();
    const answer = (changed: object) => () =>
      expectConforms(ok("GET", `/api/tasks/${made.id}`, { task: changed }));
    expect(answer(made)).not.toThrow();
    expect(answer({ ...made, ordinal: 1 })).toThrow(/at \/task: .*"ordinal"/);
    expect(answer({ ...made, createdAt: Date.now() })).toThrow("at /task/createdAt: must be string");
    expect(answer({ ...made, createdAt: "2026-01-31T12:00:00Z" })).toThrow("at /task/createdAt: must match");
    expect(answer({ ...made, state: "open" })).toThrow("/task/state");
  });

  test("knows the refusals of addresses that are not documented, and leaves pages alone", () => {
    const body = problemBody(new DibsError("NOT_FOUND", "There is no such thing."));
    const elsewhere: Answer = {
      method: "GET",
      path: "/api/nothing",
      status: 404,
      contentType: problem,
      body,
    };
    expectConforms(elsewhere);
    expectConforms({ ...elsewhere, method: "PUT", path: "/api/tasks" });
    expect(() => expectConforms({ ...elsewhere, status: 400 })).toThrow("NOT_FOUND belongs to 404");
    expect(() => expectConforms({ ...elsewhere, status: 200, contentType: json, body: {} })).toThrow(
      "no such route",
    );
    expect(() => expectConforms({ ...elsewhere, path: "/api/graph" })).toThrow("must be equal to one of");
    expectConforms({ method: "GET", path: "/", status: 200, contentType: "text/html", body: "<p>" });
  });
});
