// Opens the store that an address names. Its tables must exist.

import { type Clock, type Store, StoreError } from "../store.js";
import { type Settings, settingsFrom } from "./address.js";
import type { DynamoClient } from "./client.js";
import { translate } from "./errors.js";
import { type Replay, replayLog } from "./replay.js";
import { connectSdk } from "./sdk-client.js";
import { openDynamoStore } from "./store.js";
import { createTables, missingTables, tableDefinitions } from "./tables.js";

/** Creates nothing: tables cost money, and servers have no permission to create them. */
export async function openDynamoStoreAt(address: string, clock: Clock | null): Promise<Store> {
  const settings = settingsFrom(address);
  const client = await connectSdk(settings);
  try {
    await refuseMissing(client, settings);
    return await openDynamoStore(client, { prefix: settings.prefix, location: settings.where, clock });
  } catch (error) {
    client.close();
    throw translate(error, settings.where);
  }
}

/** False: all of them exist. */
export async function createDynamoTables(address: string): Promise<boolean> {
  const settings = settingsFrom(address);
  const client = await connectSdk(settings);
  try {
    return await createTables(client, settings.prefix);
  } catch (error) {
    throw translate(error, settings.where);
  } finally {
    client.close();
  }
}

/** Returns how many commits are brought into restored tables again. */
export async function replayDynamoLog(address: string, replay: Replay): Promise<number> {
  const settings = settingsFrom(address);
  const client = await connectSdk(settings);
  try {
    await refuseMissing(client, settings);
    return await replayLog(client, settings, replay);
  } catch (error) {
    throw translate(error, settings.where);
  } finally {
    client.close();
  }
}

async function refuseMissing(client: DynamoClient, { prefix, where }: Settings): Promise<void> {
  const missing = await missingTables(client, prefix);
  if (missing.length === 0) return;
  const isNew = missing.length === tableDefinitions(prefix).length;
  throw new StoreError(
    "STORE_NOT_FOUND",
    isNew ? `No Dibs store in ${where}.` : `${where} lacks the tables ${missing.join(", ")}.`,
    `Check the address and the region. To create the tables, run: dibs db create "${where}"`,
  );
}
