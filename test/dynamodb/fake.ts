// DynamoDB in memory, as far as the store uses it: conditions, transactions, limits and pages as the service has them. The same
// tests run over it and over DynamoDB Local (client.test.ts).

import {
  type Answer,
  type AttributeValue,
  type BatchWrite,
  type CancellationReason,
  type Condition,
  type DynamoClient,
  DynamoError,
  dynamoLimits,
  type Item,
  itemBytes,
  type Key,
  type Query,
  type QueryAnswer,
  type TableDefinition,
  type TransactWrite,
  type Update,
} from "../../src/store/dynamodb/client.js";

type Row = Key & Item;

interface Write {
  table: string;
  key: Key;
  conditions: readonly Condition[];
  /** The item afterwards; `undefined` deletes it; a check leaves it as it is. */
  next(old: Row | undefined): Row | undefined;
}

const tokenMs = 600_000;

export interface FakeOptions {
  /** Of the service. */
  clock?: () => number;
}

/** The service. Its clients are the processes. */
export class FakeDynamo {
  private readonly tables = new Map<string, Table>();
  private readonly tokens = new Map<string, { request: string; at: number }>();
  private readonly clock: () => number;

  constructor({ clock = Date.now }: FakeOptions = {}) {
    this.clock = clock;
  }

  /** `clock`: of the process. */
  client(clock: () => number = Date.now): DynamoClient {
    let isClosed = false;
    const answer = async <T extends object>(work: () => T): Promise<T & Answer> => {
      if (isClosed) throw new DynamoError("closed", "The connection to DynamoDB was closed.");
      const sentAt = clock();
      await new Promise((resolve) => setImmediate(resolve));
      // The header has whole seconds.
      const date = Math.floor(this.clock() / 1_000) * 1_000;
      const time = { date, sentAt, receivedAt: clock() };
      try {
        return { ...work(), time };
      } catch (error) {
        if (!(error instanceof DynamoError)) throw error;
        const { kind, message, item, reasons } = error;
        throw new DynamoError(kind, message, { reasons, time, ...(item && { item }) });
      }
    };
    return {
      getItem: ({ table, key }) =>
        answer(() => {
          const item = this.table(table).get(key);
          return item ? { item: copyOf(item) } : {};
        }),
      batchGetItem: (keys) => answer(() => this.batchGet(keys)),
      query: (query) => answer(() => this.query(query)),
      putItem: ({ once: _, ...put }) => answer(() => this.done(putOf(put))),
      updateItem: (update) => answer(() => ({ item: copyOf(this.write(updateOf(update))!) })),
      deleteItem: (request) => answer(() => this.done(deleteOf(request))),
      transactWriteItems: (writes, { token } = {}) => answer(() => this.transact(writes, token)),
      batchWriteItem: (writes) => answer(() => this.batchWrite(writes)),
      describeTable: (table) => answer(() => ({ status: this.tables.has(table) ? "ACTIVE" : null })),
      createTable: (definition) => answer(() => this.create(definition)),
      close: () => {
        isClosed = true;
      },
    };
  }

  /** All items of a table, by key. */
  contents(table: string): Row[] {
    return this.table(table).all().map(copyOf);
  }

  /** As after a restore. */
  restore(table: string, items: readonly Row[]): void {
    const restored = new Table(this.table(table).definition);
    for (const item of items) restored.set(keyOf(item), copyOf(item));
    this.tables.set(table, restored);
  }

  dropTable(table: string): void {
    this.tables.delete(table);
  }

  /** The service deletes expired items at some time. */
  expire(): void {
    const now = this.clock() / 1_000;
    for (const table of this.tables.values()) {
      const { expiresBy } = table.definition;
      if (expiresBy === undefined) continue;
      for (const item of table.all()) {
        const at = item[expiresBy];
        if (at && "N" in at && Number(at.N) < now) table.set(keyOf(item), undefined);
      }
    }
  }

  private table(name: string): Table {
    const table = this.tables.get(name);
    if (!table) throw new DynamoError("missing-table", `Requested resource not found: Table: ${name}`);
    return table;
  }

  private create(definition: TableDefinition): object {
    const { table } = definition;
    if (this.tables.has(table)) throw new DynamoError("table-exists", `Table already exists: ${table}`);
    this.tables.set(table, new Table(definition));
    return {};
  }

  private batchGet(keys: readonly { table: string; key: Key }[]) {
    refuseCount(keys.length, dynamoLimits.batchGetKeysMax);
    refuseRepeated(keys);
    const items: { table: string; item: Row }[] = [];
    let bytes = 0;
    for (const [index, { table, key }] of keys.entries()) {
      const item = this.table(table).get(key);
      if (!item) continue;
      bytes += itemBytes(item);
      if (bytes > dynamoLimits.batchGetBytesMax) return { items, unprocessed: keys.slice(index) };
      items.push({ table, item: copyOf(item) });
    }
    return { items, unprocessed: [] };
  }

  private query({ table, partition, from, to, descending, limit, after, attributes }: Query): QueryAnswer {
    if (partition === "" || limit === 0) throw new DynamoError("invalid", "One or more values are invalid.");
    const found = this.table(table).range(partition, { from, to });
    if (descending) found.reverse();
    const items: Row[] = [];
    let bytes = 0;
    for (const item of found) {
      if (after && !isBeyond(item.SK.S, after.SK.S, descending)) continue;
      bytes += itemBytes(item);
      items.push(attributes ? projected(item, attributes) : copyOf(item));
      if (items.length === limit || bytes >= dynamoLimits.queryBytesMax) return { items, next: keyOf(item) };
    }
    return { items };
  }

  private done(write: Write): object {
    this.write(write);
    return {};
  }

  private write(write: Write): Row | undefined {
    const table = this.table(write.table);
    const old = table.get(write.key);
    if (!write.conditions.every((condition) => holds(condition, old))) {
      throw new DynamoError("condition-failed", "The conditional request failed", {
        ...(old && { item: copyOf(old) }),
      });
    }
    const next = checked(write.next(old));
    table.set(write.key, next);
    return next;
  }

  private transact(writes: readonly TransactWrite[], token?: string): object {
    refuseCount(writes.length, dynamoLimits.transactionItemsMax);
    const all = writes.map(writeOf);
    refuseRepeated(all);
    const request = JSON.stringify(writes, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
    );
    const known = token === undefined ? undefined : this.tokens.get(token);
    if (known && known.at > this.clock() - tokenMs) {
      if (known.request !== request)
        throw new DynamoError("invalid", "The token was used for another request");
      return {};
    }
    const results = all.map((write) => this.attempt(write));
    if (results.some(({ reason }) => reason.kind !== "none")) {
      const reasons = results.map(({ reason }) => reason);
      throw new DynamoError("transaction-cancelled", "Transaction cancelled", { reasons });
    }
    const bytes = results.reduce((sum, { next }) => sum + (next ? itemBytes(next) : 0), 0);
    if (bytes > dynamoLimits.transactionBytesMax) {
      throw new DynamoError("too-large", "Items in the transaction can not exceed 4MB");
    }
    for (const [index, { table, key }] of all.entries()) this.table(table).set(key, results[index]!.next);
    if (token !== undefined) this.tokens.set(token, { request, at: this.clock() });
    return {};
  }

  private attempt({ table, key, conditions, next }: Write): { reason: CancellationReason; next?: Row } {
    const old = this.table(table).get(key);
    if (!conditions.every((condition) => holds(condition, old))) {
      return { reason: { kind: "condition-failed", ...(old && { item: copyOf(old) }) } };
    }
    try {
      const row = checked(next(old));
      return { reason: { kind: "none" }, ...(row && { next: row }) };
    } catch (error) {
      const { kind, message } = error as DynamoError;
      // Items that are too large by themselves are found before the transaction begins.
      if (kind !== "too-large" || old === undefined) throw error;
      return { reason: { kind, message } };
    }
  }

  private batchWrite(writes: readonly BatchWrite[]) {
    refuseCount(writes.length, dynamoLimits.batchWriteItemsMax);
    const all = writes.map((write) =>
      "put" in write ? putOf({ ...write, item: write.put }) : deleteOf({ ...write, key: write.delete }),
    );
    refuseRepeated(all);
    for (const write of all) checked(write.next(undefined));
    for (const write of all) this.write(write);
    return { unprocessed: [] };
  }
}

/** Items in the order of their keys. */
class Table {
  private readonly partitions = new Map<string, Row[]>();

  constructor(readonly definition: TableDefinition) {}

  get({ PK, SK }: Key): Row | undefined {
    const items = this.partitions.get(PK.S) ?? [];
    const item = items[placeOf(items, SK.S)];
    return item?.SK.S === SK.S ? item : undefined;
  }

  set({ PK, SK }: Key, item: Row | undefined): void {
    const items = this.partitions.get(PK.S) ?? [];
    this.partitions.set(PK.S, items);
    const place = placeOf(items, SK.S);
    const isThere = items[place]?.SK.S === SK.S;
    items.splice(place, isThere ? 1 : 0, ...(item ? [item] : []));
    if (items.length === 0) this.partitions.delete(PK.S);
  }

  range(partition: string, { from, to }: { from: string | undefined; to: string | undefined }): Row[] {
    const items = this.partitions.get(partition) ?? [];
    const start = from === undefined ? 0 : placeOf(items, from);
    const rest = items.slice(start);
    if (to === undefined) return rest;
    const end = rest.findIndex(({ SK }) => compare(SK.S, to) > 0);
    return end === -1 ? rest : rest.slice(0, end);
  }

  all(): Row[] {
    return [...this.partitions.values()].flat();
  }
}

/** The first item that is not before the key. */
function placeOf(items: readonly Row[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(items[middle]!.SK.S, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Keys are in the order of their bytes in UTF-8; JavaScript compares UTF-16. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return /[\ud800-\udfff]/.test(a + b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : a < b ? -1 : 1;
}

const isBeyond = (key: string, after: string, descending = false) =>
  descending ? compare(key, after) < 0 : compare(key, after) > 0;

const keyOf = ({ PK, SK }: Row): Key => ({ PK: { S: PK.S }, SK: { S: SK.S } });

function copyOf(item: Row): Row {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, "B" in value ? { B: value.B.slice() } : { ...value }]),
  ) as Row;
}

function projected(item: Row, attributes: readonly string[]): Row {
  const wanted = new Set(attributes);
  return Object.fromEntries(Object.entries(copyOf(item)).filter(([name]) => wanted.has(name))) as Row;
}

function putOf(put: { table: string; item: Row; conditions?: readonly Condition[] }): Write {
  const { table, item, conditions = [] } = put;
  return { table, key: keyOf(item), conditions, next: () => normal(item) };
}

function deleteOf(request: { table: string; key: Key; conditions?: readonly Condition[] }): Write {
  const { table, key, conditions = [] } = request;
  return { table, key, conditions, next: () => undefined };
}

function updateOf({ table, key, conditions = [], set = {}, remove = [], add = {} }: Update): Write {
  const changed = [...Object.keys(set), ...remove, ...Object.keys(add)];
  if (changed.some((name) => name === "PK" || name === "SK")) {
    throw new DynamoError("invalid", "Cannot update an attribute of the key");
  }
  if (new Set(changed).size < changed.length)
    throw new DynamoError("invalid", "Two changes of one attribute");
  const next = (old: Row | undefined) => {
    const item = { ...(old ?? key), ...normal(set) } as Row;
    for (const name of remove) delete item[name];
    for (const [name, by] of Object.entries(add)) {
      const now = item[name] ?? { N: "0" };
      if (!("N" in now)) throw new DynamoError("invalid", "ADD needs a number");
      item[name] = { N: numberOf(String(Number(now.N) + by)) };
    }
    return item;
  };
  return { table, key, conditions, next };
}

function writeOf(write: TransactWrite): Write {
  if ("put" in write) return putOf(write.put);
  if ("update" in write) return updateOf(write.update);
  if ("delete" in write) return deleteOf(write.delete);
  const { table, key, conditions } = write.check;
  return { table, key, conditions, next: (old) => old };
}

function normal<T extends Item>(item: T): T {
  const values = Object.entries(item).map(([name, value]): [string, AttributeValue] => {
    if ("B" in value) return [name, { B: Uint8Array.from(value.B) }];
    return [name, "N" in value ? { N: numberOf(value.N) } : { ...value }];
  });
  return Object.fromEntries(values) as T;
}

function numberOf(text: string): string {
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) || text.replace(/\D/g, "").length > 38) {
    throw new DynamoError("invalid", `The parameter cannot be converted to a numeric value: ${text}`);
  }
  return /^-?\d+$/.test(text) ? String(BigInt(text)) : String(Number(text));
}

function checked(item: Row | undefined): Row | undefined {
  if (item === undefined) return undefined;
  if (item.PK.S === "" || item.SK.S === "") throw new DynamoError("invalid", "A key must not be empty");
  if (itemBytes(item) > dynamoLimits.itemBytesMax) {
    throw new DynamoError("too-large", "Item size has exceeded the maximum allowed size");
  }
  return item;
}

function refuseCount(count: number, countMax: number): void {
  if (count === 0 || count > countMax) {
    throw new DynamoError("invalid", `A request must have 1 to ${countMax} members, not ${count}`);
  }
}

function refuseRepeated(requests: readonly { table: string; key: Key }[]): void {
  const keys = new Set(requests.map(({ table, key }) => JSON.stringify([table, key.PK.S, key.SK.S])));
  if (keys.size < requests.length) throw new DynamoError("invalid", "Two requests name one item");
}

function holds(condition: Condition, item: Row | undefined): boolean {
  if ("absent" in condition) return item?.[condition.absent] === undefined;
  if ("present" in condition) return item?.[condition.present] !== undefined;
  if ("anyOf" in condition) return condition.anyOf.some((each) => holds(each, item));
  const stored = item?.[condition.attribute];
  if ("differs" in condition) return order(stored, condition.differs) !== 0;
  if ("equals" in condition) return order(stored, condition.equals) === 0;
  const found = order(stored, "below" in condition ? condition.below : condition.above);
  return found !== null && ("below" in condition ? found < 0 : found > 0);
}

/** Null: values of different types, or no value. */
function order(stored: AttributeValue | undefined, value: AttributeValue): number | null {
  if (stored === undefined) return null;
  if ("S" in stored && "S" in value) return compare(stored.S, value.S);
  if ("B" in stored && "B" in value) return Buffer.compare(stored.B, value.B);
  if ("N" in stored && "N" in value) return Number(stored.N) - Number(value.N);
  if ("BOOL" in stored && "BOOL" in value) return Number(stored.BOOL) - Number(value.BOOL);
  return null;
}
