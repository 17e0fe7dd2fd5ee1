// Requests and answers between the shapes of the store and those of the SDK.

import type {
  PutItemCommandInput,
  AttributeValue as SdkValue,
  TransactWriteItem,
  UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Condition, Item, Key, TransactWrite, Update } from "./client.js";
import { Expression } from "./expression.js";

/** Tables hold values of our four types only. */
export const itemOf = (item: Record<string, SdkValue>) => item as Key & Item;

/** Callers name an item by its row as well; the service takes nothing but the key. */
export const bareKey = ({ PK, SK }: Key): Key => ({ PK, SK });

export function grouped<T extends { table: string }, R>(
  requests: readonly T[],
  of: (request: T) => R,
): Record<string, R[]> {
  const tables: Record<string, R[]> = {};
  for (const request of requests) {
    tables[request.table] ??= [];
    tables[request.table]!.push(of(request));
  }
  return tables;
}

type Conditional = Pick<
  PutItemCommandInput,
  | "ConditionExpression"
  | "ExpressionAttributeNames"
  | "ExpressionAttributeValues"
  | "ReturnValuesOnConditionCheckFailure"
>;

export function conditional(
  conditions: readonly Condition[] | undefined,
  expression = new Expression(),
): Conditional {
  if (!conditions?.length) return expression.placeholders();
  return {
    ConditionExpression: expression.conditions(conditions),
    ...expression.placeholders(),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}

export function updateOf(
  update: Update,
): Pick<UpdateItemCommandInput, "TableName" | "Key" | "UpdateExpression"> & Conditional {
  const expression = new Expression();
  const UpdateExpression = expression.update(update);
  return {
    TableName: update.table,
    Key: bareKey(update.key),
    ...(UpdateExpression && { UpdateExpression }),
    ...conditional(update.conditions, expression),
  };
}

export function transactItem(write: TransactWrite): TransactWriteItem {
  if ("put" in write) {
    const { table, item, conditions } = write.put;
    return { Put: { TableName: table, Item: item, ...conditional(conditions) } };
  }
  if ("update" in write) {
    const request = updateOf(write.update);
    return { Update: { ...request, UpdateExpression: request.UpdateExpression ?? "" } } as TransactWriteItem;
  }
  const { table, key, conditions } = "delete" in write ? write.delete : write.check;
  const request = { TableName: table, Key: bareKey(key), ...conditional(conditions) };
  return "delete" in write ? { Delete: request } : ({ ConditionCheck: request } as TransactWriteItem);
}
