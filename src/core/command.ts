// Everything that can change an org, as data. Randomness and ids come with the command; the time comes with the transaction.

import type { CheckResult, LandingTask, Patch, ReturnReason } from "./landing.js";
import type { LockHolder } from "./lock.js";
import type { SettingsPatch } from "./project.js";
import type { Budget, HoldSource } from "./resource.js";
import type { SubmissionDiff, Verdict } from "./review.js";
import type { Role } from "./role.js";
import type { SessionInput } from "./session.js";
import type { TaskResult, TaskType } from "./task.js";

export interface NewTask {
  /** A caller's own name for the task within a batch. */
  key?: string;
  id?: string;
  type?: TaskType;
  parentId?: string;
  title?: string;
  prompt?: string;
  description?: string;
  phase?: string;
  priority?: number;
  labels?: string[];
  files?: string[];
  /** Ids; in a batch also keys and titles of tasks of the same batch. */
  dependsOn?: string[];
  assignee?: string;
  agentType?: string;
  requires?: string[];
  uses?: Readonly<Record<string, number>>;
  maxRetries?: number;
  notBefore?: number;
  timeoutMs?: number;
  correlationId?: string;
  metadata?: Record<string, unknown>;
}

export interface TaskPatch {
  title?: string;
  prompt?: string;
  description?: string | null;
  phase?: string | null;
  priority?: number;
  labels?: string[];
  /** Besides those it has, or those of `labels`. */
  addLabels?: string[];
  removeLabels?: string[];
  files?: string[];
  dependsOn?: string[];
  assignee?: string | null;
  agentType?: string | null;
  requires?: string[];
  /** Null: none. */
  uses?: Readonly<Record<string, number>> | null;
  maxRetries?: number;
  notBefore?: number | null;
  timeoutMs?: number | null;
  metadata?: Record<string, unknown> | null;
}

interface OnProject {
  project: string;
}
interface OnTask extends OnProject {
  taskId: string;
}
export interface ByHolder extends OnTask {
  sessionId: string;
  epoch?: number | undefined;
}

export interface CreateCommand extends OnProject {
  type: "create";
  /** The agent that adds them, if one does. */
  sessionId?: string | undefined;
  tasks: NewTask[];
  correlationId: string;
}
/** An item of a plan. */
export interface PlanTask extends NewTask {
  /** Stays the same from one version of the plan to the next. Default: the id, the key or the title. */
  identity?: string;
  /** Checked off in the plan. */
  done?: boolean;
}
/** Creates what is new in a plan and updates what an earlier load of it created. */
export interface LoadPlanCommand extends OnProject {
  type: "load-plan";
  plan: string;
  tasks: PlanTask[];
  /** Cancels what is gone from the plan and was never attempted. */
  prune?: boolean | undefined;
  /** Changes nothing. */
  dryRun?: boolean | undefined;
  /** Whether the caller is allowed to edit and cancel tasks. */
  mayEdit: boolean;
  correlationId: string;
}
export interface ClaimOptions {
  sessionId: string;
  ttlMs?: number | undefined;
  agentType?: string | undefined;
  start?: boolean | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** Registers the session when it is unknown or over. */
  register?: Omit<SessionInput, "id"> | undefined;
}
export interface ClaimCommand extends OnTask, ClaimOptions {
  type: "claim";
}
export interface ClaimNextCommand extends OnProject, ClaimOptions {
  type: "claim-next";
  labels?: string[] | undefined;
  /** Claims nothing while the breaker of the session's agent is open, except as a probe. */
  heedBreaker?: boolean | undefined;
  /** False: at capacity, answer nothing instead of what is held. */
  resume?: boolean | undefined;
}
export interface StartCommand extends ByHolder {
  type: "start";
}
export interface HeartbeatCommand extends ByHolder {
  type: "heartbeat";
  extendMs?: number | undefined;
  /** What the attempt has changed so far. */
  paths?: readonly string[] | undefined;
}
export interface ProgressCommand extends ByHolder {
  type: "progress";
  note?: string | undefined;
  percent?: number | undefined;
}
export interface AskCommand extends ByHolder {
  type: "ask";
  question: string;
  options?: string[] | undefined;
  default?: string | undefined;
}
export interface RespondCommand extends OnTask {
  type: "respond";
  response: string;
  questionId?: string | undefined;
}
export interface CompleteCommand extends ByHolder {
  type: "complete";
  result: TaskResult;
}
export interface SubmitCommand extends ByHolder {
  type: "submit";
  commit?: string | undefined;
  branch?: string | undefined;
  base?: string | undefined;
  summary?: string | undefined;
  /** The machine that has the commit. */
  host?: string | undefined;
  result: TaskResult;
}
export interface WithdrawCommand extends OnTask {
  type: "withdraw";
  reason?: string | undefined;
}
interface ByLander {
  repository: string;
  target: string;
  /** Of the lander's lease. */
  epoch: number;
}
export interface AcquireLanderCommand extends OnProject {
  type: "acquire-lander";
  repository: string;
  target: string;
  /** Its name, by which it renews the lease; absent: the store gives one. */
  holder?: string | undefined;
  host?: string | undefined;
  ttlMs?: number | undefined;
  /** A holder whose process has ended, as the caller has seen. */
  replaces?: string | undefined;
}
/** Submissions wait, and no lander has the lease: the inbox says so. */
export interface NoteMissingLanderCommand {
  type: "note-missing-lander";
  project: string;
}

export interface ReleaseLanderCommand extends ByLander {
  type: "release-lander";
}
export interface OpenLandingCommand extends ByLander {
  type: "open-landing";
  base?: string | undefined;
  tasks: LandingTask[];
  /** Given: the intent is recorded at once. */
  commit?: string | undefined;
  tree?: string | undefined;
}
interface OnLanding {
  id: string;
  epoch: number;
}
export interface IntendLandingCommand extends OnLanding {
  type: "intend-landing";
  commit: string;
  tree: string | null;
  tasks: LandingTask[];
}
export interface RecordChecksCommand extends OnLanding {
  type: "record-checks";
  /** Absent: those of the landing. */
  tasks?: Omit<LandingTask, "commit">[] | undefined;
  checks: CheckResult[];
}
/** What the lander found in the repository. */
export interface RecordDiffCommand extends OnLanding, OnTask {
  type: "record-diff";
  submission: number;
  diff: SubmissionDiff;
  patch: Omit<Patch, "submission">;
}
/** The first of these submitted tasks that the session can review. */
export interface ClaimReviewCommand extends OnProject, ClaimOptions {
  type: "claim-review";
  candidates: readonly string[];
  /** False: at capacity, answer nothing instead of what is held. */
  resume?: boolean | undefined;
}
export interface ReviewCommand extends OnTask {
  type: "review";
  submission: number;
  verdict: Verdict;
  comment?: string | undefined;
  /** The agent; absent: a person. */
  sessionId?: string | undefined;
  /** Of the claimed review. */
  epoch?: number | undefined;
  /** The person's token. */
  token?: string | undefined;
  /** The person says that it is own work. */
  own?: boolean | undefined;
}
/** A submission waits for a review that no agent will give: the inbox says so. */
export interface AskForReviewCommand extends OnTask {
  type: "ask-for-review";
}
export interface LandCommand extends OnLanding {
  type: "land";
}
export interface DropLandingCommand extends OnLanding {
  type: "drop-landing";
}
export interface ReturnCommand extends OnLanding, OnTask {
  type: "return";
  submission: number;
  reason: ReturnReason;
  detail?: string | undefined;
  /** Of a submission that was not looked at before. */
  diff?: SubmissionDiff | undefined;
  patch?: Omit<Patch, "submission"> | undefined;
}
export interface HoldLandingCommand extends OnLanding, OnProject {
  type: "hold-landing";
  holds: {
    reason: string;
    message: string;
    fix?: string | undefined;
    tasks?: { project: string; taskId: string }[] | undefined;
  }[];
}
export interface FailCommand extends ByHolder {
  type: "fail";
  error: string;
  retryable?: boolean | undefined;
  /** True: a quick failure costs no retry. False: it is none, whatever the time says. */
  quick?: boolean | undefined;
  /** -1…1, spreads the retry delay. */
  spread: number;
}
export interface ReleaseCommand extends OnTask {
  type: "release";
  /** Absent only with `force`. */
  sessionId?: string | undefined;
  epoch?: number | undefined;
  reason?: string | undefined;
  force?: boolean | undefined;
  result?: TaskResult | undefined;
  error?: string | undefined;
  spread: number;
}
export interface CancelCommand extends OnTask {
  type: "cancel";
  reason?: string | undefined;
  cascade?: boolean | undefined;
}
export interface RetryCommand extends OnTask {
  type: "retry";
}
export interface UpdateCommand extends OnTask {
  type: "update";
  patch: TaskPatch;
}
/** Ends the leases of these tasks that are over: every command on a task, or by its holder, runs after this. */
export interface SettleCommand extends OnProject {
  type: "settle";
  taskIds: string[];
}
/** Ends what is over, earliest first; the task that somebody asks for in any case. */
export interface SweepCommand {
  type: "sweep";
  limit: number;
  also?: { project: string; taskId: string };
  /** Looks for leases that are too long, too. */
  thorough?: boolean;
}
export interface RegisterCommand extends OnProject {
  type: "register-session";
  session: SessionInput;
}
export interface SessionHeartbeatCommand extends OnProject {
  type: "session-heartbeat";
  sessionId: string;
  contextPercent?: number | undefined;
  score?: number | undefined;
}
export interface EndSessionCommand extends OnProject {
  type: "end-session";
  sessionId: string;
  reason: "session_ended" | "process_gone";
  /** Only this incarnation: a newer process under the same id is left alone. */
  incarnation?: number | undefined;
}
export interface ReserveIdCommand extends OnProject {
  type: "reserve-id";
  parentId?: string | undefined;
}
export interface CreateProjectCommand {
  type: "create-project";
  id: string;
  settings?: SettingsPatch | undefined;
}
export interface UpdateProjectCommand extends OnProject {
  type: "update-project";
  settings?: SettingsPatch | undefined;
  paused?: boolean | undefined;
}
export interface ReadNotificationCommand {
  type: "read-notification";
  id: string;
}

export interface CreateTokenCommand {
  type: "create-token";
  id: string;
  name: string;
  role: Role;
  hash: string;
  expiresInMs?: number | undefined;
  parent?: string | undefined;
}
export interface RevokeTokenCommand {
  type: "revoke-token";
  id: string;
}
/** Tidies up those of these that have expired. */
export interface DropTokensCommand {
  type: "drop-tokens";
  ids: string[];
}
export interface AcquireLockCommand extends OnProject {
  type: "acquire-lock";
  name: string;
  holder: LockHolder;
  /** As in `holder`; the session that it speaks for. */
  sessionId?: string | undefined;
  ttlMs?: number | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** The host that asks: only there it is known whether a process lives. */
  here: string;
}
export interface ReleaseLockCommand extends OnProject {
  type: "release-lock";
  name: string;
  holder: LockHolder;
  sessionId?: string | undefined;
  force?: boolean | undefined;
  here: string;
}
/** Removes what is over, and what was held by a process that is `gone`. */
export interface FreeLocksCommand {
  type: "free-locks";
  locks: readonly { name: string; gone?: LockHolder }[];
  here: string;
}
/** Cumulative: what the attempt has cost so far. */
export interface ReportUsageCommand extends ByHolder {
  type: "report-usage";
  usd?: number | undefined;
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  model?: string | undefined;
}
export interface SetResourceCommand {
  type: "set-resource";
  id: string;
  /** Null: as many as want to. Absent: as before. */
  capacity?: number | null | undefined;
  budgets?: Budget[] | undefined;
}
export interface HoldResourceCommand extends OnProject {
  type: "hold-resource";
  id: string;
  source: Exclude<HoldSource, "budget">;
  until?: number | undefined;
  forMs?: number | undefined;
  reason?: string | undefined;
  /** Given: only what this session uses can be held, and not for long. */
  sessionId?: string | undefined;
}
export interface ResumeResourceCommand {
  type: "resume-resource";
  id: string;
  /** Absent: whatever holds it. */
  source?: HoldSource | undefined;
}
export interface RemoveResourceCommand {
  type: "remove-resource";
  id: string;
  /** Live sessions that name it. */
  sessions: string[];
}
export interface AppendLogCommand extends ByHolder {
  type: "append-log";
  text: string;
}
export interface ArchiveEventsCommand {
  type: "archive-events";
  /** The events below this number go. */
  below: number;
}
export interface ArchiveTasksCommand {
  type: "archive-tasks";
  /** Those that are considered. */
  tasks: readonly { project: string; id: string }[];
  /** Only what ended before this instant goes. */
  before: number;
}

export type Command =
  | CreateCommand
  | LoadPlanCommand
  | ClaimCommand
  | ClaimNextCommand
  | StartCommand
  | HeartbeatCommand
  | ProgressCommand
  | AskCommand
  | RespondCommand
  | CompleteCommand
  | SubmitCommand
  | WithdrawCommand
  | AcquireLanderCommand
  | ReleaseLanderCommand
  | NoteMissingLanderCommand
  | OpenLandingCommand
  | IntendLandingCommand
  | RecordChecksCommand
  | RecordDiffCommand
  | ClaimReviewCommand
  | ReviewCommand
  | AskForReviewCommand
  | LandCommand
  | DropLandingCommand
  | ReturnCommand
  | HoldLandingCommand
  | FailCommand
  | ReleaseCommand
  | CancelCommand
  | RetryCommand
  | UpdateCommand
  | SettleCommand
  | SweepCommand
  | RegisterCommand
  | SessionHeartbeatCommand
  | EndSessionCommand
  | ReserveIdCommand
  | CreateProjectCommand
  | UpdateProjectCommand
  | ReadNotificationCommand
  | CreateTokenCommand
  | RevokeTokenCommand
  | DropTokensCommand
  | AcquireLockCommand
  | ReleaseLockCommand
  | FreeLocksCommand
  | ReportUsageCommand
  | SetResourceCommand
  | HoldResourceCommand
  | ResumeResourceCommand
  | RemoveResourceCommand
  | AppendLogCommand
  | ArchiveEventsCommand
  | ArchiveTasksCommand;

export type CommandType = Command["type"];
