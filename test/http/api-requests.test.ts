// What every operation has in common over HTTP: which project is meant, what a body may be, what is not there, and keys that make
// a call safe to repeat.

import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { type Desk, desks, minutes, must } from "./desk.js";
import { raw, storeNames } from "./support.js";

describe.each(storeNames)("the project of a request, on %s,", (store) => {
  const desk = desks(store);
  const titles = (body: { tasks: { title: string }[] }) => body.tasks.map(({ title }) => title);

  test("is named by header, by query or in the body", async () => {
    const { world, project } = await desk();
    const headers = { "dibs-project": project };
    must(await world.post("/api/tasks", { prompt: "by header" }, { headers }));
    must(await world.post(`/api/tasks?project=${project}`, { prompt: "by query" }));
    must(await world.post("/api/tasks", { prompt: "in the body", project }));
    const all = ["by header", "by query", "in the body"];
    expect(titles(must(await world.get("/api/tasks", { headers })))).toEqual(all);
    expect(titles(must(await world.get(`/api/tasks?project=${project}`)))).toEqual(all);
  });

  test("is the server's own when none is named", async () => {
    const { world } = await desk();
    const { task } = must(await world.post("/api/tasks", { prompt: "at home" }));
    expect(task.project).toBe("demo");
    expect(must(await world.get(`/api/tasks/${task.id}`)).task.project).toBe("demo");
  });

  test("in the body wins over the query, and the query over the header", async () => {
    const one = await desk();
    const two = await desk();
    const { world } = one;
    const headers = { "dibs-project": one.project };
    const byQuery = must(await world.post(`/api/tasks?project=${two.project}`, { prompt: "x" }, { headers }));
    expect(byQuery.task.project).toBe(two.project);
    const inBody = { prompt: "x", project: one.project };
    const byBody = must(await world.post(`/api/tasks?project=${two.project}`, inBody));
    expect(byBody.task.project).toBe(one.project);
  });

  test("keeps tasks and sessions apart", async () => {
    const one = await desk();
    const two = await desk();
    const id = await one.task({ id: "same-name" });
    await one.session("worker");
    expect((await two.get(`/api/tasks/${id}`)).body.error).toBe("TASK_NOT_FOUND");
    expect((await two.get("/api/sessions/worker")).body.error).toBe("SESSION_NOT_FOUND");
    await two.task({ id: "same-name" });
    await two.session("worker");
    await one.claim(id, "worker");
    expect((await two.shown("same-name")).state).toBe("queued");
    expect(must(await two.post("/api/tasks/claim-next", { sessionId: "worker" })).task.project).toBe(
      two.project,
    );
  });

  test("that does not exist is never an empty list", async () => {
    const { world } = await desk();
    const headers = { "dibs-project": "nope" };
    const answers = await Promise.all([
      ...[
        "tasks",
        "tasks/claimable",
        "tasks/in-flight",
        "tasks/claims/stats",
        "tasks/x",
        "tasks/x/explain",
        "graph",
        "task-rows",
        "sessions",
        "sessions/summary",
        "events",
        "notifications",
        "inbox",
        "stats",
        "metrics/history",
      ].map((path) => world.get(`/api/${path}?project=nope`)),
      world.post("/api/tasks", { prompt: "x" }, { headers }),
      world.post("/api/tasks/batch", { tasks: [{ prompt: "x" }] }, { headers }),
      world.post("/api/sessions", { id: "s" }, { headers }),
      world.post("/api/tasks/claim-next", { sessionId: "s" }, { headers }),
      world.post("/api/ids/next", {}, { headers }),
      world.get("/api/events/stream?project=nope"),
      world.get("/api/projects/nope"),
      world.patch("/api/projects/nope", { paused: true }),
      world.post("/api/projects/nope/pause"),
    ]);
    for (const { status, body } of answers) {
      expect([status, body.error]).toEqual([404, "PROJECT_NOT_FOUND"]);
    }
  });

  test("* means all of the org, on lists", async () => {
    const one = await desk();
    const two = await desk();
    const { world } = one;
    const label = `of-${one.project}`;
    for (const each of [one, two]) {
      await each.task({ labels: [label] });
      await each.running(`worker-${each.project}`);
      const asking = await each.running(`asker-${each.project}`);
      must(
        await each.post(`/api/tasks/${asking}/ask`, { sessionId: `asker-${each.project}`, question: "?" }),
      );
    }
    const both = [one.project, two.project];
    const projectsOf = (list: { project: string }[]) => {
      const found = new Set(list.map(({ project }) => project));
      return both.filter((project) => found.has(project));
    };
    const all = async (path: string) => must(await world.get(`/api/${path}`));
    expect((await all(`tasks?project=*&label=${label}`)).tasks).toHaveLength(2);
    expect(projectsOf((await all("tasks/claimable?project=*&limit=1000")).tasks)).toEqual(both);
    expect(projectsOf((await all("tasks/in-flight?project=*")).inFlight)).toEqual(both);
    expect(projectsOf((await all("sessions?project=*&limit=1000")).sessions)).toEqual(both);
    expect(projectsOf((await all("sessions/summary?project=*&limit=1000")).sessions)).toEqual(both);
    expect(projectsOf((await all("events?project=*&limit=1000")).events)).toEqual(both);
    expect(projectsOf((await all("notifications?project=*")).notifications)).toEqual(both);
    expect(projectsOf((await all("inbox?project=*")).questions)).toEqual(both);
    const { bySession } = await all("tasks/claims/stats?project=*");
    expect(Object.keys(bySession)).toEqual(expect.arrayContaining(both.map((each) => `worker-${each}`)));
    expect((await all("stats?project=*")).queue_size).toBeGreaterThan(
      (await all(`stats?project=${one.project}`)).queue_size,
    );
    expect((await all("metrics/history?project=*")).points.length).toBeGreaterThan(0);
    // By header, too.
    const byHeader = must(await world.get(`/api/tasks?label=${label}`, { headers: { "dibs-project": "*" } }));
    expect(byHeader.tasks).toHaveLength(2);
  });

  test("* is refused where one project is needed", async () => {
    const { world } = await desk();
    const { status, body } = await world.post("/api/tasks?project=*", { prompt: "x" });
    expect([status, body.error, body.issues[0].path]).toEqual([400, "VALIDATION_FAILED", "project"]);
  });
});

describe.each(storeNames)("a request that is not well formed, on %s,", (store) => {
  const desk = desks(store);

  test.each([
    ["half of a JSON", '{"prompt": "x"'],
    ["something else", "prompt: x"],
    ["an array", "[]"],
    ["a list of tasks", '[{"prompt": "x"}]'],
    ["a text", '"x"'],
    ["a number", "1"],
    ["null", "null"],
  ])("with %s as its body is refused, and says so", async (_what, text) => {
    const { post } = await desk();
    const { status, headers, body } = await post("/api/tasks", text);
    expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({ success: false, retryable: false, message: expect.stringMatching(/JSON/) });
    expect(body.issues).toEqual([{ path: "", message: expect.stringMatching(/\S/) }]);
  });

  test.each([
    ["POST", "/api/tasks", { prompt: 1 }, "prompt"],
    ["POST", "/api/tasks", { prompt: "x", dependsOn: "0001" }, "dependsOn"],
    ["POST", "/api/tasks", { prompt: "x", dependsOn: [1] }, "dependsOn.0"],
    ["POST", "/api/tasks", { prompt: "x", metadata: "text" }, "metadata"],
    ["POST", "/api/tasks", { prompt: "x", notBefore: "tomorrow" }, "notBefore"],
    ["POST", "/api/tasks", { prompt: "x", maxRetries: -1 }, "maxRetries"],
    ["POST", "/api/tasks", { prompt: "x", timeoutMs: 0 }, "timeoutMs"],
    ["POST", "/api/tasks", { prompt: "x", type: "epic" }, "type"],
    ["POST", "/api/tasks", { prompt: "x", id: "../etc" }, "id"],
    ["POST", "/api/tasks", { prompt: "x", id: "0001" }, "id"],
    ["POST", "/api/tasks", { prompt: "x", id: "batch" }, "id"],
    ["POST", "/api/tasks", { prompt: "x", id: "claim-next" }, "id"],
    ["POST", "/api/tasks", {}, "prompt"],
    ["POST", "/api/tasks/batch", { tasks: {} }, "tasks"],
    ["POST", "/api/tasks/batch", { tasks: [] }, "tasks"],
    ["POST", "/api/tasks/batch", { tasks: [{ prompt: "x" }, { prompt: 1 }] }, "tasks.1.prompt"],
    ["POST", "/api/tasks/claim-next", {}, "sessionId"],
    ["POST", "/api/tasks/claim-next", { sessionId: 1 }, "sessionId"],
    ["POST", "/api/tasks/claim-next", { sessionId: "s", waitMs: 60_001 }, "waitMs"],
    ["POST", "/api/tasks/claim-next", { sessionId: "s", start: "yes" }, "start"],
    ["POST", "/api/tasks/0001/claim", { sessionId: "s", ttlMs: "long" }, "ttlMs"],
    ["POST", "/api/tasks/0001/complete", { sessionId: "s", epoch: -1 }, "epoch"],
    ["POST", "/api/tasks/0001/complete", { sessionId: "s", result: 1 }, "result"],
    ["POST", "/api/tasks/0001/fail", { sessionId: "s" }, "error"],
    ["POST", "/api/tasks/0001/ask", { sessionId: "s", question: "" }, "question"],
    ["POST", "/api/tasks/0001/respond", {}, "response"],
    ["POST", "/api/tasks/0001/progress", { sessionId: "s", percent: 101 }, "percent"],
    ["POST", "/api/tasks/0001/release", {}, "sessionId"],
    ["POST", "/api/sessions", { capacity: 0 }, "capacity"],
    ["POST", "/api/sessions", { id: "summary" }, "id"],
    ["POST", "/api/sessions/s/heartbeat", { contextPercent: 101 }, "contextPercent"],
    ["POST", "/api/projects", {}, "id"],
    [
      "POST",
      "/api/projects",
      { id: "x", settings: { claim: { defaultTtlMs: "long" } } },
      "settings.claim.defaultTtlMs",
    ],
    ["PATCH", "/api/tasks/0001", { priority: "very" }, "priority"],
    ["PATCH", "/api/tasks/0001", { title: "" }, "title"],
    ["PATCH", "/api/projects/demo", { settings: { order: "random" } }, "settings.order"],
    ["POST", "/api/tokens", { role: "king" }, "role"],
    ["POST", "/api/locks", {}, "name"],
    ["GET", "/api/tasks?limit=0", undefined, "limit"],
    ["GET", "/api/tasks?limit=1001", undefined, "limit"],
    ["GET", "/api/tasks?limit=many", undefined, "limit"],
    ["GET", "/api/tasks?state=lost", undefined, "state"],
    ["GET", "/api/tasks?cursor=x", undefined, "cursor"],
    ["GET", "/api/tasks?claimable=perhaps", undefined, "claimable"],
    ["GET", "/api/events?after=-1", undefined, "after"],
    ["GET", "/api/events?types=task:lost", undefined, "types.0"],
    ["GET", "/api/metrics/history?step=year", undefined, "step"],
    ["GET", "/api/metrics/history?from=yesterday", undefined, "from"],
  ] as const)("%s %s %j names the field %s", async (method, path, body, field) => {
    const { world, project } = await desk();
    const answer = await world.ask(method, path, body, { headers: { "dibs-project": project } });
    expect([answer.status, answer.body.error]).toEqual([400, "VALIDATION_FAILED"]);
    expect(answer.body.issues.map((each: { path: string }) => each.path)).toContain(field);
    for (const issue of answer.body.issues) expect(issue.message).toMatch(/\S/);
  });

  test("with a field that nobody knows is refused, so that a typo is not lost", async () => {
    const { post } = await desk();
    const { status, body } = await post("/api/tasks", { prompt: "x", dependson: ["0001"] });
    expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
    expect(JSON.stringify(body.issues)).toContain("dependson");
  });

  test("without a body is one without fields", async () => {
    const { world } = await desk();
    expect((await world.ask("POST", "/api/tasks/claims/cleanup")).status).toBe(200);
    expect((await world.ask("POST", "/api/tasks")).body.error).toBe("VALIDATION_FAILED");
  });
});

describe.each(storeNames)("what is not there, on %s:", (store) => {
  const desk = desks(store);

  test.each([
    ["GET", "/api"],
    ["GET", "/api/"],
    ["GET", "/api/nothing"],
    ["GET", "/api/tasks/x/y/z"],
    ["POST", "/api/tasks/x/explode"],
    ["PUT", "/api/tasks/x"],
    ["DELETE", "/api/tasks/x"],
    ["PATCH", "/api/tasks"],
    ["GET", "/api/tasks/batch/x"],
  ])("%s %s is NOT_FOUND, in JSON", async (method, path) => {
    const { world } = await desk();
    const { status, headers, body } = await world.ask(method, path);
    expect([status, body.error, body.success]).toEqual([404, "NOT_FOUND", false]);
    expect(headers.get("content-type")).toBe("application/problem+json");
  });

  test.each(["/", "/tasks/0001", "/inbox", "/some/where/else", "/apiary"])(
    "%s is the dashboard's page",
    async (path) => {
      const { world } = await desk();
      const { status, headers, body } = await world.get(path, { token: null });
      expect(status).toBe(200);
      expect(headers.get("content-type")).toMatch(/^text\/html/);
      expect(body).toMatch(/<html/i);
    },
  );

  test("every operation has its route: none answers NOT_FOUND", async () => {
    const { world } = await desk();
    for (const { http } of operations) {
      const path = http.path.replace(/:(\w+)/g, "zzz");
      const withoutToken = await world.ask(http.method, path, undefined, { token: null });
      expect([http.path, withoutToken.status]).toEqual([http.path, 401]);
      const { body } = await world.ask(http.method, path, http.method === "GET" ? undefined : {}, {
        headers: { "dibs-project": "nope" },
      });
      const isOwn = /^(Notification|Token) zzz not found/.test(body.message ?? "");
      expect([http.path, isOwn ? "" : body.error]).not.toEqual([http.path, "NOT_FOUND"]);
    }
  });

  test("an id that is a word of a route is never taken for a task", async () => {
    const { get } = await desk();
    expect(must(await get("/api/tasks/claimable"))).toHaveProperty("tasks");
    expect(must(await get("/api/tasks/in-flight"))).toHaveProperty("inFlight");
    expect(must(await get("/api/sessions/summary"))).toHaveProperty("totals");
  });

  test("a session with the name of something that every object has is counted like any other", async () => {
    const { get, session, claim, task } = await desk();
    await session("constructor", { agentType: "toString" });
    await claim(await task(), "constructor");
    expect(must(await get("/api/tasks/in-flight")).summary.bySession).toEqual({ constructor: 1 });
    const stats = must(await get("/api/tasks/claims/stats"));
    expect(stats).toMatchObject({ bySession: { constructor: 1 }, byAgentType: { toString: 1 } });
  });

  test("the server says that it lives and is ready, without a token", async () => {
    const { world } = await desk();
    expect(must(await world.get("/healthz", { token: null }))).toMatchObject({ status: "ok" });
    expect(must(await world.get("/readyz", { token: null }))).toMatchObject({ status: "ready" });
    expect(must(await world.get("/openapi.json", { token: null }))).toMatchObject({ openapi: "3.1.0" });
  });

  test("an encoded slash or a dot in an id leads nowhere else", async () => {
    const { world } = await desk();
    for (const path of [
      "/api/tasks/..%2F..%2Fprojects",
      "/api/tasks/%2e%2e",
      "/api/tasks/a%2Fb",
      "/api/tasks/%00",
    ]) {
      const { status, body } = await raw(world, {
        method: "GET",
        path,
        headers: { authorization: `Bearer ${world.token}` },
      });
      expect([400, 404]).toContain(status);
      expect(["VALIDATION_FAILED", "NOT_FOUND", "TASK_NOT_FOUND"]).toContain(body.error);
    }
  });
});

describe.each(storeNames)("an Idempotency-Key on %s", (store) => {
  const desk = desks(store);
  const withKey = (key: string) => ({ headers: { "idempotency-key": key } });
  const count = async ({ get }: Desk) => must(await get("/api/tasks?limit=1000")).tasks.length;

  test("makes a create happen once, and the second answer is the first", async () => {
    const here = await desk();
    const key = withKey(`create-${here.project}`);
    const first = await here.post("/api/tasks", { prompt: "once" }, key);
    here.clock.advance(1_000);
    const again = await here.post("/api/tasks", { prompt: "once" }, key);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(first.status).toBe(201);
    expect(await count(here)).toBe(1);
  });

  test("is refused with another body, and nothing happens", async () => {
    const here = await desk();
    const key = withKey(`other-${here.project}`);
    must(await here.post("/api/tasks", { prompt: "one" }, key));
    const { status, body } = await here.post("/api/tasks", { prompt: "two" }, key);
    expect([status, body.error]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
    expect(await count(here)).toBe(1);
  });

  test("is refused for another operation, and in another project", async () => {
    const here = await desk();
    const there = await desk();
    const key = withKey(`elsewhere-${here.project}`);
    must(await here.post("/api/ids/next", {}, key));
    const other = await here.post("/api/sessions", {}, key);
    expect([other.status, other.body.error]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
    const elsewhere = await there.post("/api/ids/next", {}, key);
    expect([elsewhere.status, elsewhere.body.error]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
  });

  test("answers a claim again, however long the caller would wait", async () => {
    const here = await desk();
    const key = withKey(`patience-${here.project}`);
    const { id: sessionId } = must(await here.post("/api/sessions", {})).session;
    must(await here.post("/api/tasks", { prompt: "one" }));
    const claim = (waitMs: number) => here.post("/api/tasks/claim-next", { sessionId, waitMs }, key);
    const first = must(await claim(0));
    expect(first.claim).not.toBeNull();
    expect(must(await claim(30_000))).toEqual(first);
  });

  test("is heeded by cleanup, too", async () => {
    const here = await desk();
    const key = withKey(`cleanup-${here.project}`);
    must(await here.post("/api/ids/next", {}, key));
    const { status, body } = await here.post("/api/tasks/claims/cleanup", {}, key);
    expect([status, body.error]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
  });

  test("of many requests at the same time lets one act, and all get its answer", async () => {
    const here = await desk();
    const key = withKey(`race-${here.project}`);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => here.post("/api/tasks", { prompt: "once" }, key)),
    );
    for (const { status, body } of answers) expect([status, body]).toEqual([201, answers[0]!.body]);
    expect(await count(here)).toBe(1);
  });

  test("of two different requests at the same time lets one act and refuses the other", async () => {
    const here = await desk();
    const key = withKey(`contest-${here.project}`);
    const answers = await Promise.all(
      ["one", "two"].map((prompt) => here.post("/api/tasks", { prompt }, key)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
    expect(await count(here)).toBe(1);
  });

  test("gives a claim its claim again, not another task", async () => {
    const here = await desk();
    await here.session("worker", { capacity: 5 });
    await here.task();
    await here.task();
    const key = withKey(`claim-${here.project}`);
    const first = must(await here.post("/api/tasks/claim-next", { sessionId: "worker" }, key));
    const again = must(await here.post("/api/tasks/claim-next", { sessionId: "worker" }, key));
    expect(again).toEqual(first);
    expect(must(await here.get("/api/tasks/in-flight")).summary.total).toBe(1);
  });

  test("of a claim that found nothing may find something later", async () => {
    const here = await desk();
    await here.session("worker");
    const key = withKey(`nothing-${here.project}`);
    expect(must(await here.post("/api/tasks/claim-next", { sessionId: "worker" }, key)).claim).toBeNull();
    const id = await here.task();
    expect(must(await here.post("/api/tasks/claim-next", { sessionId: "worker" }, key)).claim.taskId).toBe(
      id,
    );
  });

  test("of a refused request is free again", async () => {
    const here = await desk();
    const key = withKey(`refused-${here.project}`);
    expect((await here.post("/api/tasks", { prompt: "x", dependsOn: ["nope"] }, key)).status).toBe(400);
    expect((await here.post("/api/tasks", { prompt: "x" }, key)).status).toBe(201);
  });

  test("is forgotten after a day", async () => {
    const here = await desk();
    const key = withKey(`day-${here.project}`);
    must(await here.post("/api/tasks", { prompt: "once" }, key));
    here.clock.advance(minutes(24 * 60) - 1);
    must(await here.post("/api/tasks", { prompt: "once" }, key));
    expect(await count(here)).toBe(1);
    here.clock.advance(1);
    must(await here.post("/api/tasks", { prompt: "again" }, key));
    expect(await count(here)).toBe(2);
  });

  test("that is empty or too long is refused", async () => {
    const here = await desk();
    const { status, body } = await here.post("/api/tasks", { prompt: "x" }, withKey("k".repeat(256)));
    expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
    expect(await count(here)).toBe(0);
  });

  test("works on every POST that changes something", async () => {
    const here = await desk();
    const id = await here.running("worker");
    const calls: [string, object][] = [
      ["/api/tasks", { prompt: "x" }],
      ["/api/tasks/batch", { tasks: [{ prompt: "x" }, { prompt: "y" }] }],
      ["/api/ids/next", {}],
      ["/api/sessions", { name: "generated" }],
      ["/api/projects", { id: `new-${here.project}` }],
      [`/api/tasks/${id}/progress`, { sessionId: "worker", note: "half" }],
      [`/api/tasks/${id}/claim/heartbeat`, { sessionId: "worker" }],
      [`/api/tasks/${id}/ask`, { sessionId: "worker", question: "?" }],
      [`/api/tasks/${id}/respond`, { response: "!" }],
      [`/api/tasks/${id}/fail`, { sessionId: "worker", error: "red", retryable: false }],
      [`/api/tasks/${id}/retry`, {}],
      [`/api/tasks/${id}/cancel`, {}],
      ["/api/tasks/claims/cleanup", {}],
    ];
    for (const [path, body] of calls) {
      const key = withKey(`every-${here.project}-${path}`);
      const first = await here.post(path, body, key);
      expect([path, first.status < 300]).toEqual([path, true]);
      const events = (await here.timeline(id)).length;
      const again = await here.post(path, body, key);
      expect([path, again.status, again.body]).toEqual([path, first.status, first.body]);
      expect([path, (await here.timeline(id)).length]).toEqual([path, events]);
    }
  });
});
