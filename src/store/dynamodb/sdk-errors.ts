// Errors of the service and of the network, as the few kinds that the store tells apart.

import type { CancellationReason as SdkReason, AttributeValue as SdkValue } from "@aws-sdk/client-dynamodb";
import { type CancellationReason, DynamoError, type DynamoErrorKind, type ServiceTime } from "./client.js";
import { itemOf } from "./sdk-requests.js";

interface SdkError extends Error {
  Item?: Record<string, SdkValue>;
  CancellationReasons?: SdkReason[];
  $metadata?: { httpStatusCode?: number };
  code?: string;
}

const kinds: Record<string, DynamoErrorKind> = {
  ConditionalCheckFailedException: "condition-failed",
  TransactionCanceledException: "transaction-cancelled",
  ProvisionedThroughputExceededException: "busy",
  RequestLimitExceeded: "busy",
  ThrottlingException: "busy",
  LimitExceededException: "busy",
  TransactionConflictException: "busy",
  // For a while after a table was created.
  ContinuousBackupsUnavailableException: "busy",
  // The same transaction is under way: it is repeated to learn how it ended.
  TransactionInProgressException: "lost",
  ResourceNotFoundException: "missing-table",
  ResourceInUseException: "table-exists",
  ItemCollectionSizeLimitExceededException: "too-large",
  RequestEntityTooLarge: "too-large",
  AccessDeniedException: "denied",
  CredentialsProviderError: "denied",
  ExpiredTokenException: "denied",
  IncompleteSignatureException: "denied",
  InvalidSignatureException: "denied",
  MissingAuthenticationTokenException: "denied",
  UnrecognizedClientException: "denied",
};

const reasonKinds: Record<string, CancellationReason["kind"]> = {
  None: "none",
  ConditionalCheckFailed: "condition-failed",
  TransactionConflict: "busy",
  ProvisionedThroughputExceeded: "busy",
  ThrottlingError: "busy",
  ItemCollectionSizeLimitExceeded: "too-large",
};

const tooLarge =
  /size has exceeded|exceeded? the maximum (allowed )?size|can ?not exceed 4 ?MB|size exceeded/i;

export function asDynamoError(error: unknown, time: ServiceTime | undefined): DynamoError {
  const { name, message, Item, CancellationReasons, code } = error as SdkError;
  return new DynamoError(kindOf(error as SdkError), message || code || name, {
    cause: shortened(error as Error),
    ...(time && { time }),
    ...(Item && { item: itemOf(Item) }),
    ...(CancellationReasons && { reasons: CancellationReasons.map(reasonOf) }),
  });
}

/** The SDK's errors carry the whole connection, which ends up in logs. */
function shortened({ name, message, stack = "" }: Error): Error {
  const error = new Error(message);
  return Object.assign(error, { name, stack });
}

function kindOf({ name, message, $metadata }: SdkError): DynamoErrorKind {
  const known = kinds[name];
  if (known) return known;
  if (name === "ValidationException" && tooLarge.test(message)) return "too-large";
  const status = $metadata?.httpStatusCode;
  return status === undefined || status >= 500 ? "lost" : "invalid";
}

function reasonOf({ Code = "None", Message, Item }: SdkReason): CancellationReason {
  const kind = reasonKinds[Code] ?? (tooLarge.test(Message ?? "") ? "too-large" : "invalid");
  return { kind, ...(Item && { item: itemOf(Item) }), ...(Message && { message: Message }) };
}
