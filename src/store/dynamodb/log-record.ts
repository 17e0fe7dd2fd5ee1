// A commit in the log: one item, whose put is the commit. One that is too large for an item has its body in chunks, put before it.

import { pack, partBytesMax, parts, unpack } from "./body.js";
import type { Calls, Stored } from "./calls.js";
import { type Item, type Key, keyOf } from "./client.js";
import type { TableName, Write } from "./items.js";
import { type OrgKeys, ordered } from "./keys.js";
import { expiryAttribute } from "./tables.js";

export interface LogRecord {
  version: number;
  /** Of the process and the attempt: tells whose commit it is. */
  token: string;
  mayFree: boolean;
  writes: Write[];
}

/** The rows of a record are in the tables; only its place is kept. */
export class Stub {
  constructor(
    readonly version: number,
    readonly token: string,
  ) {}
}

const prefix = "LOG#";
export const logKey = (version: number): string => prefix + ordered(version);
export const versionIn = (item: Stored): number => Number(item.SK.S.slice(prefix.length));
export const tokenIn = (item: Stored): string => (item as { token?: { S: string } }).token?.S ?? "";

const chunkPrefix = "CHUNK#";
/** All chunks of versions up to this one are before it. */
export const chunksBelow = (version: number): { from: string; to: string } => ({
  from: chunkPrefix,
  to: chunkPrefix + ordered(version + 1),
});
const chunkKey = (version: number, token: string, number: number) =>
  `${chunkPrefix}${ordered(version)}#${token}#${String(number).padStart(5, "0")}`;

type Tail = [table: TableName, partition: string, sk: string, data: string | null, expiresAt?: number];
interface Body {
  mayFree: boolean;
  writes: Tail[];
}

export interface LogItems {
  chunks: (Key & Item)[];
  item: Key & Item;
}

/** `at`: the service's time, for the restore window. */
export function itemsOfRecord(keys: OrgKeys, record: LogRecord, at: number): LogItems {
  const { version, token, mayFree, writes } = record;
  const tails = writes.map(({ table, pk, sk, data, expiresAt }): Tail => {
    const tail = pk.slice(keys.root.length);
    return expiresAt === undefined ? [table, tail, sk, data] : [table, tail, sk, data, expiresAt];
  });
  const packed = pack(JSON.stringify({ mayFree, writes: tails } satisfies Body));
  const about = {
    ...keyOf(keys.root, logKey(version)),
    token: { S: token },
    at: { N: String(at) },
  };
  if (packed.byteLength <= partBytesMax) return { chunks: [], item: { ...about, packed: { B: packed } } };
  const chunks = [...parts(packed)].map((part, number) => ({
    ...keyOf(keys.root, chunkKey(version, token, number)),
    packed: { B: part },
  }));
  return { chunks, item: { ...about, chunks: { N: String(chunks.length) } } };
}

export const stubOf = (item: Stored, expiresAt: number): Key & Item => ({
  PK: item.PK,
  SK: item.SK,
  token: { S: tokenIn(item) },
  [expiryAttribute]: { N: String(expiresAt) },
});

/** What an item of the log contains. The chunks of a record that was emptied meanwhile are gone: as if it were a stub. */
export async function recordIn(
  calls: Calls,
  keys: OrgKeys,
  table: string,
  item: Stored,
): Promise<LogRecord | Stub> {
  const { packed, chunks } = item as { packed?: { B: Uint8Array }; chunks?: { N: string } };
  const [version, token] = [versionIn(item), tokenIn(item)];
  if (packed) return decoded(keys, version, token, packed.B);
  if (!chunks) return new Stub(version, token);
  const found = await calls.all({
    table,
    partition: keys.root,
    from: chunkKey(version, token, 0),
    to: chunkKey(version, token, Number(chunks.N) - 1),
  });
  if (found.length < Number(chunks.N)) return new Stub(version, token);
  const bodies = found.map((each) => (each as unknown as { packed: { B: Uint8Array } }).packed.B);
  return decoded(keys, version, token, Buffer.concat(bodies));
}

function decoded(keys: OrgKeys, version: number, token: string, packed: Uint8Array): LogRecord {
  const { mayFree, writes } = JSON.parse(unpack(packed)) as Body;
  return {
    version,
    token,
    mayFree,
    writes: writes.map(([table, partition, sk, data, expiresAt]) => {
      const write: Write = { table, pk: keys.root + partition, sk, data };
      return expiresAt === undefined ? write : { ...write, expiresAt };
    }),
  };
}
