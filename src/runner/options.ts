// What callers of the runner pass.

import type { Dibs } from "../client/client.js";
import type { Outcome } from "../client/holding/index.js";
import type { WireBreaker, WireClaim, WireNothing, WireTask } from "../contract/shapes.js";
import type { Limit } from "./limit.js";
import type { StreamName } from "./output.js";
import type { Machine } from "./processes.js";

export interface Timings {
  /** Between SIGTERM and SIGKILL. */
  killGraceMs: number;
  /** How long what runs may go on after the first request to stop. */
  stopGraceMs: number;
  /** When the time to stop is over: how long the store may take to hear of it. */
  lastWordMs: number;
  /** How long a command may go on after it reported its task itself. */
  afterReportMs: number;
  /** How long output may still come after the last process of the group is gone. */
  drainMs: number;
  /** A batch of the log goes after so long, or when it is full; and never sooner than the gap. */
  logEveryMs: number;
  logGapMs: number;
  /** How long one claim waits at the server. */
  claimWaitMs: number;
  /** The same with `untilEmpty`, while nothing runs: how late the end may be noticed. */
  emptyWaitMs: number;
  /** Default: the project's interval, or a third of the lease or of the silence it allows, whichever is less. */
  heartbeatMs: number | null;
  /** How often it is looked at what a task's worktree has changed. */
  changedEveryMs: number;
  /** After a trouble of the store: so long at first, then twice as long, and so on up to 30 s. */
  retryMs: number;
}

export const defaultTimings: Timings = {
  killGraceMs: 5_000,
  stopGraceMs: 30_000,
  lastWordMs: 2_000,
  afterReportMs: 30_000,
  drainMs: 1_000,
  logEveryMs: 2_000,
  logGapMs: 250,
  claimWaitMs: 60_000,
  emptyWaitMs: 5_000,
  heartbeatMs: null,
  changedEveryMs: 30_000,
  retryMs: 500,
};

export interface WorktreeOptions {
  /** A directory of the repository; worktrees are made in `.dibs/worktrees` of its main working tree. */
  root: string;
  /** What hooks of git run to learn whether the claim is still held: exit 0 means yes. Without it there are no hooks. */
  fenceCommand?: readonly string[];
  /** Only for tasks of projects whose work lands; others run in the shared directory. */
  onlyToLand?: boolean;
}

/** What every way of running has in common. */
export interface RunnerOptions {
  dibs: Dibs;
  /** A file and its arguments. Placeholders such as `{id}` and `{brief}` are replaced where they are whole arguments. */
  command: readonly string[];
  machine: Machine;
  project?: string;
  /** The session's name; several slots have `-1`, `-2` and so on behind it. Default: `<agent>-<n>@<host>`. */
  name?: string;
  agentType?: string;
  capabilities?: string[];
  /** Units of resources that every claim of the sessions uses. A limit that the agent runs into holds these. */
  uses?: Record<string, number>;
  /** What a command prints when it ran into a limit, besides what known agents print. */
  limitPattern?: RegExp;
  /** Lease length; default: the project's. */
  ttlMs?: number;
  /** Where the command runs; default: the directory of this process. With `worktree`, in the task's own. */
  cwd?: string;
  worktree?: WorktreeOptions;
  /** What the command inherits; default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** How the command reaches the same store: DIBS_URL or DIBS_DATABASE_URL, DIBS_TOKEN. */
  connectionEnv?: Readonly<Record<string, string | undefined>>;
  /** What is on standard input: the brief (default), the bare prompt, or nothing. */
  stdin?: "brief" | "prompt" | "empty";
  /** What the command prints. Raw: whoever shows it on a terminal makes it harmless. */
  output?: (line: string, from: { taskId: string; stream: StreamName }) => void;
  onStart?: (claim: WireClaim, task: WireTask) => void;
  onEnd?: (end: AttemptEnd) => void;
  /** The agent fails at once: nothing is claimed but now and then one task, as a probe. Called once each time that begins. */
  onBreaker?: (breaker: WireBreaker) => void;
  /** A claim that did not wait got nothing. */
  onNothing?: (why: WireNothing) => void;
  /** Troubles that may pass, and things worth knowing. */
  onTrouble?: (error: unknown) => void;
  /** The first request to stop. */
  signal?: AbortSignal;
  timings?: Partial<Timings>;
  /** The watchdog's program; default: the built one. */
  watchdogFile?: string;
}

export interface AttemptEnd {
  taskId: string;
  project: string;
  epoch: number;
  sessionId: string;
  outcome: Outcome;
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Why, where the outcome alone does not tell. */
  reason: string | null;
  worktree: { path: string; branch: string } | null;
  /** It ran into a limit: nothing was failed, retried or lost. */
  limit?: Limit & { held: string[] };
  /** Of a review: the number of the submission. */
  submission?: number;
}
