// Every refusal code, provoked over HTTP: its status, its shape, and that nothing was changed. The table does not compile without a
// line for each code; what a server cannot answer says why, and where it is tested instead.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Code, httpStatus, meaningOf } from "../../src/contract/codes.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { cloneDatabase } from "../postgres/database.js";
import { connectSql } from "../postgres/sql.js";
import { tempDir } from "../support.js";
import { Desk, Following, minutes, must } from "./desk.js";
import { type Answer, raw, type StoreName, sqlStoreNames, World } from "./support.js";

/** A server whose store can also be reached from behind. */
interface Stage {
  world: World;
  /** How the names of its tables begin. */
  schema: string;
  /** Statements past the server. */
  sql(text: string): Promise<unknown>;
  /** Keeps the store locked until the answer is called. */
  lock(): Promise<() => void>;
  close(): Promise<void>;
}

async function openStage(store: StoreName, directory?: string): Promise<Stage> {
  const clock = new TestClock();
  const limits = { bodyMs: 1_000, streamsMax: 1, graceMs: 500 };
  const stageOn = async (place: { path: string } | { url: string }, more: Omit<Stage, "world">) => {
    const world = new World(clock, { clock, project: "demo", limits, ...place }, async () => undefined);
    await world.start();
    return { world, ...more, close: () => world.close().then(() => more.close()) };
  };
  if (store === "postgres") {
    const { url, drop } = await cloneDatabase();
    const admin = connectSql(url);
    return stageOn(
      { url },
      {
        schema: "dibs.",
        sql: (text) => admin.query(text),
        lock: () => Promise.reject(new Error("see raising")),
        close: async () => {
          await admin.end();
          await drop();
        },
      },
    );
  }
  const own = directory ?? tempDir();
  const path = join(own, "dibs.db");
  const behind = (act: (db: InstanceType<typeof DatabaseSync>) => void) => {
    const db = new DatabaseSync(path);
    db.enableDefensive(false);
    act(db);
    return db;
  };
  return stageOn(
    { path },
    {
      schema: "",
      sql: async (text) => behind((db) => db.exec(text)).close(),
      lock: async () => {
        const db = behind((each) => each.exec("BEGIN IMMEDIATE"));
        return () => db.close();
      },
      close: async () => rmSync(own, { recursive: true, force: true }),
    },
  );
}

/** Sets the scene, and returns the call that is refused. */
type Provocation = (desk: Desk, stage: Stage) => Promise<() => Promise<Answer>>;
/** Why no server answers it, and the test that provokes it elsewhere. */
interface Elsewhere {
  because: string;
  tested: string;
}
interface Row {
  status: number;
  /** The same call may succeed later. */
  passes?: true;
  provoke: Provocation | Record<"sqlite" | "postgres", Provocation | Elsewhere>;
  /** More of what it says. */
  says?: object;
  /** It needs none: the message says all there is to do. */
  noHint?: true;
}

const session = "agent-1";
const held: (then: (desk: Desk, id: string) => Promise<() => Promise<Answer>>) => Provocation =
  (then) => async (desk) => {
    const id = await desk.running(session);
    await desk.session("agent-2");
    return then(desk, id);
  };
const heartbeat = ({ post }: Desk, id: string, sessionId = session, more = {}) =>
  post(`/api/tasks/${id}/claim/heartbeat`, { sessionId, ...more });

/** What PostgreSQL says when a task with such a title is written. */
const raising =
  (sqlstate: string): Provocation =>
  async ({ post }, { sql }) => {
    await sql(`
      CREATE OR REPLACE FUNCTION public.raise_by_title() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.title LIKE 'raise %' THEN
          RAISE EXCEPTION 'the walls have ears' USING ERRCODE = substr(NEW.title, 7);
        END IF;
        RETURN NEW;
      END $$;
      CREATE OR REPLACE TRIGGER raise_by_title BEFORE INSERT ON dibs.task
        FOR EACH ROW EXECUTE FUNCTION public.raise_by_title()`);
    return () => post("/api/tasks", { prompt: `raise ${sqlstate}` });
  };

const table: Record<Code, Row> = {
  TASK_NOT_FOUND: {
    status: 404,
    provoke:
      async ({ get }) =>
      () =>
        get("/api/tasks/nope"),
    says: { taskId: "nope" },
  },
  PROJECT_NOT_FOUND: {
    status: 404,
    provoke:
      async ({ world }) =>
      () =>
        world.get("/api/tasks?project=nope"),
    says: { project: "nope" },
  },
  SESSION_NOT_FOUND: {
    status: 404,
    provoke:
      async ({ get }) =>
      () =>
        get("/api/sessions/nope"),
    says: { sessionId: "nope" },
  },
  NOT_FOUND: {
    status: 404,
    provoke:
      async ({ get }) =>
      () =>
        get("/api/nothing/here"),
  },
  TASK_ALREADY_CLAIMED: {
    status: 409,
    passes: true,
    provoke: held(
      async ({ post }, id) =>
        () =>
          post(`/api/tasks/${id}/claim`, { sessionId: "agent-2" }),
    ),
    says: { claim: { sessionId: session, remainingMs: 1_800_000, holderAlive: true } },
  },
  TASK_NOT_CLAIMABLE: {
    status: 400,
    passes: true,
    provoke: async ({ post, task, session: register }) => {
      await register("agent-2");
      const id = await task({ dependsOn: [await task()] });
      return () => post(`/api/tasks/${id}/claim`, { sessionId: "agent-2" });
    },
    says: {
      reasons: [{ code: "WAITING_ON_DEPENDENCIES", message: expect.any(String), fix: expect.any(String) }],
    },
  },
  TASK_NOT_CLAIMED: {
    status: 404,
    provoke: async (desk) => {
      await desk.session(session);
      const id = await desk.task();
      return () => heartbeat(desk, id);
    },
  },
  NOT_CLAIM_OWNER: { status: 403, provoke: held(async (desk, id) => () => heartbeat(desk, id, "agent-2")) },
  CLAIM_EXPIRED: {
    status: 410,
    provoke: held(async (desk, id) => {
      desk.clock.advance(minutes(30));
      return () => heartbeat(desk, id);
    }),
  },
  TASK_CANCELLED: {
    status: 409,
    provoke: held(async (desk, id) => {
      must(await desk.post(`/api/tasks/${id}/cancel`));
      return () => heartbeat(desk, id);
    }),
  },
  STALE_EPOCH: {
    status: 409,
    provoke: held(async (desk, id) => {
      must(await desk.post(`/api/tasks/${id}/release`, { sessionId: session }));
      await desk.claim(id, session);
      return () => heartbeat(desk, id, session, { epoch: 1 });
    }),
    says: { epoch: 2 },
  },
  INVALID_STATE: {
    status: 409,
    provoke: held(async (desk, id) => {
      must(await desk.post(`/api/tasks/${id}/ask`, { sessionId: session, question: "which?" }));
      return () => heartbeat(desk, id);
    }),
    says: { state: "awaiting_response" },
  },
  QUESTION_MISMATCH: {
    status: 409,
    provoke: held(async ({ post }, id) => {
      must(await post(`/api/tasks/${id}/ask`, { sessionId: session, question: "which?" }));
      return () => post(`/api/tasks/${id}/respond`, { response: "x", questionId: "q0" });
    }),
    says: { question: { text: "which?" } },
  },
  TASK_NOT_AWAITING: {
    status: 409,
    provoke: held(
      async ({ post }, id) =>
        () =>
          post(`/api/tasks/${id}/respond`, { response: "x" }),
    ),
    says: { state: "running" },
    noHint: true,
  },
  TASK_NOT_RETRYABLE: {
    status: 409,
    provoke: held(
      async ({ post }, id) =>
        () =>
          post(`/api/tasks/${id}/retry`),
    ),
    says: { state: "running" },
    noHint: true,
  },
  TASK_NOT_CANCELLABLE: {
    status: 409,
    provoke: held(async ({ post }, id) => {
      must(await post(`/api/tasks/${id}/complete`, { sessionId: session }));
      return () => post(`/api/tasks/${id}/cancel`);
    }),
    says: { state: "completed" },
    noHint: true,
  },
  LANDING_NOW: {
    status: 409,
    passes: true,
    provoke: held(async ({ post, settings }, taskId) => {
      const place = { repository: "a".repeat(40), target: "main" };
      await settings({ land: place });
      must(await post(`/api/tasks/${taskId}/submit`, { sessionId: session, commit: "c".repeat(40) }));
      const { lease } = must(await post("/api/landings/lease", { ...place, holder: "lander" }));
      const tasks = [{ taskId, submission: 1, commit: "d".repeat(40) }];
      const intent = { ...place, epoch: lease.epoch, tasks, commit: "d".repeat(40) };
      must(await post("/api/landings", intent));
      return () => post(`/api/tasks/${taskId}/withdraw`, {});
    }),
    says: { landing: "L1" },
  },
  STALE_SUBMISSION: {
    status: 409,
    provoke: held(async ({ post, settings }, id) => {
      await settings({ land: { target: "main" } });
      must(await post(`/api/tasks/${id}/submit`, { sessionId: session, commit: "c".repeat(40) }));
      must(await post(`/api/tasks/${id}/withdraw`, {}));
      return () => post(`/api/tasks/${id}/approve`, { submission: 1 });
    }),
    says: { submission: 1 },
  },
  SELF_REVIEW: {
    status: 403,
    provoke: held(async ({ post, settings }, id) => {
      await settings({ land: { target: "main", review: "agent" } });
      must(await post(`/api/tasks/${id}/submit`, { sessionId: session, commit: "c".repeat(40) }));
      return () => post(`/api/tasks/${id}/approve`, { submission: 1, sessionId: session });
    }),
    says: { sessionId: session },
  },
  REMOTE_REQUIRED: {
    status: 409,
    provoke: held(async ({ post, settings }, id) => {
      await settings({ land: { target: "main" } });
      const lander = { repository: "a".repeat(40), target: "main", holder: "lander", host: "here" };
      must(await post("/api/landings/lease", lander));
      const commit = "c".repeat(40);
      return () => post(`/api/tasks/${id}/submit`, { sessionId: session, commit, host: "there" });
    }),
    says: { host: "there" },
  },
  CHILDREN_OPEN: {
    status: 409,
    passes: true,
    provoke: held(async ({ post, task }, id) => {
      await task({ parentId: id });
      return () => post(`/api/tasks/${id}/complete`, { sessionId: session });
    }),
    says: { openChildren: 1 },
  },
  RESOURCE_NOT_FOUND: {
    status: 404,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", { prompt: "x", uses: { nope: 1 } }),
    says: { resource: "nope" },
  },
  RESOURCE_IN_USE: {
    status: 409,
    passes: true,
    provoke: async ({ world, task }) => {
      await world.ask("PUT", "/api/resources/db", { capacity: 1 });
      await task({ uses: { db: 1 } });
      return () => world.delete("/api/resources/db");
    },
    says: { resource: "db" },
  },
  DEPENDENCY_NOT_FOUND: {
    status: 400,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", { prompt: "x", dependsOn: ["nope"] }),
    says: { dependency: "nope" },
  },
  DEPENDENCY_CYCLE: {
    status: 400,
    provoke: async ({ patch, task }) => {
      const first = await task({ id: "one" });
      await task({ id: "two", dependsOn: [first] });
      return () => patch("/api/tasks/one", { dependsOn: ["two"] });
    },
    says: { message: expect.stringContaining("one → two → one") },
  },
  VALIDATION_FAILED: {
    status: 400,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", { prompt: "x", priority: 101, labels: "no list" }),
    says: {
      issues: expect.arrayContaining([
        { path: "priority", message: expect.any(String) },
        { path: "labels", message: expect.any(String) },
      ]),
    },
    noHint: true,
  },
  ID_TAKEN: {
    status: 409,
    provoke: async ({ post, task }) => {
      await task({ id: "mine" });
      return () => post("/api/tasks", { prompt: "x", id: "mine" });
    },
  },
  COUNTER_EXHAUSTED: {
    status: 409,
    provoke: async ({ post, project }, { sql, schema }) => {
      // ZZZZ is the 736 335th.
      await sql(`INSERT INTO ${schema}counter VALUES ('default', '${project}', '', 736334)`);
      expect(must(await post("/api/ids/next")).id).toBe("ZZZZ");
      return () => post("/api/tasks", { prompt: "one more" });
    },
    noHint: true,
  },
  SESSION_BUSY: {
    status: 409,
    passes: true,
    provoke: async ({ post, project }) => {
      must(await post("/api/locks", { name: `lock-${project}`, sessionId: "agent-1" }));
      return () => post("/api/locks", { name: `lock-${project}`, sessionId: "agent-2" });
    },
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    provoke: async ({ post, project }) => {
      const headers = { "idempotency-key": `key-${project}` };
      must(await post("/api/tasks", { prompt: "one" }, { headers }));
      return () => post("/api/tasks", { prompt: "two" }, { headers });
    },
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", { prompt: "x".repeat(256 * 1024 + 1) }),
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", "prompt=x", { headers: { "content-type": "application/x-www-form-urlencoded" } }),
  },
  UNAUTHENTICATED: {
    status: 401,
    provoke:
      async ({ post }) =>
      () =>
        post("/api/tasks", { prompt: "x" }, { token: null }),
  },
  FORBIDDEN: {
    status: 403,
    provoke: async ({ post, world }) => {
      const token = await world.tokenFor("viewer");
      return () => post("/api/tasks", { prompt: "x" }, { token });
    },
    says: { needed: "worker", role: "viewer" },
  },
  REQUEST_TIMEOUT: {
    status: 408,
    passes: true,
    provoke:
      async ({ world }) =>
      () =>
        halfARequest(world),
    noHint: true,
  },
  RATE_LIMITED: {
    status: 429,
    passes: true,
    provoke: async ({ get, world }) => {
      const following = await Following.open(world);
      return async () => {
        const answer = await get("/api/events/stream");
        following.close();
        return answer;
      };
    },
    says: { max: 1 },
  },
  STORE_BUSY: {
    status: 503,
    passes: true,
    provoke: {
      sqlite:
        async ({ post }, { lock }) =>
        async () => {
          const unlock = await lock();
          const later = impatience();
          try {
            return await post("/api/tasks", { prompt: "x" });
          } finally {
            later.restore();
            unlock();
          }
        },
      postgres: raising("55P03"),
    },
  },
  STORE_FULL: {
    status: 507,
    passes: true,
    provoke: {
      sqlite: {
        because: "needs a small disk: below, where root may mount one",
        tested: "test/faults/bad-worlds.test.ts",
      },
      postgres: raising("53100"),
    },
    noHint: true,
  },
  STORE_READ_ONLY: {
    status: 503,
    provoke: {
      sqlite: {
        because:
          "a server does not start on such a file, and a disk with an open file cannot be made read-only",
        tested: "test/faults/bad-worlds.test.ts",
      },
      postgres: raising("25006"),
    },
  },
  STORE_CORRUPT: {
    status: 503,
    provoke: {
      sqlite: {
        because: "destroys the store: below, on one of its own",
        tested: "test/faults/bad-worlds.test.ts",
      },
      postgres: raising("XX001"),
    },
    noHint: true,
  },
  STORE_NOT_TRUSTED: {
    status: 403,
    provoke: {
      sqlite: { because: "a server does not start on such a store", tested: "test/cli/trust.test.ts" },
      postgres: { because: "only files are found in directories", tested: "test/cli/trust.test.ts" },
    },
  },
  STORE_TOO_NEW: {
    status: 503,
    provoke: {
      sqlite: {
        because: "a server does not start on such a store",
        tested: "test/faults/bad-worlds.test.ts",
      },
      postgres: {
        because: "a server does not start on such a store",
        tested: "test/postgres/migrations.test.ts",
      },
    },
  },
  STORE_NOT_FOUND: {
    status: 503,
    provoke: {
      sqlite: { because: "a server creates its store", tested: "test/cli/no-store.test.ts" },
      postgres: { because: "a server creates its store", tested: "test/postgres/no-store.test.ts" },
    },
  },
  STORE_UNAVAILABLE: {
    status: 503,
    passes: true,
    provoke: {
      sqlite: { because: "a file that is open stays open", tested: "test/faults/bad-worlds.test.ts" },
      postgres: raising("42501"),
    },
  },
  STORE_CLOSED: {
    status: 503,
    provoke: {
      sqlite: {
        because: "a server closes its store after the last answer",
        tested: "test/e2e/waiting.test.ts",
      },
      postgres: {
        because: "a server closes its store after the last answer",
        tested: "test/e2e/waiting.test.ts",
      },
    },
  },
  INTERNAL: {
    status: 500,
    provoke: {
      sqlite: async ({ post }, { sql }) => {
        await sql(
          `CREATE TRIGGER IF NOT EXISTS trap BEFORE INSERT ON task WHEN NEW.title = 'trap'
             BEGIN SELECT RAISE(ABORT, 'the walls have ears'); END`,
        );
        return () => post("/api/tasks", { prompt: "trap" });
      },
      postgres: raising("P0001"),
    },
  },
};

/** Sends the beginning of a body, and waits. */
function halfARequest({ server: { port }, token }: World): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(
        `POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"prompt":`,
      );
    });
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", reject);
    socket.on("end", () => {
      const [head = "", body = "{}"] = text.split("\r\n\r\n");
      const lines = head
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
      socket.end();
      resolve({ status: Number(head.split(" ")[1]), headers: new Headers(lines), body: JSON.parse(body) });
    });
  });
}

/** Makes those who wait for a lock lose their patience: after some looks at the clock it is a minute later. */
function impatience() {
  const real = performance.now.bind(performance);
  let looks = 0;
  const spy = vi.spyOn(performance, "now").mockImplementation(() => real() + (++looks > 60 ? 60_000 : 0));
  return { restore: () => spy.mockRestore() };
}

function provocationOn(store: StoreName, { provoke }: Row): Provocation | Elsewhere {
  return typeof provoke === "function" ? provoke : provoke[store as "sqlite" | "postgres"];
}

const codes = Object.keys(table) as Code[];

test("the table has every code, with its status", () => {
  expect(Object.fromEntries(codes.map((code) => [code, table[code].status]))).toEqual(httpStatus);
});

function expectProblem(code: Code, { status, headers, body }: Answer): void {
  const { status: expected, passes = false, says = {}, noHint } = table[code];
  expect([body.error, status]).toEqual([code, expected]);
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(body).toMatchObject({
    success: false,
    message: expect.stringMatching(/\S/),
    retryable: passes,
    ...says,
  });
  expect(body).toMatchObject({ type: `/reference#${code}`, status, detail: body.message });
  expect(body.title).toBe(meaningOf(code));
  if (noHint) expect(body.hint ?? "x").toMatch(/\S/);
  else expect(body.hint, "a hint").toMatch(/\S/);
  expect(JSON.stringify(body)).not.toMatch(/ {4}at |node_modules/);
  if (code === "INTERNAL") expect(JSON.stringify(body)).not.toContain("walls have ears");
  expect(headers.get("dibs-request-id")).toMatch(/\S/);
  expect(headers.get("retry-after")).toBe(status === 429 || status === 503 ? "1" : null);
  expect(headers.get("www-authenticate")).toBe(status === 401 ? 'Bearer realm="dibs"' : null);
}

describe.each(sqlStoreNames)("over HTTP on %s", (store) => {
  let stage: Stage;
  let count = 0;
  beforeAll(async () => {
    stage = await openStage(store);
  });
  afterAll(() => stage?.close());

  const provoked = codes.filter((code) => typeof provocationOn(store, table[code]) === "function");
  test.each(provoked)("%s says what is wrong, and nothing is changed", async (code) => {
    const { world } = stage;
    const project = `p${++count}`;
    must(await world.post("/api/projects", { id: project }));
    const refused = await (provocationOn(store, table[code]) as Provocation)(new Desk(world, project), stage);
    const before = await lastEvent(world);
    expectProblem(code, await refused());
    const after = must(await world.get(`/api/events?project=*&after=${before}`)).events;
    // A lease that is over may be ended on the way.
    expect(after.filter(({ type }: { type: string }) => type !== "task:claim-expired")).toEqual([]);
  });

  const unprovoked = codes.filter((code) => !provoked.includes(code));
  test.each(unprovoked)("%s cannot be provoked here, and is tested elsewhere", (code) => {
    const { because, tested } = provocationOn(store, table[code]) as Elsewhere;
    expect(because).toMatch(/\w/);
    const file = join(import.meta.dirname, "../..", tested);
    expect(existsSync(file), file).toBe(true);
    expect(readFileSync(file, "utf8")).toContain(code);
  });

  test("FORBIDDEN is also the answer to a foreign Host or Origin", async () => {
    const { world } = stage;
    const authorization = `Bearer ${world.token}`;
    const host = `127.0.0.1:${world.server.port}`;
    for (const headers of [
      { authorization, host: "evil.example" },
      { authorization, host, origin: "https://evil.example" },
    ]) {
      const request = { method: "GET", path: "/api/tasks", headers: headers as Record<string, string> };
      const { status, body } = await raw(world, request);
      expect([status, body.error, body.success]).toEqual([403, "FORBIDDEN", false]);
    }
  });

  test("FORBIDDEN is also the answer to who speaks for a session of another token", async () => {
    const { world } = stage;
    const one = await world.tokenFor("worker", "one" as "worker");
    const other = await world.tokenFor("worker", "other" as "worker");
    must(await world.post("/api/sessions", { id: "owned" }, { token: one }));
    const { status, body } = await world.post(
      "/api/tasks/claim-next",
      { sessionId: "owned" },
      { token: other },
    );
    expect([status, body.error]).toEqual([403, "FORBIDDEN"]);
  });

  test("INTERNAL keeps its details in the log, under the id of the request", async () => {
    const { world } = stage;
    const refused = await (provocationOn(store, table.INTERNAL) as Provocation)(
      new Desk(world, "demo"),
      stage,
    );
    const { headers } = await refused();
    await world.get("/api/projects");
    const id = headers.get("dibs-request-id")!;
    expect(world.logged.find((line) => line.includes(id))).toContain("the walls have ears");
  });
});

describe("over HTTP on a sqlite store of its own", () => {
  test("STORE_CORRUPT is the answer of a server whose file was damaged", async () => {
    const stage = await openStage("sqlite");
    try {
      await stage.sql(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'damaged' WHERE name = 'task'; PRAGMA schema_version = 9999",
      );
      const { status, body } = await stage.world.post("/api/tasks", { prompt: "x" });
      expect([status, body.error, body.retryable]).toEqual([503, "STORE_CORRUPT", false]);
      expect(body.hint).toMatch(/backup/);
      expect((await stage.world.get("/readyz")).status).toBe(503);
      expect((await stage.world.get("/healthz")).status).toBe(200);
    } finally {
      await stage.close().catch(() => undefined); // It cannot tidy up either.
    }
  });

  test("STORE_FULL is the answer of a server whose disk is full, and it goes on reading", async (context) => {
    const directory = tempDir();
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", directory]);
    context.skip(mounted.status !== 0, "only root can mount a small disk"); // needs root
    const stage = await openStage("sqlite", directory);
    const { world } = stage;
    try {
      const id = await world.task();
      let answer: Answer;
      do answer = await world.post("/api/tasks", { prompt: "x".repeat(50_000) });
      while (answer.status === 201);
      expectProblem("STORE_FULL", answer);
      expect(must(await world.get(`/api/tasks/${id}`)).task.state).toBe("queued");
    } finally {
      await stage.close().catch(() => undefined); // It cannot tidy up either.
      spawnSync("umount", ["-l", directory]);
    }
  });
});

/** The number of the last event: pages are walked. */
async function lastEvent(world: World): Promise<number> {
  let after = 0;
  for (;;) {
    const { events, nextAfter } = must(await world.get(`/api/events?project=*&limit=1000&after=${after}`));
    if (events.length < 1000) return nextAfter;
    after = nextAfter;
  }
}
