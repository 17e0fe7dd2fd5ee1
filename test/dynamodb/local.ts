// Stores on DynamoDB Local for tests.

import { inject } from "vitest";
import { settingsFrom } from "../../src/store/dynamodb/address.js";
import type { DynamoClient } from "../../src/store/dynamodb/client.js";
import { connectSdk } from "../../src/store/dynamodb/sdk-client.js";
import { createTables } from "../../src/store/dynamodb/tables.js";

const endpoint = inject("dynamoEndpoint");

/** For `describe.skipIf`: the global setup has said why. */
export const hasNoLocal = endpoint === null;

let count = 0;

/** The address of a store that does not exist yet. */
export function newAddress(): string {
  const prefix = `t${process.pid}-${++count}-${Math.random().toString(36).slice(2, 8)}`;
  return `dynamodb://eu-west-1/${prefix}?endpoint=${endpoint}`;
}

export const connectTo = (address: string): Promise<DynamoClient> => connectSdk(settingsFrom(address));

/** The address of a store whose tables exist. */
export async function newTables(): Promise<string> {
  const address = newAddress();
  const client = await connectTo(address);
  try {
    await createTables(client, settingsFrom(address).prefix);
  } finally {
    client.close();
  }
  return address;
}
