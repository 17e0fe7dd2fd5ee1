// Many tenants at once: 200 orgs with one worker each, in one process, over one store on PostgreSQL. Commits of different orgs do
// not wait for each other, but nothing can be grouped either: every claim and every completion is a commit of its own.

import { loadavg } from "node:os";
import { environment } from "../dist/compose.js";
import { dispatch } from "../dist/operations/dispatch.js";
import { Executor } from "../dist/operations/execute.js";
import { groupCommits } from "../dist/store/grouped.js";
import { openPostgresStore } from "../dist/store/postgres/store.js";
import { median, round, seconds } from "./lib.mjs";
import { startServer, withSql } from "./pg-server.mjs";

const orgs = 200;
const sessionId = "worker";

/** What `openDibs` puts together, but for many orgs over one store. */
async function open(url) {
  const store = await openPostgresStore(url, null);
  const commits = groupCommits(store);
  const executor = new Executor(store, (org, job) => commits.submit(org, job), environment);
  const callers = [];
  for (let at = 0; at < orgs; at++) {
    const org = `org-${at}`;
    const project = await store.open(org, "default");
    callers.push({ org, project, actor: "user:bench", role: "admin", process: null });
  }
  return {
    callers,
    call: (caller, name, input) => dispatch(executor, name, input, caller, { signals: [] }),
    async close() {
      await commits.close();
      await store.close();
    },
  };
}

async function prepare(url, tasks) {
  const { callers, call, close } = await open(url);
  await Promise.all(
    callers.map(async (caller) => {
      await call(caller, "tasks.batch", {
        tasks: Array.from({ length: tasks }, (_, index) => ({
          id: `task-${index}`,
          prompt: `task number ${index}`,
        })),
      });
      await call(caller, "sessions.register", { id: sessionId });
    }),
  );
  await close();
}

async function perSecond(url) {
  const { callers, call, close } = await open(url);
  let cycles = 0;
  const elapsed = await seconds(() =>
    Promise.all(
      callers.map(async (caller) => {
        for (;;) {
          const { claim } = await call(caller, "tasks.claimNext", { sessionId });
          if (!claim) return;
          const { taskId, epoch } = claim;
          await call(caller, "tasks.complete", { taskId, sessionId, epoch, result: "done" });
          cycles++;
        }
      }),
    ),
  );
  await close();
  return cycles / elapsed;
}

export async function pgOrgs({ quick, log }) {
  const tasks = quick ? 10 : 50;
  const rounds = quick ? 2 : 5;
  const server = await startServer();
  try {
    await server.create("orgs");
    await prepare(server.url("orgs"), tasks);
    await withSql(server.url("orgs"), (sql) => sql.query("VACUUM ANALYZE"));
    const rates = [];
    for (let at = 0; at < rounds; at++) {
      const url = await server.clone("round", "orgs");
      rates.push(await perSecond(url));
      const [{ left }] = await withSql(url, (sql) =>
        sql.query("SELECT count(*)::int AS left FROM dibs.task WHERE state <> 'completed'"),
      );
      if (left !== 0) throw new Error(`${left} tasks were left`);
      await server.drop("round");
      log(`  round ${at + 1}: ${round(rates[at], 0)}/s; load ${round(loadavg()[0], 1)}`);
    }
    return { orgs, tasksPerOrg: tasks, cyclesPerSecond: round(median(rates), 0), checks: [] };
  } finally {
    await server.stop();
  }
}
