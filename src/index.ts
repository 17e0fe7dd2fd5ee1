export type { CallOptions, Dibs, FollowOptions, LogEnds } from "./client/client.js";
export { type ConnectOptions, connectDibs } from "./client/connect.js";
export {
  PermanentFailure,
  type WorkContext,
  type Worker,
  type WorkHandler,
  type WorkOptions,
  type WorkResult,
} from "./client/worker.js";
export { exportDibs, importDibs, type OpenOptions, openDibs, type TransferOptions } from "./compose.js";
export { exitCode, httpStatus } from "./contract/codes.js";
export { DibsError } from "./contract/error.js";
export type { InputOf, OutputOf } from "./contract/operation.js";
export { type OperationName, type OperationNamed, registry } from "./contract/registry.js";
export type {
  WireAttempt as Attempt,
  WireClaim as Claim,
  WireEvent as DibsEvent,
  WireNotification as Notification,
  WireProject as Project,
  WireReason as Reason,
  WireSession as Session,
  WireTask as Task,
} from "./contract/shapes.js";
export type { Changes } from "./core/changes.js";
export type { Code } from "./core/refusal.js";
export type { Lists, Reads, View } from "./core/view.js";
export {
  type Capabilities,
  type ChangeListener,
  type Clock,
  type Job,
  type JobResult,
  type ReadJob,
  type Snapshot,
  type Store,
  StoreError,
  type Transaction,
} from "./store/store.js";
export type { Counts as TransferCounts } from "./transfer/format.js";
export type { Lines as TransferLines } from "./transfer/import.js";
