// A database of its own, for a test file.

import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, inject } from "vitest";
import { orgTables } from "../../src/store/postgres/schema.js";

export interface TestDatabase {
  url: string;
  /** As the superuser, past row level security. */
  admin: postgres.Sql;
  empty(): Promise<void>;
}

/** Cloned from the migrated template, or empty. */
export async function cloneDatabase({
  migrated = true,
} = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const server = inject("postgresUrl");
  const name = `t_${randomBytes(6).toString("hex")}`;
  const root = postgres(server, { max: 1, onnotice: () => undefined });
  await root.unsafe(`CREATE DATABASE ${name} ${migrated ? "TEMPLATE dibs_template" : ""}`);
  return {
    url: server.replace(/\/[^/]*$/, `/${name}`),
    async drop() {
      await root.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await root.end();
    },
  };
}

/** Dropped when the file is done. */
export async function testDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { url, drop } = await cloneDatabase(options);
  const admin = postgres(url, { max: 2, onnotice: () => undefined });
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
      await admin.unsafe(empty);
    },
  };
}
