// `work` and `run`: commands that run commands. The runner does it; here is what people see of it and how it is told to stop.

import { basename, resolve } from "node:path";
import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import type { WireBreaker, WireNothing } from "../../../contract/shapes.js";
import { runLander, type StandBy, type Step, standBy } from "../../../lander/index.js";
import {
  type AttemptEnd,
  agentNames,
  askFence,
  isSubmitted,
  landsWork,
  type OnConflict,
  type OnceOptions,
  presetFor,
  type RunnerOptions,
  refuseMissingCommand,
  runOnce,
  runWork,
  type Summary,
  targetMissing,
  waitsForChildren,
  warningsFor,
} from "../../../runner/index.js";
import { type Command, nothingToDo, type SingleCommand } from "../command.js";
import { settingFor } from "../config.js";
import { placeFor, serverNamed } from "../connection.js";
import { type Context, given } from "../context.js";
import { IdleNotice, nothingLine } from "../idle-notice.js";
import { type Display, displayOf } from "../print/display.js";
import { plain, plainLines } from "../print/text.js";
import { ago } from "../print/time.js";
import {
  type BlockedTask,
  blockedText,
  type LeftTask,
  leftText,
  outcomeStyles,
  outcomeWord,
  workSummary,
} from "../print/work-summary.js";
import { type FlagSpec, usageError } from "../spec.js";
import { usesFlag, usesOf } from "../uses.js";
import { WorkTally } from "../work-tally.js";
import { landerOptions, stepLine } from "./land.js";

const sharedFlags: Record<string, FlagSpec> = {
  agent: {
    value: "<name>",
    choices: agentNames,
    help: "run a known agent (DIBS_AGENT); words after -- are added to its command",
  },
  attended: { help: "with --agent: the agent asks before it acts" },
  "bare-prompt": { help: "pass only the prompt on standard input, not the brief" },
  worktree: {
    help: "one git worktree and branch per task; kept on failure, removed when clean or merged; always on with land.target",
  },
  ttl: { value: "<duration>", help: "lease duration; renewed while the command runs" },
  name: {
    value: "<word>",
    help: "session name; several slots add -1, -2; default <agent>-<n>@<host>",
  },
  uses: usesFlag("every claim of this worker"),
  "limit-pattern": {
    value: "<regex>",
    help: "what the command prints when it ran into a limit, in one of its last 20 lines; (?<reset>...) is the time",
  },
  "agent-type": { value: "<word>", help: "type of this agent" },
  capability: {
    value: "<word>",
    many: true,
    help: "capability of this agent; repeatable",
  },
  quiet: { short: "q", help: "do not print the output of the command" },
};

const briefDetails =
  "The command reads a brief on standard input: prompt, description, files, results of dependencies, errors of earlier attempts, answers, and how to finish. It has at most 64 KiB.\n" +
  "{brief}, {briefFile}, {prompt}, {promptFile}, {id} and {title} are replaced where they are whole arguments.";

/** How a child reaches the same store, from whichever directory. */
async function connectionEnv(context: Context): Promise<Record<string, string | undefined>> {
  const { env, cwd } = context.parts;
  const config = context.text("config") ?? (env.DIBS_CONFIG || undefined);
  const shared = given({
    DIBS_TOKEN: context.text("token"),
    DIBS_ORG: context.text("org"),
    DIBS_CONFIG: config === undefined ? undefined : resolve(cwd, config),
  });
  const url = await serverNamed(context, context.parts);
  if (url) return { ...shared, DIBS_URL: url };
  const place = await placeFor(context, context.parts);
  return { ...shared, DIBS_DATABASE_URL: place.path ?? place.url };
}

/**
 * Only one that is named for this: a runner ends its session, and what the session holds, when it ends. DIBS_SESSION is somebody's
 * who is at work already: the caller's own, or, inside a task, that of its runner.
 */
const sessionOf = (context: Context): string | undefined => context.text("session");

/** A command that is spelt out needs no agent; one named by flag takes the words as its own. */
async function agentOf(context: Context): Promise<string | undefined> {
  const named = context.text("agent");
  if (named !== undefined || context.args.length > 0) return named;
  return settingFor(context, context.parts, "agent");
}

async function commandOf(context: Context, usage: string) {
  const words = context.args;
  const agent = await agentOf(context);
  const barePrompt = context.on("bare-prompt");
  if (agent) return presetFor(agent, { unattended: !context.on("attended"), extra: words, barePrompt });
  const stdin = barePrompt ? ("prompt" as const) : ("brief" as const);
  if (words.length > 0) return { command: [...words], stdin, env: {} };
  throw usageError("Missing command.", `Usage: ${usage} -- my-agent, or ${usage} --agent ${agentNames[0]}`);
}

function limitPatternOf(context: Context): RegExp | undefined {
  const text = context.text("limit-pattern");
  if (text === undefined) return undefined;
  try {
    return new RegExp(text, "m");
  } catch {
    throw usageError(
      `--limit-pattern must be a regular expression of JavaScript, not '${text}'.`,
      "For example: --limit-pattern 'quota exceeded'",
    );
  }
}

const kindOf = async (context: Context) => context.text("agent-type") ?? (await agentOf(context));

function endLine({ taskId, outcome, reason, worktree }: AttemptEnd, display: Display): string {
  const word = outcomeWord({ outcome, reason });
  const why = reason && reason !== word ? `: ${plain(reason)}` : "";
  const where = worktree ? `  (branch ${plain(worktree.branch)} in ${plain(worktree.path)})` : "";
  return `${plain(taskId)} ${display.paint(word, outcomeStyles[outcome])}${why}${where}\n`;
}

function breakerLine({ agentType, failures, taskId, probeAt }: WireBreaker, now: number): string {
  const which = taskId === null ? "" : `, always on task ${plain(taskId)}`;
  return (
    `Agent ${plain(agentType ?? "unknown")} failed at once ${failures} times in a row${which}. Claiming one task at a time, with growing pauses, ` +
    `until it works; next ${ago(probeAt, now)}. After a fix, to try it at once, run: dibs work --once`
  );
}

async function optionsFor(context: Context, usage: string): Promise<RunnerOptions> {
  const { parts } = context;
  const display = displayOf(parts);
  const { command, stdin, env } = await commandOf(context, usage);
  const dibs = await context.lastingDibs();
  const project = context.text("project") ?? (parts.env.DIBS_PROJECT || undefined);
  const inWorktrees = !context.on("review") && (context.on("worktree") || (await landsWork(dibs, project)));
  refuseMissingCommand(command, { env: parts.env, cwd: parts.cwd, inWorktrees });
  return {
    dibs,
    command,
    stdin,
    machine: await parts.machine(),
    connectionEnv: await connectionEnv(context),
    env: { ...env, ...parts.env },
    cwd: parts.cwd,
    signal: parts.stopping,
    worktree: {
      root: parts.cwd,
      fenceCommand: [...parts.program, "fence"],
      onlyToLand: !context.on("worktree"),
    },
    ...given({
      project,
      name: context.text("name"),
      agentType: await kindOf(context),
      capabilities: context.texts("capability"),
      ttlMs: context.duration("ttl"),
      uses: usesOf(context),
      limitPattern: limitPatternOf(context),
    }),
    onStart: (_claim, task) => parts.err(`${plain(task.id)} ${plain(task.title)}\n`),
    output: (line, { taskId }) => {
      if (!context.on("quiet"))
        parts.err(`${display.paint(`${plain(taskId)} │`, "dim")} ${plainLines(line).join(" ")}\n`);
    },
    onEnd: (end) => context.say(end, () => endLine(end, display)),
    onBreaker: (breaker) => parts.err(`dibs: ${breakerLine(breaker, displayOf(parts).now)}\n`),
    onTrouble: (error) => parts.err(`dibs: ${plain((error as Error).message)}\n`),
  };
}

async function warn(context: Context, { dibs, project }: RunnerOptions, concurrency: number): Promise<void> {
  const { cwd, err } = context.parts;
  if (context.on("review")) return;
  const hasWorktrees = context.on("worktree") || (await landsWork(dibs, project));
  const warnings = await warningsFor({ cwd, concurrency, hasWorktrees });
  for (const warning of warnings) err(`dibs: ${warning}\n`);
}

const work: SingleCommand["run"] = async (context) => {
  if (context.on("until-empty") && context.on("until-idle")) {
    throw usageError("--until-empty and --until-idle cannot be combined.");
  }
  const unfit = context.on("review") ? ["bare-prompt", "worktree", "label"] : [];
  for (const flag of unfit) {
    if (context.on(flag) || context.text(flag) !== undefined)
      throw usageError(`--review and --${flag} cannot be combined.`);
  }
  const lander = context.on("no-land") || context.on("once") ? null : await landerBeside(context);
  const tally = new WorkTally({ listsTasks: context.on("until-empty") });
  try {
    const code = await workThrough(context, tally, lander).finally(() => lander?.stop());
    if (!context.on("until-empty")) await sayNotLanded(context, tally);
    return code;
  } catch (error) {
    if (error instanceof DibsError && error.details.reason === targetMissing) await recordHold(context);
    throw error;
  }
};

/** One look of a lander: what it cannot land on is in the inbox, for people who do not see this terminal. */
async function recordHold(context: Context): Promise<void> {
  await runLander({ ...(await landerOptions(context)), once: true, onTrouble: () => undefined }).catch(
    () => undefined,
  );
}

/** With --until-empty the summary lists it. */
async function sayNotLanded(context: Context, tally: WorkTally): Promise<void> {
  const count = await tally.notLanded(await context.lastingDibs()).catch(() => 0);
  if (count === 0) return;
  const what = count === 1 ? "1 task is submitted and has" : `${count} tasks are submitted and have`;
  context.parts.err(`${what} not landed. Run: dibs land\n`);
}

const workThrough = async (context: Context, tally: WorkTally, lander: StandBy | null): Promise<number> => {
  const { parts } = context;
  const options = tally.watching(await optionsFor(context, "dibs work"));
  const concurrency = context.number("concurrency") ?? (await settingFor(context, parts, "concurrency"));
  await warn(context, options, context.on("once") ? 1 : (concurrency ?? 1));
  let lastWhy: WireNothing | undefined;
  const notice = new IdleNotice(parts, !context.on("once") && !context.on("until-idle"));
  const runner = runWork({
    ...options,
    onStart: (claim, task) => {
      lastWhy = undefined;
      notice.started(task.project, task.id);
      options.onStart?.(claim, task);
    },
    onNothing: (why) => {
      lastWhy = why;
      notice.nothing(why);
    },
    onEnd: (end) => {
      options.onEnd?.(end);
      notice.ended(end.project, end.taskId);
    },
    ...given({
      concurrency,
      sessionId: sessionOf(context),
      labels: context.texts("label"),
      review: context.on("review") || undefined,
      once: context.on("once") || undefined,
      untilEmpty: context.on("until-empty") || undefined,
      isLooking: lander?.isLooking,
      untilIdle: context.on("until-idle") || context.on("once") || undefined,
    }),
  });
  // What went wrong is told by `done`.
  const endNow = () => void runner.stop({ now: true }).catch(() => undefined);
  parts.killing.addEventListener("abort", endNow, { once: true });
  const onStop = () => parts.err(notice.stopText);
  parts.stopping.addEventListener("abort", onStop, { once: true });
  const summary = await runner.done.finally(() => notice.close());
  if (context.on("until-empty")) {
    const isBlocked = lastWhy?.reasons.some(({ code }) => code === "BLOCKED") ?? false;
    const code = await report(context, tally, isBlocked);
    if (!lastWhy?.reasons.some(isForPeople)) return code;
    parts.err(`${plain(nothingLine(lastWhy))}\n`);
    return 1;
  }
  if (!context.on("once")) return tally.isHeldBack ? 1 : 0;
  const code = exitOf(summary);
  if (code === nothingToDo) parts.err(notice.nothingText);
  return code;
};

/** Tasks are ready, and stay so until somebody resumes a resource or makes it larger. */
const isForPeople = ({ code }: WireNothing["reasons"][number]) =>
  code === "RESOURCE_HELD" || code === "RESOURCE_TOO_SMALL";

/** What was submitted lands while agents work, if this is the project's repository. */
async function landerBeside(context: Context): Promise<StandBy> {
  const { parts } = context;
  const { signal: _, ...options } = await landerOptions(context);
  const shown: readonly Step["step"][] = ["landed", "returned", "held"];
  return standBy({
    ...options,
    onStep: (step) => {
      if (shown.includes(step.step)) parts.err(`${stepLine(step, displayOf(parts))}\n`);
    },
  });
}

/** What --until-empty prints at its end. */
async function report(context: Context, tally: WorkTally, isBlocked: boolean): Promise<number> {
  const dibs = await context.lastingDibs();
  const tasks = await tally.result(dibs);
  // A reviewer has done its part when no review is left.
  const left = context.on("review") ? [] : await leftTasks(context, dibs);
  const blocked = isBlocked ? await blockedTasks(context, dibs) : [];
  context.say(
    { success: true, tasks, left, blocked },
    (display) => workSummary(tasks, tally.ms, display) + leftText(left, display) + blockedText(blocked),
  );
  const isUnfinished = tasks.some((task) => ["failed", "lost", isSubmitted].includes(outcomeWord(task)));
  return isUnfinished || left.length + blocked.length > 0 || tally.isHeldBack ? 1 : 0;
}

const leftMax = 50;

/** Where work lands: tasks of the project, whoever worked on them, that only people can move, or the end of a hold. */
async function leftTasks(context: Context, dibs: Dibs): Promise<LeftTask[]> {
  const project = context.text("project") ?? (context.parts.env.DIBS_PROJECT || undefined);
  if (!(await landsWork(dibs, project))) return [];
  const state: ("awaiting_response" | "submitted")[] = ["awaiting_response", "submitted"];
  const { tasks } = await dibs.tasks.list({ state, limit: leftMax, ...given({ project }) });
  const labels = context.texts("label");
  const meant = tasks.filter((task) => !labels || task.labels.some((label) => labels.includes(label)));
  return Promise.all(
    meant.map(async ({ id: taskId, project, title, state }) => {
      const { reasons } = await dibs.tasks.explain({ project, taskId });
      return { taskId, title, state, reason: reasons[0]?.message ?? "", fix: reasons[0]?.fix ?? null };
    }),
  );
}

const pageMax = 1_000;

/** Tasks that no attempt can make ready: what they wait for has failed or was cancelled. */
async function blockedTasks(context: Context, dibs: Dibs): Promise<BlockedTask[]> {
  const flag = context.text("project");
  const project = flag ?? (context.parts.env.DIBS_PROJECT || undefined);
  const where = flag === undefined ? "" : ` --project ${flag}`;
  const { tasks } = await dibs.tasks.list({ state: "queued", limit: pageMax, ...given({ project }) });
  const labels = context.texts("label");
  const waiting = tasks
    .filter(({ pendingDependencies, openChildren }) => pendingDependencies + openChildren > 0)
    .filter((task) => !labels || task.labels.some((label) => labels.includes(label)));
  const blocked: BlockedTask[] = [];
  for (const { id: taskId, project, title } of waiting) {
    const { reasons } = await dibs.tasks.explain({ project, taskId });
    const cause = reasons.find(({ ended }) => ended);
    if (!cause?.ended) continue;
    const { taskId: by, state } = cause.ended;
    blocked.push({ taskId, title, by, state, fix: `${cause.fix}${where}` });
    if (blocked.length === leftMax) break;
  }
  return blocked;
}

function exitOf(summary: Summary): number {
  if (summary.failed + summary.lost > 0) return 1;
  return Object.values(summary).some((count) => count > 0) ? 0 : nothingToDo;
}

const run: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const task = context.text("task");
  if (task !== undefined && context.text("prompt") !== undefined) {
    throw usageError("--task and --prompt cannot be combined: a task has its own prompt.");
  }
  const prompt = task === undefined ? await promptOf(context) : undefined;
  const options = await optionsFor(context, 'dibs run --prompt "Fix the build"');
  const lock = await lockOf(context, options.command);
  const ended = await runOnce({
    ...options,
    killSignal: parts.killing,
    ...given({
      prompt,
      taskId: task,
      title: context.text("title"),
      sessionId: sessionOf(context),
      lock,
    }),
  });
  if (ended.type === "queued") {
    context.say(
      { success: true, queued: true, taskId: ended.taskId },
      () => `Queued: ${plain(ended.taskId)}`,
    );
    return 0;
  }
  return isUndone(ended.end) ? 1 : 0;
};

/** What waits for others (its parts, an answer) is in order; what was stopped or could not go on is not. */
function isUndone({ outcome, reason }: AttemptEnd): boolean {
  if (outcome === "released") return reason !== waitsForChildren;
  return outcome === "failed" || outcome === "lost";
}

/** Of a kind of agent, or of a command, there is one at a time where no other lock is named. */
async function lockOf(context: Context, command: readonly string[]): Promise<OnceOptions["lock"]> {
  const onConflict = context.text("on-conflict") as OnConflict | undefined;
  const named = context.text("lock");
  if (named !== undefined) return { name: named, onConflict: onConflict ?? "fork" };
  if (onConflict === undefined) return undefined;
  const name = asLockName((await kindOf(context)) ?? basename(command[0]!));
  if (name !== "") return { name, onConflict };
  throw usageError(
    `--on-conflict ${onConflict} needs a lock name: ${command[0]} has none.`,
    "Add --lock <name>.",
  );
}

/** Short enough for what a fork adds to it. */
const asLockName = (text: string) =>
  text
    .replace(/[^A-Za-z0-9._-]+|\.{2,}/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);

async function promptOf(context: Context): Promise<string> {
  const text =
    context.text("prompt") ?? (context.parts.stdin.isTerminal ? "" : await context.parts.readInput());
  if (text.trim() !== "") return text;
  throw usageError("Missing prompt.", 'Usage: dibs run --prompt "Fix the build" -- my-agent');
}

const fence: SingleCommand["run"] = async (context) => {
  const { isAllowed, message } = await askFence(context.parts.env, () => context.dibs());
  if (message) context.parts.err(`${plain(message)}\n`);
  return isAllowed ? 0 : 1;
};

export const commands: Record<string, Command> = {
  work: {
    name: "work",
    args: "[command...]",
    usage: "[flags] -- <command>",
    summary: "Claim tasks and run a command for each",
    details:
      `${briefDetails}\n` +
      "Exit code 0 completes the task. The result is the content of $DIBS_RESULT_FILE, or the end of the output. Any other exit code fails the attempt.\n" +
      "With --worktree every task starts at the current commit, merged with the branches of its dependencies. Merging the branches is up to you. dibs doctor --fix removes merged worktrees.\n" +
      "If the project's work lands (land.target), every task has a worktree that starts at the target. Exit code 0 commits what is left and submits it; the task is completed when it has landed.\n" +
      "In a worktree, git hooks refuse commits, branch updates and pushes once the claim is lost. git push --no-verify and git -c core.hooksPath=... bypass them: protect important branches on the server.\n" +
      "With --review the command judges a submission, in a checkout of it, with the patch in $DIBS_PATCH_FILE. Its verdict is the content of $DIBS_RESULT_FILE: " +
      '{"verdict": "approve" or "request-changes", "findings": "text"}. Without one, or with another exit code than 0, the review is released; after three a person is asked.\n' +
      "An agent that fails within 15s of its start, five times in a row, is throttled: one task at a time, with growing pauses, until it succeeds. Such failures use no retries. --until-empty gives up after about half an hour.\n" +
      "The runner renews the lease, stores the output (dibs show <id> --log) and stops the command when the task is cancelled or the claim is lost.",
    flags: {
      concurrency: { value: "<n>", short: "n", help: "tasks at a time (DIBS_CONCURRENCY); default 1" },
      once: { help: "exit after one task" },
      "until-empty": {
        help: "exit when all matching tasks have ended, including retries, scheduled ones and those that a lander is landing; print a summary, with what waits for people or is blocked by a failed or cancelled task",
      },
      "until-idle": { help: "exit when no task is ready" },
      label: { value: "<text>", short: "l", many: true, help: "only tasks with one of these labels" },
      review: { help: "review submissions of other agents instead of working on tasks" },
      "no-land": { help: "do not land what is submitted; see dibs land" },
      ...sharedFlags,
    },
    exits: {
      0: "success; with --once: the task was completed, submitted or released",
      1: "--once: failed or lost; --until-empty: also blocked or left to people",
      5: "with --once: nothing to claim",
    },
    examples: [
      "dibs work --agent claude --worktree -n 3",
      "dibs work --until-empty -- ./my-agent.sh --task {id}",
      "dibs work --review --until-empty -- ./my-agent.sh",
    ],
    run: work,
  },
  run: {
    name: "run",
    args: "[command...]",
    usage: "[flags] -- <command>",
    summary: "Run one command for one prompt or task",
    details: briefDetails,
    flags: {
      prompt: { value: "<text>", help: "prompt of a new task; default: standard input" },
      task: { value: "<id>", help: "run this task instead" },
      title: { value: "<text>", help: "title of the new task" },
      lock: {
        value: "<name>",
        help: "run one command at a time under this name; default with --on-conflict: the agent type or the command's name",
      },
      "on-conflict": {
        value: "<what>",
        choices: ["fork", "exit", "queue"],
        help: "if the lock is held: run anyway (default), fail, or queue the task",
      },
      ...sharedFlags,
    },
    exits: {
      0: "completed or queued, or waiting for subtasks or an answer",
      1: "attempt failed or stopped, claim lost, task not ready, or lock held",
    },
    examples: ['dibs run --prompt "Fix the build" --lock builder --on-conflict queue -- my-agent'],
    run,
  },
  fence: {
    name: "fence",
    args: "[words...]",
    summary: "Check that the claim in DIBS_TASK, DIBS_SESSION and DIBS_EPOCH is held, for git hooks",
    exits: { 0: "the claim is held", 1: "the claim is lost", 3: null, 4: null, 6: null },
    examples: ["dibs fence"],
    run: fence,
  },
};
