// The tables of a store: their names and what creates them.

import { type DynamoClient, DynamoError, type TableDefinition } from "./client.js";

export interface TableNames {
  tasks: string;
  queue: string;
  agents: string;
  counts: string;
  notifications: string;
  log: string;
}

/** `dibs-Tasks`, `dibs-Queue`, …: several stores can be in one account and region. */
export function tableNames(prefix: string): TableNames {
  return {
    tasks: `${prefix}-Tasks`,
    queue: `${prefix}-Queue`,
    agents: `${prefix}-Agents`,
    counts: `${prefix}-Counts`,
    notifications: `${prefix}-Notifications`,
    log: `${prefix}-Log`,
  };
}

/** Seconds since 1970: stubs of the log, old idempotency keys. */
export const expiryAttribute = "expiresAt";

export function tableDefinitions(prefix: string): TableDefinition[] {
  const names = tableNames(prefix);
  return Object.values(names).map((table) => ({
    table,
    ...(table === names.log && { expiresBy: expiryAttribute }),
  }));
}

/** Creates those that do not exist. False: all of them exist. */
export async function createTables(client: DynamoClient, prefix: string): Promise<boolean> {
  const missing = await missingTables(client, prefix);
  const definitions = tableDefinitions(prefix);
  await Promise.all(
    definitions.filter(({ table }) => missing.includes(table)).map((each) => createTable(client, each)),
  );
  return missing.length > 0;
}

async function createTable(client: DynamoClient, definition: TableDefinition): Promise<void> {
  try {
    await client.createTable(definition);
  } catch (error) {
    // Another process was first.
    if (!(error instanceof DynamoError) || error.kind !== "table-exists") throw error;
  }
}

export async function missingTables(client: DynamoClient, prefix: string): Promise<string[]> {
  const found = await Promise.all(
    tableDefinitions(prefix).map(async ({ table }) => ({ table, ...(await client.describeTable(table)) })),
  );
  return found.filter(({ status }) => status === null).map(({ table }) => table);
}
