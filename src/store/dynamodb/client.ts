// The calls of DynamoDB that the store makes, and the few ways in which they fail. Implemented over the AWS SDK
// (sdk-client.ts); in memory for tests (test/dynamodb/fake.ts). Reads are strongly consistent.

/** In the shape of the SDK's low-level client. */
export type AttributeValue = { S: string } | { N: string } | { B: Uint8Array } | { BOOL: boolean };
export type Item = Record<string, AttributeValue>;

/** Every table has these two strings as its key. */
export type Key = { PK: { S: string }; SK: { S: string } };

export const keyOf = (PK: string, SK: string): Key => ({ PK: { S: PK }, SK: { S: SK } });

/** All conditions of a write must hold for the item as it is stored. An attribute that is absent equals nothing. */
export type Condition =
  | { absent: string }
  | { present: string }
  | { attribute: string; equals: AttributeValue }
  | { attribute: string; differs: AttributeValue }
  | { attribute: string; below: AttributeValue }
  | { attribute: string; above: AttributeValue }
  | { anyOf: readonly Condition[] };

interface Conditional {
  table: string;
  conditions?: readonly Condition[];
}

export interface Put extends Conditional {
  item: Key & Item;
}

export interface Update extends Conditional {
  key: Key;
  set?: Item;
  remove?: readonly string[];
  /** Added to numbers; an absent one counts as 0. */
  add?: Readonly<Record<string, number>>;
}

export interface Delete extends Conditional {
  key: Key;
}

export interface Check extends Required<Conditional> {
  key: Key;
}

/** An item that fails its conditions is in the reasons of the cancellation. */
export type TransactWrite = { put: Put } | { update: Update } | { delete: Delete } | { check: Check };

/** When the service answered, for the correction of this process's clock. */
export interface ServiceTime {
  /** The `Date` header, in whole seconds. */
  date: number;
  /** By this process's clock. */
  sentAt: number;
  receivedAt: number;
}

export interface Answer {
  /** Absent if the service sent no date. */
  time?: ServiceTime;
}

export interface Query {
  table: string;
  partition: string;
  /** Bounds of SK, both included. */
  from?: string;
  to?: string;
  descending?: boolean;
  /** At most this many items; a page ends at 1 MB in any case. */
  limit?: number;
  /** `next` of the page before. */
  after?: Key;
  /** Only these attributes; default: all. */
  attributes?: readonly string[];
}

export interface ItemAnswer extends Answer {
  item?: Key & Item;
}

export interface QueryAnswer extends Answer {
  items: (Key & Item)[];
  /** Where the next page begins; absent: this was the last one. */
  next?: Key;
}

export interface TableKey {
  table: string;
  key: Key;
}

export interface BatchGetAnswer extends Answer {
  items: { table: string; item: Key & Item }[];
  /** To be asked for again, after a pause. */
  unprocessed: TableKey[];
}

export type BatchWrite = { table: string; put: Key & Item } | { table: string; delete: Key };

export interface BatchWriteAnswer extends Answer {
  /** To be written again, after a pause. */
  unprocessed: BatchWrite[];
}

export interface TableDefinition {
  table: string;
  /** The attribute with the second since 1970 after which an item is deleted. */
  expiresBy?: string;
}

export interface TableDescription extends Answer {
  /** Null: there is no such table. */
  status: "CREATING" | "UPDATING" | "DELETING" | "ACTIVE" | (string & {}) | null;
}

export interface DynamoClient {
  getItem(request: TableKey): Promise<ItemAnswer>;
  /** At most 100 keys, in any order. An absent item is absent from the answer; an answer ends at 16 MB. */
  batchGetItem(keys: readonly TableKey[]): Promise<BatchGetAnswer>;
  query(request: Query): Promise<QueryAnswer>;
  /** `once`: sent once; a throttled or lost put is reported and not repeated. */
  putItem(request: Put & { once?: boolean }): Promise<Answer>;
  /** The answer has the item as it is afterwards. */
  updateItem(request: Update): Promise<ItemAnswer>;
  deleteItem(request: Delete): Promise<Answer>;
  /**
   * At most 100 writes of different items and 4 MB, all or nothing. With the token of a transaction of the last ten minutes,
   * nothing is written again.
   */
  transactWriteItems(writes: readonly TransactWrite[], options?: { token?: string }): Promise<Answer>;
  /** At most 25 writes of different items, each by itself and without conditions. */
  batchWriteItem(writes: readonly BatchWrite[]): Promise<BatchWriteAnswer>;
  describeTable(table: string): Promise<TableDescription>;
  /**
   * With on-demand billing and, where the service has it, point-in-time recovery. Returns once the table can be used; fails with
   * `table-exists` if it is there.
   */
  createTable(definition: TableDefinition): Promise<Answer>;
  close(): void;
}

export type DynamoErrorKind =
  /** A condition does not hold; `item` is what is stored. */
  | "condition-failed"
  /** Nothing of the transaction was written; `reasons` has one entry per write. */
  | "transaction-cancelled"
  /** Throttled, or in conflict with a transaction under way: not written, to be tried again later. */
  | "busy"
  /** No answer, or one that leaves open whether the request was carried out. */
  | "lost"
  | "missing-table"
  | "table-exists"
  /** An item above 400 KB, or a request above its limit. */
  | "too-large"
  /** No credentials, or without permission. */
  | "denied"
  /** The client was closed. */
  | "closed"
  /** A defect of the caller. */
  | "invalid";

export interface CancellationReason {
  kind: "none" | "condition-failed" | "busy" | "too-large" | "invalid";
  /** What is stored, if a condition does not hold and there is an item. */
  item?: Key & Item;
  message?: string;
}

interface Details extends Answer {
  item?: Key & Item;
  reasons?: readonly CancellationReason[];
  cause?: unknown;
}

export class DynamoError extends Error {
  override name = "DynamoError";
  readonly item: (Key & Item) | undefined;
  readonly reasons: readonly CancellationReason[];
  readonly time: ServiceTime | undefined;

  constructor(
    readonly kind: DynamoErrorKind,
    message: string,
    { item, reasons = [], time, cause }: Details = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.item = item;
    this.reasons = reasons;
    this.time = time;
  }
}

/** Limits of the service. */
export const dynamoLimits = {
  itemBytesMax: 400 * 1024,
  transactionItemsMax: 100,
  transactionBytesMax: 4 * 1024 * 1024,
  batchGetKeysMax: 100,
  batchGetBytesMax: 16 * 1024 * 1024,
  batchWriteItemsMax: 25,
  queryBytesMax: 1024 * 1024,
};

/** The size that the service counts: names in UTF-8 and values; numbers take up to 21 bytes. */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) bytes += Buffer.byteLength(name) + valueBytes(value);
  return bytes;
}

function valueBytes(value: AttributeValue): number {
  if ("S" in value) return Buffer.byteLength(value.S);
  if ("B" in value) return value.B.byteLength;
  if ("BOOL" in value) return 1;
  return Math.ceil(value.N.replace(/[-.]/g, "").length / 2) + 1 + (value.N.startsWith("-") ? 1 : 0);
}
