// What a claim costs as the store grows: 1 k, 100 k and 1 M queued tasks, 1 M blocked and 1 M finished beside 1 M queued, and
// 1 M queued that use ten resources in a hundred combinations, with two of the resources held.
// The rows are copies of rows that Dibs itself has written, multiplied with SQL; the claims go through the library.

import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { median, openDibs, quantile, registerWorkers, remove, round, temporaryDirectory } from "./lib.mjs";

const workers = 32;

const resourceCount = 10;
const resourceIds = Array.from({ length: resourceCount }, (_, at) => `resource-${at}`);
const heldCount = 2;
/** Each is a lane of the queue: one, two or three resources, all different. */
const combinations = resourceIds
  .flatMap((one, a) =>
    resourceIds.slice(a).flatMap((two, b) => resourceIds.slice(a + b).map((three) => [one, two, three])),
  )
  .map((ids) => [...new Set(ids)])
  .filter((ids, at, all) => all.findIndex((other) => other.join() === ids.join()) === at)
  .slice(0, 100);
const usesOf = (ids) => Object.fromEntries(ids.map((id) => [id, 1]));
/** What can be claimed while the others are held. */
const claimable = combinations.filter((ids) => !ids.some((id) => resourceIds.indexOf(id) < heldCount));

async function withResources(path) {
  const dibs = await openDibs({ path });
  for (const id of resourceIds) await dibs.resources.set({ id, capacity: 1000 });
  const tasks = combinations.map((ids, at) => ({ id: `use-${at}`, prompt: "queued", uses: usesOf(ids) }));
  await dibs.tasks.batch({ tasks });
  for (const id of resourceIds.slice(0, heldCount)) await dibs.resources.hold({ id });
  await dibs.close();
}

/** A store with one queued, one blocked and one finished task. */
export async function models(place) {
  const dibs = await openDibs(place);
  await dibs.tasks.create({ id: "finished", prompt: "finished" });
  await dibs.sessions.register({ id: "s" });
  const { claim } = await dibs.tasks.claimNext({ sessionId: "s" });
  await dibs.tasks.complete({ taskId: claim.taskId, sessionId: "s", epoch: claim.epoch, result: "done" });
  await dibs.tasks.create({ id: "gate", prompt: "gate", priority: 0 });
  await dibs.tasks.create({ id: "blocked", prompt: "blocked", dependsOn: ["gate"] });
  await dibs.tasks.create({ id: "queued", prompt: "queued" });
  await registerWorkers(dibs, workers, { capacity: 1000 });
  await dibs.close();
}

/** Multiplies the model task: every table that names it gets `count` copies with their own ids. */
function multiply(db, model, count, from) {
  db.exec("BEGIN");
  const isModel = `no = (SELECT no FROM task WHERE id = '${model}')`;
  for (const [table, column, where] of [
    ["task_text", null, isModel],
    ["attempt", null, isModel],
    ["dependency", "task_id", `task_id = '${model}'`],
    ["ready", "id", `id = '${model}'`],
    ["task", "id", `id = '${model}'`],
  ]) {
    const columns = db
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'row'`)
      .all()
      .map(({ name }) => name);
    const copied = columns.map((name) => {
      if (name === column) return `printf('${model}-%09d', n)`;
      if (name === "no" || (table === "ready" && name === "k2")) return `${name} + n`;
      return name;
    });
    db.exec(`WITH RECURSIVE numbers(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${from + count - 1})
      INSERT INTO ${table} (${columns.join(", ")}) SELECT ${copied.join(", ")} FROM ${table}, numbers WHERE ${where}`);
  }
  db.exec(`UPDATE org SET ordinal = ordinal + ${count}`);
  db.exec("COMMIT");
}

async function storeWith({ queued, blocked = 0, finished = 0 }, isUsing = false) {
  const directory = temporaryDirectory();
  const file = join(directory, "dibs.db");
  await models({ path: file });
  if (isUsing) await withResources(file);
  const db = new DatabaseSync(file);
  db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144");
  if (finished > 0) multiply(db, "finished", finished, 10);
  if (blocked > 0) multiply(db, "blocked", blocked, 10_000_000);
  if (isUsing) {
    const each = queued / combinations.length;
    for (const at of combinations.keys()) multiply(db, `use-${at}`, each, 20_000_000 + at * each);
  } else multiply(db, "queued", queued, 20_000_000);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return { directory, dibs: await openDibs({ path: file }) };
}

let made = 0;

/**
 * Claims with all workers at once, and measures; then completes them and puts as many new ones in their place. Answers what a
 * claim costs; `completed` is told what a completion does.
 */
export async function claimGroup(dibs, completed = () => undefined, more = () => ({})) {
  const start = performance.now();
  const claimed = await Promise.all(
    Array.from({ length: workers }, (_, index) => dibs.tasks.claimNext({ sessionId: `worker-${index}` })),
  );
  const cost = ((performance.now() - start) * 1000) / workers;
  const claimedAt = performance.now();
  await Promise.all(
    claimed.map(({ claim: { taskId, sessionId, epoch } }) =>
      dibs.tasks.complete({ taskId, sessionId, epoch }),
    ),
  );
  completed(((performance.now() - claimedAt) * 1000) / workers);
  await dibs.tasks.batch({
    tasks: claimed.map(() => ({ id: `again-${made++}`, prompt: "one more", ...more() })),
  });
  return cost;
}

export const nameOf = (size) =>
  Object.entries(size)
    .map(([kind, count]) => `${count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1_000} k`} ${kind}`)
    .join(", ");

export async function scale({ quick, log }) {
  const groups = quick ? 20 : 120;
  const million = quick ? 50_000 : 1_000_000;
  const sizes = Object.fromEntries(
    [
      { queued: 1_000 },
      { queued: quick ? 10_000 : 100_000 },
      { queued: million },
      { queued: million, blocked: million, finished: million },
    ].map((size) => [nameOf(size), size]),
  );
  const stores = {};
  for (const [name, size] of Object.entries(sizes)) {
    stores[name] = await storeWith(size);
    log(`  made: ${name}`);
  }
  const using = `${nameOf({ queued: million })}, 10 resources in 100 combinations, 2 held`;
  stores[using] = await storeWith({ queued: million }, true);
  log(`  made: ${using}`);
  const anyUses = () => ({ uses: usesOf(claimable[made % claimable.length]) });
  const costs = Object.fromEntries(Object.keys(stores).map((name) => [name, []]));
  for (let at = 0; at < groups + 5; at++) {
    for (const [name, { dibs }] of Object.entries(stores)) {
      const cost = await claimGroup(dibs, undefined, name === using ? anyUses : undefined);
      if (at >= 5) costs[name].push(cost);
    }
  }
  for (const { dibs, directory } of Object.values(stores)) {
    await dibs.close();
    remove(directory);
  }
  const names = Object.keys(stores);
  const base = median(costs[names[0]]);
  return {
    microsecondsPerClaim: Object.fromEntries(
      names.map((name) => [
        name,
        { p50: round(median(costs[name]), 1), p90: round(quantile(costs[name], 0.9), 1) },
      ]),
    ),
    checks: names.slice(1).map((name) => ({
      name: `cost of a claim: ${name} / ${names[0]}`,
      ratio: round(median(costs[name]) / base),
      atMost: 1.5,
    })),
  };
}
