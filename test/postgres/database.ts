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

/** Cloned from the migrated template, dropped when the file is done. */
export async function testDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const server = inject("postgresUrl");
  const name = `t_${randomBytes(6).toString("hex")}`;
  const root = postgres(server, { max: 1, onnotice: () => undefined });
  await root.unsafe(`CREATE DATABASE ${name} ${migrated ? "TEMPLATE dibs_template" : ""}`);
  const url = server.replace(/\/[^/]*$/, `/${name}`);
  const admin = postgres(url, { max: 2, onnotice: () => undefined });
  afterAll(async () => {
    await admin.end();
    await root.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
    await root.end();
  });
  const tables = orgTables.map((table) => `dibs.${table}`).join(", ");
  return {
    url,
    admin,
    async empty() {
      await admin.unsafe(`TRUNCATE ${tables}`);
    },
  };
}
