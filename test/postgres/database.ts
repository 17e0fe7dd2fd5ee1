// A database of its own, for a test file.

import { randomBytes } from "node:crypto";
import { afterAll, inject } from "vitest";
import { orgTables } from "../../src/store/postgres/schema.js";
import { connectSql, type Sql } from "./sql.js";

export interface TestDatabase {
  url: string;
  /** As the superuser, past row level security. */
  admin: Sql;
  empty(): Promise<void>;
}

/** Cloned from the migrated template, or empty. */
export async function cloneDatabase({
  migrated = true,
} = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const server = inject("postgresUrl");
  const name = `t_${randomBytes(6).toString("hex")}`;
  const root = connectSql(server);
  await root.query(`CREATE DATABASE ${name} ${migrated ? "TEMPLATE dibs_template" : ""}`);
  return {
    url: server.replace(/\/[^/]*$/, `/${name}`),
    async drop() {
      await root.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await root.end();
    },
  };
}

/** Dropped when the file is done. */
export async function testDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { url, drop } = await cloneDatabase(options);
  const admin = connectSql(url, { max: 2 });
  afterAll(async () => {
    await admin.end();
    await drop();
  });
  // Each test leaves few rows: emptying the files takes fifty times as long.
  const empty = orgTables.map((table) => `DELETE FROM dibs.${table}`).join(";");
  return {
    url,
    admin,
    async empty() {
      await admin.query(empty);
    },
  };
}
