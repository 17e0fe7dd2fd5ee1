// What a claim costs on PostgreSQL as the store grows: 1 k and 100 k queued tasks, and 1 M queued, 1 M blocked and 5 M finished ones.
// The rows are copies of rows that Dibs itself has written, multiplied with SQL; the claims go through the library. Measured without
// any statistics, with them, and while a reader with an old snapshot keeps the server from removing dead rows.

import { loadavg } from "node:os";
import { median, openDibs, quantile, round } from "./lib.mjs";
import { connectSql, startServer, withSql } from "./pg-server.mjs";
import { claimGroup, models, nameOf } from "./scale.mjs";

/** Copies of the model task in every table that names it, with numbers and ids of their own. */
async function multiply(sql, model, count) {
  const [{ ordinal, event_seq: eventSeq }] = await sql.query("SELECT ordinal, event_seq FROM dibs.org");
  const [{ no }] = await sql.query(`SELECT no FROM dibs.task WHERE id = '${model}'`);
  const [{ events }] = await sql.query(
    `SELECT count(*)::int AS events FROM dibs.event WHERE task_no = ${no}`,
  );
  const id = `'${model}-' || lpad((${ordinal} + n)::text, 9, '0')`;
  const next = `${ordinal} + n`;
  const copied = {
    task: { where: `no = ${no}`, set: { no: next, id } },
    task_text: { where: `no = ${no}`, set: { no: next } },
    attempt: { where: `no = ${no}`, set: { no: next } },
    dependency: { where: `task_id = '${model}'`, set: { task_id: id } },
    ready: { where: `id = '${model}'`, set: { k2: next, no: next, id } },
    event: {
      where: `task_no = ${no}`,
      set: { seq: `${eventSeq} + (n - 1) * ${events} + place`, task_no: next, task_id: id },
    },
  };
  const copy = async ([table, { where, set }]) => {
    const columns = (
      await sql.query(
        `SELECT column_name FROM information_schema.columns WHERE table_schema = 'dibs' AND table_name = '${table}'`,
      )
    ).map(({ column_name: name }) => name);
    const order = table === "event" ? "seq" : "org";
    await sql.query(`WITH model AS MATERIALIZED (
        SELECT *, row_number() OVER (ORDER BY ${order}) AS place FROM dibs.${table} WHERE ${where})
      INSERT INTO dibs.${table} (${columns.join(", ")})
      SELECT ${columns.map((name) => set[name] ?? `m.${name}`).join(", ")}
      FROM generate_series(1::bigint, ${count}) AS n, LATERAL (SELECT * FROM model WHERE n > 0) m`);
  };
  await Promise.all(Object.entries(copied).map(copy));
  await sql.query(
    `UPDATE dibs.org SET ordinal = ordinal + ${count}, event_seq = event_seq + ${count} * ${events}`,
  );
}

async function fill(url, sizes) {
  await models({ url });
  const sql = connectSql(url, { max: 6 });
  // Claims only add to the event log: its indexes may be made afterwards, which is quicker. (It would tell the planner how
  // many rows there are, so not those of the other tables.)
  const indexes =
    await sql.query(`SELECT indexname AS name, indexdef AS definition, indexname LIKE '%_pkey' AS "isKey"
    FROM pg_indexes WHERE schemaname = 'dibs' AND tablename = 'event'`);
  for (const { name, isKey } of indexes) {
    await sql.query(isKey ? `ALTER TABLE dibs.event DROP CONSTRAINT ${name}` : `DROP INDEX dibs.${name}`);
  }
  for (const kind of ["finished", "blocked", "queued"]) {
    if (sizes[kind]) await multiply(sql, kind, sizes[kind]);
  }
  for (const { name, definition, isKey } of indexes) {
    await sql.query(definition);
    if (isKey) await sql.query(`ALTER TABLE dibs.event ADD PRIMARY KEY USING INDEX ${name}`);
  }
  await sql.end();
}

/** Claims and completes in turn on all stores: what a claim and a completion cost, group by group. */
async function measure(urls, groups) {
  const stores = {};
  for (const [name, url] of Object.entries(urls)) stores[name] = await openDibs({ url });
  const costs = Object.fromEntries(Object.keys(urls).map((name) => [name, []]));
  const completions = Object.fromEntries(Object.keys(urls).map((name) => [name, []]));
  for (let at = 0; at < groups + 5; at++) {
    for (const [name, dibs] of Object.entries(stores)) {
      const cost = await claimGroup(dibs, (each) => at >= 5 && completions[name].push(each));
      if (at >= 5) costs[name].push(cost);
    }
  }
  for (const dibs of Object.values(stores)) await dibs.close();
  return { costs, completions };
}

/** A transaction that has seen something and stays open, on the only connection. */
async function reader(url) {
  const sql = connectSql(url);
  await sql.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await sql.query("SELECT version FROM dibs.org");
  return async () => {
    await sql.query("COMMIT");
    await sql.end();
  };
}

const summary = (costs) =>
  Object.fromEntries(
    Object.entries(costs).map(([name, list]) => {
      const tenth = Math.ceil(list.length / 10);
      return [
        name,
        {
          p50: round(median(list), 1),
          p90: round(quantile(list, 0.9), 1),
          firstTenth: round(median(list.slice(0, tenth)), 1),
          lastTenth: round(median(list.slice(-tenth)), 1),
        },
      ];
    }),
  );

const listed = (costs) =>
  Object.values(costs)
    .map((list) => `${round(median(list), 0)} µs`)
    .join(", ");
const medians = ({ costs, completions }) => `a claim ${listed(costs)}; a completion ${listed(completions)}`;

export async function pgScale({ quick, log }) {
  const groups = quick ? 10 : 60;
  const pinnedGroups = quick ? 20 : 200;
  const million = quick ? 100_000 : 1_000_000;
  const sizes = [
    { queued: 1_000 },
    { queued: million / 10 },
    { queued: million, blocked: million, finished: 5 * million },
  ];
  // Rows are put in without any care for durability or statistics; then the server becomes as careful as it is by default.
  const server = await startServer({
    shared_buffers: "512MB",
    max_wal_size: "16GB",
    wal_level: "minimal",
    max_wal_senders: "0",
    maintenance_work_mem: "256MB",
  });
  try {
    await server.set({ fsync: "off", full_page_writes: "off", autovacuum: "off" });
    const urls = {};
    for (const [at, size] of sizes.entries()) {
      const name = nameOf(size);
      await server.create(`size_${at}`);
      urls[name] = server.url(`size_${at}`);
      const start = performance.now();
      await fill(urls[name], size);
      log(`  made: ${name} in ${round((performance.now() - start) / 1000, 1)} s`);
    }
    await server.set({ fsync: null, full_page_writes: null });
    await server.checkpoint();

    const measured = { withoutStatistics: await measure(urls, groups) };
    log(`  without statistics: ${medians(measured.withoutStatistics)}; load ${round(loadavg()[0], 1)}`);
    for (const url of Object.values(urls)) await withSql(url, (sql) => sql.query("VACUUM ANALYZE"));
    await server.set({ autovacuum: null });
    measured.withStatistics = await measure(urls, groups);
    log(`  with statistics: ${medians(measured.withStatistics)}; load ${round(loadavg()[0], 1)}`);
    const readers = [];
    for (const url of Object.values(urls)) readers.push(await reader(url));
    measured.withLongReader = await measure(urls, pinnedGroups);
    log(`  with a long reader: ${medians(measured.withLongReader)}; load ${round(loadavg()[0], 1)}`);
    for (const end of readers) await end();

    const [base, ...names] = Object.keys(urls);
    const figures = (of) =>
      Object.fromEntries(Object.entries(measured).map(([kind, lists]) => [kind, summary(lists[of])]));
    const ratio = (kind, name) =>
      round(median(measured[kind].costs[name]) / median(measured[kind].costs[base]));
    return {
      microsecondsPerClaim: figures("costs"),
      microsecondsPerCompletion: figures("completions"),
      withoutToWithStatistics: Object.fromEntries(
        [base, ...names].map((name) => [
          name,
          round(median(measured.withoutStatistics.costs[name]) / median(measured.withStatistics.costs[name])),
        ]),
      ),
      claimsUnderLongReader: (pinnedGroups + 5) * 32,
      checks: ["withStatistics", "withoutStatistics"].flatMap((kind) =>
        names.map((name) => ({
          name: `cost of a claim, ${kind === "withStatistics" ? "with" : "without"} statistics: ${name} / ${base}`,
          ratio: ratio(kind, name),
          atMost: 1.5,
        })),
      ),
    };
  } finally {
    await server.stop();
  }
}
