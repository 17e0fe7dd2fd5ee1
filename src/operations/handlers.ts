import type { OperationName } from "../contract/registry.js";
import { bulkOperations } from "./bulk.js";
import { conflictsQuery } from "./conflicts.js";
import type { Handler } from "./handler.js";
import { inFlightQuery } from "./in-flight.js";
import { landingOperations } from "./landing-operations.js";
import { lockOperations } from "./lock-operations.js";
import { logOperations } from "./log-operations.js";
import { manyOperations } from "./many.js";
import { metricsOperations } from "./metrics/operations.js";
import {
  claimOperations,
  eventOperations,
  notificationOperations,
  projectOperations,
  sessionOperations,
} from "./other-operations.js";
import { resourceOperations } from "./resource-operations.js";
import { taskCommands } from "./task-commands.js";
import { taskQueries } from "./task-queries.js";
import { tokenOperations } from "./token-operations.js";

/** The handler of every operation. */
export const handlers: { readonly [N in OperationName]: Handler<N> } = {
  ...taskCommands,
  ...taskQueries,
  ...inFlightQuery,
  ...conflictsQuery,
  ...sessionOperations,
  ...claimOperations,
  ...eventOperations,
  ...notificationOperations,
  ...projectOperations,
  ...metricsOperations,
  ...tokenOperations,
  ...landingOperations,
  ...resourceOperations,
  ...lockOperations,
  ...logOperations,
  ...bulkOperations,
  ...manyOperations,
};
