// What the examples of the help pages need: tasks in the right states, files, and programs on the PATH.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import type { Dibs } from "../../src/client/client.js";
import { createTables, exportDibs, openDibs } from "../../src/compose.js";
import { databaseFor } from "../../src/runtime/locate.js";
import { cloneDatabase } from "../postgres/database.js";
import { inspect, reviewedBy, submit } from "../reviews.js";
import { afterwards, until } from "../support.js";
import { type Place, type Running, sh } from "./run-place.js";

export interface Prepared {
  place: Place;
  dibs: Dibs;
  env: Record<string, string>;
}

type Prepare = (prepared: Prepared) => Promise<unknown>;

const ids = ["0001", "0002"];

const claimed =
  (sessionId: string): Prepare =>
  async ({ dibs }) => {
    for (const taskId of ids) await dibs.tasks.claim({ taskId, sessionId, register: true });
  };

const inTask: Prepare = async (prepared) => {
  await claimed("agent-1")(prepared);
  const { task } = await prepared.dibs.tasks.get({ taskId: "0001" });
  Object.assign(prepared.env, {
    DIBS_TASK: "0001",
    DIBS_SESSION: "agent-1",
    DIBS_EPOCH: String(task.claim?.epoch),
  });
};

const asked: Prepare = async (prepared) => {
  await claimed("agent-1")(prepared);
  await prepared.dibs.tasks.ask({ taskId: "0001", sessionId: "agent-1", question: "Teal or orange?" });
};

const failed: Prepare = async (prepared) => {
  await claimed("agent-1")(prepared);
  const error = { sessionId: "agent-1", error: "no network", retryable: false };
  for (const taskId of ids) await prepared.dibs.tasks.fail({ taskId, ...error });
};

const landing: Prepare = async (prepared) => {
  await prepared.dibs.projects.update({ settings: { land: { target: "main" } } } as never);
  await claimed("agent-1")(prepared);
};

/** Files that are not committed are not handed in. */
const committed: Prepare = async (prepared) => {
  await landing(prepared);
  prepared.place.git("add", "--all");
  prepared.place.git("commit", "--quiet", "-m", "Work");
};

const submitted: Prepare = async (prepared) => {
  await landing(prepared);
  await prepared.dibs.tasks.submit({ taskId: "0001", sessionId: "agent-1" });
};

const inReview: Prepare = async (prepared) => {
  await reviewedBy(prepared.dibs, "human");
  await submit(prepared.dibs, "0001", { sessionId: "agent-1" });
  await inspect(prepared.dibs, "0001");
};

const checks: Prepare = ({ dibs }) => {
  const check = { name: "test", run: ["true"], timeoutMs: 60_000, paths: [] };
  return dibs.projects.update({ settings: { land: { checks: [check] } } });
};

const docs: Prepare = ({ dibs }) => dibs.projects.create({ id: "docs" });
const served: Prepare = ({ place }) => place.serve();

const exported: Prepare = async ({ place, env }) => {
  let lines = "";
  for await (const line of exportDibs({ path: databaseFor(place.cwd) })) lines += `${line.trimEnd()}\n`;
  writeFileSync(join(place.cwd, "fleet.jsonl"), lines);
  const { url, drop } = await cloneDatabase({ migrated: false });
  afterwards(drop);
  env.DIBS_DATABASE_URL = url;
};

/** An AWS of this machine. */
const onDynamo =
  (prefix?: string): Prepare =>
  async ({ env }) => {
    const endpoint = inject("dynamoEndpoint")!;
    env.AWS_ENDPOINT_URL_DYNAMODB = endpoint;
    env.AWS_ACCESS_KEY_ID = "dibs";
    env.AWS_SECRET_ACCESS_KEY = "dibs";
    if (prefix === undefined) return;
    const url = `dynamodb://eu-west-1/${prefix}?endpoint=${endpoint}`;
    await createTables(url);
    await (await openDibs({ url })).close();
  };

const shared: Prepare = ({ dibs }) => dibs.resources.set({ id: "test-db", capacity: 2 });

const token: Prepare = async ({ dibs, env }) => {
  env.TOKEN_ID = (await dibs.tokens.create({ name: "old" })).id;
};

/** By the name of a command: what its examples begin with, besides the two ready tasks that all have. */
export const preparations: Record<string, Prepare> = {
  answer: asked,
  approve: inReview,
  ask: inTask,
  "db create": onDynamo(),
  "db replay": onDynamo("restored"),
  done: claimed("agent-1"),
  "resource hold": shared,
  "resource resume": shared,
  "resource remove": shared,
  usage: claimed("agent-1"),
  fail: claimed("agent-1"),
  fence: inTask,
  heartbeat: claimed("agent-1"),
  import: exported,
  inbox: asked,
  land: landing,
  progress: claimed("agent-1"),
  "check remove": checks,
  "check run": checks,
  "project pause": docs,
  "project resume": docs,
  "project set": docs,
  "project show": docs,
  reject: inReview,
  release: claimed("agent-1"),
  retry: failed,
  review: inReview,
  show: async ({ place }) =>
    place.git("commit", "--quiet", "--allow-empty", "--message=Land\n\nDibs-Task: shop/0001#1"),
  submit: committed,
  withdraw: submitted,
  start: claimed("agent-1"),
  "token link": served,
  "token revoke": token,
  "worker complete": claimed("terminal-2"),
  "worker fail": claimed("terminal-2"),
  "worker start": claimed("terminal-2"),
};

/** Commands that run until they are stopped: what happens first. */
export const stops: Record<string, (running: Running, prepared: Prepared) => Promise<unknown>> = {
  "dibs events -f": async (running, { dibs }) => {
    await dibs.tasks.claim({ taskId: "0001", sessionId: "agent-1", register: true });
    // The first events may come before the command follows: one more each time.
    for (const at of [...Array(1000).keys()]) {
      const { task } = await dibs.tasks.create({ prompt: `Task ${at}`, maxRetries: 0 });
      await dibs.tasks.claim({ taskId: task.id, sessionId: "agent-1", register: true });
      await dibs.tasks.fail({ taskId: task.id, sessionId: "agent-1", error: "no", retryable: false });
      if (running.out.includes("failed")) return;
    }
  },
  "dibs land": (running) => running.says("landing on main"),
  "dibs serve": (running) => running.says("listening on"),
  "dibs spool --agent claude --dir ai_comms": (running) => running.says("placed"),
  "dibs sync tasks.json": (running) => running.says("Syncing"),
  "dibs work --agent": (_running, { dibs }) =>
    until("both tasks are completed", async () => {
      const { tasks } = await dibs.tasks.list({ state: ["completed"] });
      return tasks.length >= ids.length;
    }),
};

/** Tasks, files and programs that every example finds. */
export async function prepareAll({ place, dibs }: Prepared): Promise<void> {
  await dibs.tasks.create({ prompt: "Write the login page", labels: ["ui", "docs"] });
  await dibs.tasks.create({ prompt: "Write the docs", labels: ["ui"] });
  writeFileSync(join(place.cwd, "README.md"), "# Shop\n");
  place.git("add", "README.md");
  place.git("commit", "--quiet", "--message=Begin");
  writeFileSync(join(place.cwd, "README.md"), "# Shop\n\nOpen at nine.\n");
  writeFileSync(join(place.cwd, "plan.md"), "- [ ] Build the cart\n- [ ] Build the checkout\n");
  writeFileSync(join(place.cwd, "answer.md"), "teal\n");
  writeFileSync(join(place.cwd, "my-agent.sh"), "#!/bin/sh\ncat > /dev/null\necho done\n", { mode: 0o755 });
  const home = process.env.HOME!;
  for (const folder of [".zfunc", ".config/fish/completions"])
    mkdirSync(join(home, folder), { recursive: true });
  place.program("my-agent", "cat > /dev/null; echo done");
  place.program("my-planner", 'echo "- [ ] Build the cart"');
  place.program("dot", "cat");
  // `claude mcp add <name> -- <command>` starts the server; otherwise it is an agent.
  place.program(
    "claude",
    'if [ "$1" = mcp ]; then shift 4; exec "$@" < /dev/null; fi\ncat > /dev/null\necho done',
  );
}

/** Tasks that only some examples need; others would work on them. */
export const further: Record<string, Prepare> = {
  cancel: ({ dibs }) => dibs.tasks.create({ prompt: "Remove it", dependsOn: ["0001"], labels: ["old"] }),
  "leader add-task": async ({ dibs }) => {
    for (const id of ["task-001", "task-002"]) await dibs.tasks.create({ id, prompt: "Create the model" });
  },
  "spool --until-empty": ({ dibs }) => dibs.tasks.bulk({ action: "cancel", taskIds: ids }),
};

export const inShell = (line: string): string[] => ["bash", ...sh(line).slice(1)];
