// One server for all test files; each file clones its own database from a migrated template.

import type { TestProject } from "vitest/node";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { startServer } from "./server.js";
import { connectSql } from "./sql.js";

declare module "vitest" {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

export const template = "dibs_template";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  const sql = connectSql(server.url());
  await sql.query(`CREATE DATABASE ${template}`);
  await sql.end();
  await (await openPostgresStore(server.url(template), null)).close();
  project.provide("postgresUrl", server.url());
  return () => server.stop();
}
