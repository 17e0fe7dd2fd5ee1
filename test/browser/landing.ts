// A project that lands its work, told through the API: agents hand in, and a lander reports. No git: what a lander finds is made up.

import type { LandSettings } from "../../src/core/project.js";
import type { World } from "../http/support.js";

const repository = "a".repeat(40);
const place = { repository, target: "main" };
/** A commit's id that can be recognised. */
export const commitOf = (number: number) => `${number}`.padStart(4, "0") + "c0ffee".repeat(6);

export interface Handed {
  taskId: string;
  submission: number;
}

interface Work {
  id?: string;
  title?: string;
  agent?: string;
  summary?: string;
  commit?: number | null;
}

interface Found {
  patch?: string;
  omitted?: number;
  files?: { path: string; insertions: number | null; deletions: number | null }[];
  reviewPaths?: string[];
}

const patchOfOneLine = (path: string) => `diff --git a/${path} b/${path}
index 1111111..2222222 100644
--- a/${path}
+++ b/${path}
@@ -1,2 +1,2 @@
 kept
-before
+after
`;

export class Landing {
  private epoch = 0;
  private count = 0;

  private constructor(
    readonly world: World,
    /** Of the agents: people have another. */
    private readonly token: string,
    readonly project: string,
  ) {}

  static async open(world: World, land: Partial<LandSettings> = {}, project = "demo"): Promise<Landing> {
    const token = await world.tokenFor("worker", `agents of ${project}`);
    await ok(world.patch(`/api/projects/${project}`, { settings: { land: { ...place, ...land } } }));
    return new Landing(world, token, project);
  }

  /** An agent claims a task, works and hands in; a task that was there before is handed in again. */
  async submit({ id, title, agent = "ada", summary = "Did it.", commit }: Work = {}): Promise<Handed> {
    const { project } = this;
    const asAgent = { token: this.token };
    const number = ++this.count;
    await ok(this.world.post("/api/sessions", { project, id: agent, agentType: "claude" }, asAgent));
    const known = id === undefined ? null : await this.world.get(`/api/tasks/${id}?project=${project}`);
    let taskId = known?.status === 200 ? id! : null;
    if (taskId === null) {
      const task = { project, prompt: "do it", title: title ?? `Task ${number}`, ...(id ? { id } : {}) };
      taskId = (await ok(this.world.post("/api/tasks", task))).task.id as string;
    }
    await ok(
      this.world.post(`/api/tasks/${taskId}/claim`, { project, sessionId: agent, start: true }, asAgent),
    );
    const change =
      commit === null
        ? {}
        : { commit: commitOf(commit ?? number), branch: `dibs/${taskId}`, base: commitOf(0) };
    const handed = { project, sessionId: agent, summary, ...change };
    const { submission } = await ok(this.world.post(`/api/tasks/${taskId}/submit`, handed, asAgent));
    return { taskId, submission: submission.number };
  }

  /** Takes the lease, or renews it. */
  async lease(ttlMs = 600_000): Promise<void> {
    const { lease } = await this.post("lease", { ...place, holder: "lander-1", host: "build", ttlMs });
    this.epoch = lease.epoch;
  }

  async begin(...tasks: Handed[]): Promise<string> {
    if (this.epoch === 0) await this.lease();
    const named = tasks.map((task) => ({ ...task, commit: null }));
    const { landing } = await this.post("", { ...place, epoch: this.epoch, tasks: named });
    return landing.id;
  }

  async checks(id: string, task: Handed, ...checks: { name: string; state: string; logTail?: string }[]) {
    await this.post(`${id}/checks`, {
      tasks: [task],
      checks: checks.map((check, at) => ({
        exitCode: check.state === "passed" ? 0 : 1,
        durationMs: 2_300 * (at + 1),
        tree: "7ee".padEnd(40, "0"),
        ranBy: "lander-1",
        logTail: "",
        ...check,
      })),
    });
  }

  /** Merged and checked alone: what it changes is recorded. */
  async inspect(id: string, { taskId, submission }: Handed, found: Found = {}): Promise<void> {
    const { files = [{ path: "src/a.ts", insertions: 1, deletions: 1 }], reviewPaths = [] } = found;
    const sum = (key: "insertions" | "deletions") =>
      files.reduce((total, file) => total + (file[key] ?? 0), 0);
    await this.post(`${id}/diff`, {
      taskId,
      submission,
      diff: {
        base: commitOf(0),
        files,
        fileCount: files.length,
        insertions: sum("insertions"),
        deletions: sum("deletions"),
        reviewPaths,
        patchId: null,
      },
      patch: {
        text: found.patch ?? files.map(({ path }) => patchOfOneLine(path)).join(""),
        omitted: found.omitted ?? 0,
      },
    });
  }

  /** Handed in, checked, and waiting for a review. */
  async toReview(work: Work = {}, found: Found = {}): Promise<Handed> {
    const handed = await this.submit(work);
    const id = await this.begin();
    await this.checks(id, handed, { name: "test", state: "passed", logTail: "12 tests passed" });
    await this.inspect(id, handed, found);
    return handed;
  }

  async intend(id: string, { taskId, submission }: Handed, commit = 99): Promise<void> {
    const tasks = [{ taskId, submission, commit: commitOf(commit) }];
    await this.post(`${id}/intent`, { commit: commitOf(commit), tasks });
  }

  async landed(id: string): Promise<void> {
    await this.post(`${id}/landed`, {});
  }

  async land(handed: Handed, commit = 99): Promise<void> {
    const id = await this.begin(handed);
    await this.intend(id, handed, commit);
    await this.landed(id);
  }

  async returned(handed: Handed, reason: string, detail?: string): Promise<void> {
    await this.post(`${await this.begin(handed)}/returned`, { ...handed, reason, detail });
  }

  async held(...holds: { reason: string; message: string; fix?: string; tasks?: { taskId: string }[] }[]) {
    await this.post(`${await this.begin()}/held`, { holds });
  }

  async release(): Promise<void> {
    await this.post("release", place);
    this.epoch = 0;
  }

  private async post(path: string, body: object) {
    const address = path === "" ? "/api/landings" : `/api/landings/${path}`;
    const own = { project: this.project, ...(this.epoch > 0 ? { epoch: this.epoch } : {}) };
    return ok(
      this.world.post(address, path === "lease" ? { ...body, project: this.project } : { ...own, ...body }),
    );
  }
}

async function ok(answering: Promise<{ status: number; body: unknown }>) {
  const { status, body } = await answering;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked against the contract by the world.
  return body as any;
}

const patch = `diff --git a/src/http/limits.ts b/src/http/limits.ts
index 3f1c2aa..8d0e911 100644
--- a/src/http/limits.ts
+++ b/src/http/limits.ts
@@ -12,9 +12,14 @@ export interface Limits {
   bodyBytesMax: number;
 }
 
-const defaults: Limits = { bodyBytesMax: 1024 * 1024 };
+const defaults: Limits = { bodyBytesMax: 1024 * 1024, promptBytesMax: 64 * 1024 };
 
-export function limitsFrom(given: Partial<Limits>): Limits {
+/** Unknown names are refused: a typing error would set no limit at all. */
+export function limitsFrom(given: Partial<Limits>): Limits {
+  for (const name of Object.keys(given))
+    if (!(name in defaults)) throw new Error(\`Unknown limit \${name}\`);
   return { ...defaults, ...given };
 }
diff --git a/test/http/limits.test.ts b/test/http/limits.test.ts
new file mode 100644
index 0000000..b1946ac
--- /dev/null
+++ b/test/http/limits.test.ts
@@ -0,0 +1,5 @@
+import { limitsFrom } from "../../src/http/limits.js";
+
+test("an unknown limit is refused", () => {
+  expect(() => limitsFrom({ promptBytes: 1 } as never)).toThrow("Unknown limit");
+});
`;

/** A repository with several agents in the middle of the day; for pictures. */
export async function makeLanding(world: World): Promise<void> {
  const landing = await Landing.open(world, { review: "human" });
  await landing.lease();
  const done = await landing.toReview({ id: "schema", title: "Design the storage schema", agent: "ada" });
  const rows = await landing.toReview({ id: "rows", title: "Map rows to tasks and back", agent: "bo" });
  for (const [task, commit] of [
    [done, 41],
    [rows, 42],
  ] as const) {
    await approve(world, task);
    await landing.land(task, commit);
  }
  const retry = await landing.submit({ id: "retry", title: "Retry with backoff and a breaker", agent: "cy" });
  await landing.returned(retry, "conflict", "conflict in src/core/retry.ts with task rows");
  const first = await landing.toReview({ id: "api", title: "Serve tasks over HTTP", agent: "bo" });
  await request(world, first, "Refuse unknown limits: a typing error sets no limit at all.");
  const files = [
    { path: "src/http/limits.ts", insertions: 5, deletions: 2 },
    { path: "test/http/limits.test.ts", insertions: 5, deletions: 0 },
  ];
  const summary = "Limits of bodies and prompts, checked by name. Unknown names are refused, with a test.";
  await landing.toReview({ id: "api", agent: "bo", summary }, { patch, files });
  const docs = { id: "docs", title: "Explain it in the README", agent: "dot" };
  await landing.toReview(docs, {
    files: [
      { path: "README.md", insertions: 31, deletions: 4 },
      { path: "package.json", insertions: 1, deletions: 1 },
    ],
    reviewPaths: ["package.json"],
  });
  const cli = await landing.toReview({
    id: "cli",
    title: "Command line over the same contract",
    agent: "eve",
  });
  await approve(world, cli);
  const stream = await landing.toReview({ id: "stream", title: "Stream events with resume", agent: "ada" });
  await approve(world, stream);
  const theme = await landing.toReview({ id: "theme", title: "Light and dark", agent: "fin" });
  await landing.submit({ id: "mcp", title: "Tools for agents in few tokens", agent: "cy" });
  await landing.submit({ id: "export", title: "Export and import, byte for byte", agent: "dot" });
  await landing.held({
    reason: "DIRTY_CHECKOUT",
    message: "The checkout of main has changes in src/theme.css, which a submission touches.",
    fix: "git stash",
    tasks: [{ taskId: theme.taskId }],
  });
  await landing.intend(await landing.begin(stream), stream, 43);
}

async function approve(world: World, { taskId, submission }: Handed): Promise<void> {
  await ok(world.post(`/api/tasks/${taskId}/approve`, { submission, comment: "Reads well." }));
}

async function request(world: World, { taskId, submission }: Handed, reason: string): Promise<void> {
  await ok(world.post(`/api/tasks/${taskId}/request-changes`, { submission, reason }));
}
