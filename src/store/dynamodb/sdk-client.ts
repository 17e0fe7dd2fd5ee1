// The calls of the store over the AWS SDK, which is loaded when a store on DynamoDB is opened.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { retry } from "../../common/retry.js";
import { StoreError } from "../store.js";
import { isLocal, type Settings } from "./address.js";
import { pauseAfter } from "./calls.js";
import {
  type Answer,
  type BatchWrite,
  type DynamoClient,
  DynamoError,
  type Key,
  type Query,
  type ServiceTime,
  type TableDefinition,
  type TableDescription,
  type TransactWrite,
  type Update,
} from "./client.js";
import { Expression } from "./expression.js";
import { asDynamoError } from "./sdk-errors.js";
import { bareKey, conditional, grouped, itemOf, transactItem, updateOf } from "./sdk-requests.js";

type Sdk = typeof import("@aws-sdk/client-dynamodb");

const packageName = "@aws-sdk/client-dynamodb";
const attemptsMax = 5;
const connectMsMax = 5_000;
const answerMsMax = 15_000;
const socketsMax = 128;
const tableMsMax = 120_000;

export async function connectSdk(settings: Settings): Promise<DynamoClient> {
  const sdk = await loadSdk();
  const common = {
    region: settings.region,
    ...(settings.endpoint !== null && { endpoint: settings.endpoint }),
    ...(isLocal(settings) && !process.env.AWS_ACCESS_KEY_ID && { credentials: localCredentials }),
  };
  const agent = { keepAlive: true, maxSockets: socketsMax };
  const patient = new sdk.DynamoDBClient({
    ...common,
    maxAttempts: attemptsMax,
    requestHandler: {
      connectionTimeout: connectMsMax,
      requestTimeout: answerMsMax,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  const { requestHandler } = patient.config;
  const single = new sdk.DynamoDBClient({ ...common, maxAttempts: 1, requestHandler });
  return new SdkClient(sdk, { patient, single });
}

/** DynamoDB Local keeps the tables of each access key apart. */
const localCredentials = { accessKeyId: "dibs", secretAccessKey: "dibs" };

async function loadSdk(): Promise<Sdk> {
  // The SDK warns on the standard error of every command that this version of Node is old.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  try {
    return await import("@aws-sdk/client-dynamodb");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = /MODULE_NOT_FOUND$/.test(code ?? "") && message.includes(packageName);
    if (!isMissing) throw error;
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `A store on DynamoDB needs the package ${packageName}, which is not installed.`,
      `Run: npm install ${packageName} (with --global if dibs is installed globally)`,
    );
  }
}

class SdkClient implements DynamoClient {
  private readonly times = new WeakMap<object, ServiceTime>();
  private isClosed = false;

  constructor(
    private readonly sdk: Sdk,
    private readonly clients: { patient: DynamoDBClient; single: DynamoDBClient },
  ) {
    noteTimes(clients.patient, this.times);
    noteTimes(clients.single, this.times);
  }

  getItem({ table, key }: { table: string; key: Key }) {
    const command = new this.sdk.GetItemCommand({
      TableName: table,
      Key: bareKey(key),
      ConsistentRead: true,
    });
    return this.send(
      (client) => client.send(command),
      ({ Item }) => ({
        ...(Item && { item: itemOf(Item) }),
      }),
    );
  }

  batchGetItem(keys: readonly { table: string; key: Key }[]) {
    const tables = Object.entries(grouped(keys, ({ key }) => bareKey(key)));
    const command = new this.sdk.BatchGetItemCommand({
      RequestItems: Object.fromEntries(
        tables.map(([table, Keys]) => [table, { Keys, ConsistentRead: true }]),
      ),
    });
    return this.send(
      (client) => client.send(command),
      ({ Responses, UnprocessedKeys }) => ({
        items: Object.entries(Responses ?? {}).flatMap(([table, items]) =>
          items.map((item) => ({ table, item: itemOf(item) })),
        ),
        unprocessed: Object.entries(UnprocessedKeys ?? {}).flatMap(([table, { Keys }]) =>
          (Keys ?? []).map((key) => ({ table, key: itemOf(key) as Key })),
        ),
      }),
    );
  }

  query(query: Query) {
    const expression = new Expression();
    const command = new this.sdk.QueryCommand({
      TableName: query.table,
      KeyConditionExpression: expression.range(query),
      ...(query.attributes && { ProjectionExpression: expression.names(query.attributes) }),
      ...expression.placeholders(),
      ScanIndexForward: query.descending !== true,
      ...(query.limit !== undefined && { Limit: query.limit }),
      ...(query.after && { ExclusiveStartKey: bareKey(query.after) }),
      ConsistentRead: true,
    });
    return this.send(
      (client) => client.send(command),
      ({ Items, LastEvaluatedKey }) => ({
        items: (Items ?? []).map(itemOf),
        ...(LastEvaluatedKey && { next: itemOf(LastEvaluatedKey) as Key }),
      }),
    );
  }

  putItem({ table, item, conditions, once }: Parameters<DynamoClient["putItem"]>[0]) {
    const command = new this.sdk.PutItemCommand({
      TableName: table,
      Item: item,
      ...conditional(conditions),
    });
    return this.send((client) => client.send(command), nothing, once);
  }

  updateItem(update: Update) {
    const command = new this.sdk.UpdateItemCommand({
      ...updateOf(update),
      ReturnValues: "ALL_NEW",
    });
    return this.send(
      (client) => client.send(command),
      ({ Attributes }) => ({
        ...(Attributes && { item: itemOf(Attributes) }),
      }),
    );
  }

  deleteItem({ table, key, conditions }: Parameters<DynamoClient["deleteItem"]>[0]) {
    const command = new this.sdk.DeleteItemCommand({
      TableName: table,
      Key: bareKey(key),
      ...conditional(conditions),
    });
    return this.send((client) => client.send(command), nothing);
  }

  transactWriteItems(writes: readonly TransactWrite[], { token }: { token?: string } = {}) {
    const command = new this.sdk.TransactWriteItemsCommand({
      TransactItems: writes.map(transactItem),
      ...(token !== undefined && { ClientRequestToken: token }),
    });
    return this.send((client) => client.send(command), nothing);
  }

  batchWriteItem(writes: readonly BatchWrite[]) {
    const tables = grouped(writes, (write) =>
      "put" in write
        ? { PutRequest: { Item: write.put } }
        : { DeleteRequest: { Key: bareKey(write.delete) } },
    );
    const command = new this.sdk.BatchWriteItemCommand({
      RequestItems: tables,
    });
    return this.send(
      (client) => client.send(command),
      ({ UnprocessedItems }) => ({
        unprocessed: Object.entries(UnprocessedItems ?? {}).flatMap(([table, requests]) =>
          requests.map(
            ({ PutRequest, DeleteRequest }): BatchWrite =>
              PutRequest
                ? { table, put: itemOf(PutRequest.Item!) }
                : { table, delete: itemOf(DeleteRequest!.Key!) as Key },
          ),
        ),
      }),
    );
  }

  async describeTable(table: string): Promise<TableDescription> {
    try {
      const command = new this.sdk.DescribeTableCommand({ TableName: table });
      return await this.send(
        (client) => client.send(command),
        ({ Table }) => ({ status: Table?.TableStatus ?? null }),
      );
    } catch (error) {
      if (error instanceof DynamoError && error.kind === "missing-table") return { status: null };
      throw error;
    }
  }

  async createTable({ table, expiresBy }: TableDefinition): Promise<Answer> {
    const { sdk } = this;
    const create = new sdk.CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: ["PK", "SK"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: [
        { AttributeName: "PK", KeyType: "HASH" },
        { AttributeName: "SK", KeyType: "RANGE" },
      ],
    });
    const answer = await this.send((client) => client.send(create), nothing);
    await this.untilActive(table);
    if (expiresBy !== undefined) {
      const TimeToLiveSpecification = { AttributeName: expiresBy, Enabled: true };
      const expire = new sdk.UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification });
      await this.send((client) => client.send(expire), nothing);
    }
    await this.enableRecovery(table);
    return answer;
  }

  private async untilActive(table: string): Promise<void> {
    const deadline = Date.now() + tableMsMax;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      const { status } = await this.describeTable(table);
      if (status === "ACTIVE") return;
      if (Date.now() > deadline) throw new DynamoError("busy", `Table ${table} is still ${status}.`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  private async enableRecovery(table: string): Promise<void> {
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
    const command = new this.sdk.UpdateContinuousBackupsCommand({
      TableName: table,
      PointInTimeRecoverySpecification,
    });
    const turnOn = () => this.send((client) => client.send(command), nothing);
    const isTransient = (error: unknown) => error instanceof DynamoError && error.kind === "busy";
    try {
      await retry(turnOn, { isTransient, pauseMs: pauseAfter, withinMs: tableMsMax });
    } catch (error) {
      // DynamoDB Local has no backups.
      const { name } = ((error as Error).cause ?? {}) as Error;
      if (name !== "UnknownOperationException") throw error;
    }
  }

  close(): void {
    this.isClosed = true;
    this.clients.patient.destroy();
    this.clients.single.destroy();
  }

  private async send<Output extends object, T extends object>(
    call: (client: DynamoDBClient) => Promise<Output>,
    take: (output: Output) => T,
    once = false,
  ): Promise<T & Answer> {
    if (this.isClosed) throw new DynamoError("closed", closed);
    try {
      const output = await call(once ? this.clients.single : this.clients.patient);
      const time = this.times.get(output);
      return { ...take(output), ...(time && { time }) };
    } catch (error) {
      if (this.isClosed) throw new DynamoError("closed", closed, { cause: error });
      throw asDynamoError(error, this.times.get(error as object));
    }
  }
}

const closed = "The connection to DynamoDB was closed.";
const nothing = () => ({});

/** The SDK keeps the headers of an answer to itself. */
function noteTimes(client: DynamoDBClient, times: WeakMap<object, ServiceTime>): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const sentAt = Date.now();
      const note = (of: object, response: unknown) => {
        const { headers = {} } = (response ?? {}) as { headers?: Record<string, string> };
        const date = Date.parse(headers.date ?? "");
        if (!Number.isNaN(date)) times.set(of, { date, sentAt, receivedAt: Date.now() });
      };
      try {
        const result = await next(args);
        note(result.output ?? {}, result.response);
        return result;
      } catch (error) {
        note(error as object, (error as { $response?: unknown }).$response);
        throw error;
      }
    },
    { step: "deserialize", priority: "high", name: "serviceTime" },
  );
}
