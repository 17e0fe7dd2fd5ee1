import type { Dibs } from "../../../client/client.js";
import type { Code } from "../../../contract/codes.js";
import { DibsError } from "../../../contract/error.js";
import type { InputOf } from "../../../contract/operation.js";
import type { Registry } from "../../../contract/registry.js";
import type { WireTask } from "../../../contract/shapes.js";
import { doMany, manyDetails, manyExits, manyFlags, releaseOwn } from "../bulk.js";
import { capabilityFlag, storeCapabilities } from "../capabilities.js";
import { nothingToDo, type SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { nothingLine } from "../idle-notice.js";
import type { Display } from "../print/display.js";
import { furtherText, plain, plainLines } from "../print/text.js";
import { span } from "../print/time.js";
import { complete, fail, lostExit, resultFlags, start, submit } from "../result.js";
import { usageError } from "../spec.js";

/** One call waits no longer on the server; a longer wait is several of them. */
const waitMsMax = 60_000;

/** The holder, and the words after the id or standard input for `-`. */
async function holderAndWords(context: Context) {
  const { taskId, words } = await context.taskAndWords();
  return { holder: context.holderOf(taskId), words: await context.textOrInput(words) };
}

const withWords =
  (act: typeof complete): SingleCommand["run"] =>
  async (context) => {
    const { holder, words } = await holderAndWords(context);
    await act(context, holder, words);
  };

/** What an agent needs to begin: who it is now, and what to do. */
function briefing(task: WireTask, handover: string | undefined, display: Display): string {
  const { id, title, prompt, claim, response, responsePending } = task;
  const further = furtherText(task);
  const lines = [
    `${display.paint(plain(id), "bold")}  ${display.paint(plain(title), "bold")}`,
    display.paint(
      `session ${plain(claim?.sessionId)}, epoch ${claim?.epoch}, lease ${span(claim?.remainingMs ?? 0)}`,
      "dim",
    ),
    "",
    ...plainLines(prompt),
    ...(further ? ["", ...plainLines(further)] : []),
    ...(responsePending && response !== null
      ? ["", "The answer to your question:", ...plainLines(response)]
      : []),
    ...(handover === undefined ? [] : ["", ...plainLines(handover)]),
  ];
  return lines.join("\n");
}

/** A task that is named: as soon as it can be claimed; the refusal, when the time is up. */
async function claimNamed(context: Context, dibs: Dibs, input: InputOf<Registry["tasks"]["claim"]>) {
  const { stopping: signal, now } = context.parts;
  const until = now() + (context.duration("wait") ?? 0);
  for (;;) {
    const leftMs = Math.max(0, until - now());
    const waitMs = Math.min(waitMsMax, leftMs);
    try {
      return await dibs.tasks.claim({ ...input, waitMs }, { signal });
    } catch (error) {
      // A refusal after the longest wait of one call: the rest of the time is waited for by the next one.
      const isTimeLeft = leftMs > waitMsMax && !signal.aborted && now() - (until - leftMs) >= waitMsMax;
      if (!isTimeLeft || !(error instanceof DibsError)) throw error;
    }
  }
}

const claim: SingleCommand["run"] = async (context) => {
  const isWaiting = context.text("wait") !== undefined;
  const dibs = await (isWaiting ? context.lastingDibs() : context.dibs());
  const { sessionId } = context;
  await storeCapabilities(context, dibs, sessionId);
  const more = given({
    ttlMs: context.duration("ttl"),
    agentType: context.text("agent-type"),
    start: context.on("start") || undefined,
    metadata: context.json("metadata") as never,
  });
  const [taskId] = context.args;
  if (taskId !== undefined) {
    const input = { taskId, sessionId, register: true, ...more };
    const answer = await (isWaiting ? claimNamed(context, dibs, input) : dibs.tasks.claim(input));
    context.say(answer, (display) => briefing(answer.task, answer.handover, display));
    return 0;
  }
  const until = context.parts.now() + (context.duration("wait") ?? 0);
  const which = given({
    labels: context.texts("label"),
    resume: context.on("no-resume") ? false : undefined,
  });
  const { stopping } = context.parts;
  for (;;) {
    const waitMs = Math.max(0, Math.min(waitMsMax, until - context.parts.now()));
    const answer = await dibs.tasks.claimNext(
      { sessionId, register: true, waitMs, ...which, ...more },
      { signal: stopping },
    );
    if (answer.claim === null && !stopping.aborted && context.parts.now() < until) continue;
    context.say(answer, (display) =>
      answer.task
        ? briefing(answer.task, answer.handover, display)
        : nothingLine("why" in answer ? answer.why : undefined),
    );
    return answer.claim === null ? nothingToDo : 0;
  }
};

const ask: SingleCommand["run"] = async (context) => {
  const isWaiting = context.on("wait");
  const dibs = await (isWaiting ? context.lastingDibs() : context.dibs());
  const own = context.parts.env.DIBS_TASK;
  // A single word is a question, not the id of a task without one.
  const isQuestion = own && context.args.length === 1;
  const { taskId, words } = isQuestion
    ? { taskId: own, words: context.args[0]! }
    : await context.taskAndWords();
  const holder = context.holderOf(taskId);
  const question = await context.textOrInput(words);
  if (!question) throw usageError("Missing question.", 'Usage: dibs ask <id> "Teal or orange?"');
  // The answer may come before anybody can listen: what is heard begins before the question.
  const { lastSeq } = isWaiting ? await dibs.events.list({ limit: 1 }) : { lastSeq: 0 };
  const answer = await dibs.tasks.ask({
    ...holder,
    question,
    ...given({ options: context.texts("option"), default: context.text("default") }),
  });
  if (!isWaiting) {
    context.say(
      answer,
      () =>
        `asked; the lease is paused until the answer. Run:\n  dibs answer ${plain(taskId)} "<your answer>"`,
    );
    return 0;
  }
  const { stopping: signal } = context.parts;
  let hasAsked = false;
  for await (const { type } of dibs.events.follow({ taskId, after: lastSeq, signal })) {
    hasAsked ||= type === "task:awaiting-response";
    if (!hasAsked) continue;
    if (type === "task:response-received") {
      const now = await dibs.tasks.get({ taskId });
      context.say({ success: true, task: now.task }, () => plainLines(now.task.response).join("\n"));
      return 0;
    }
    const end = endsOfWaiting[type];
    if (end) throw new DibsError(end.code, end.says(plain(taskId)), { hint: end.hint, details: { taskId } });
  }
  return nothingToDo;
};

const release: SingleCommand["run"] = async (context) => {
  const isForced = context.on("force");
  const filter = context.text("filter");
  const { ids, words } =
    filter === undefined ? await idsAndReason(context) : { ids: [], words: context.args.join(" ") };
  const reason = (await context.textOrInput(words)) || undefined;
  if (filter !== undefined && !isForced) {
    const again = ["dibs release", ...context.flagsAgain(), "--force"].join(" ");
    throw usageError("--filter releases by force: it finds tasks of every session.", `Run: ${again}`);
  }
  const dibs = await context.dibs();
  const [taskId] = ids;
  if (taskId === undefined || ids.length > 1 || context.on("yes")) {
    const change = { action: "release" as const, ...given({ reason }) };
    return doMany(context, change, { ids, ...(isForced ? {} : { act: releaseOwn(context, dibs, reason) }) });
  }
  const by = isForced ? { taskId, force: true } : context.holderOf(taskId);
  const answer = await dibs.tasks.release({ ...by, ...given({ reason }) });
  context.say(answer, () => `released ${plain(answer.released.taskId)}`);
  return 0;
};

/** `release 0001 0002 its agent hangs`: words are ids as long as they look like generated ones, or name tasks. */
async function idsAndReason(context: Context): Promise<{ ids: string[]; words: string }> {
  const { taskId, words } = await context.taskAndWords();
  const { args, plainArgs } = context;
  if (args[0] !== taskId) return { ids: [taskId], words };
  const isSplit = plainArgs.length > 0 && plainArgs.length < args.length;
  let count = isSplit ? plainArgs.length : 1;
  while (!isSplit && count < args.length && (await isTask(context, args[count]!))) count++;
  return { ids: args.slice(0, count), words: args.slice(count).join(" ") };
}

const generatedId = /^(?:\d{4}|[A-Z]\d{3}|[A-Z]{2}\d{2}|[A-Z]{3}\d)(?:_t\d+(?:\.\d+)*)?$/;

async function isTask(context: Context, word: string): Promise<boolean> {
  if (generatedId.test(word)) return true;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(word)) return false;
  const { rows } = await (await context.dibs()).tasks.rows({ taskIds: [word] });
  return rows.length > 0;
}

interface EndOfWaiting {
  code: Code;
  says(taskId: string): string;
  hint: string;
}

const isLost: EndOfWaiting = {
  code: "CLAIM_EXPIRED",
  says: (taskId) => `Task ${taskId} was lost while its question was open.`,
  hint: "The answer goes to the next claim.",
};
const isFailed: EndOfWaiting = {
  code: "TASK_NOT_CLAIMED",
  says: (taskId) => `This attempt at task ${taskId} was reported as failed; its question is closed.`,
  hint: "Claim the task again before you continue.",
};

/** What ends a wait without an answer, told as the holder's next call would be refused. */
const endsOfWaiting: Record<string, EndOfWaiting> = {
  "task:cancelled": {
    code: "TASK_CANCELLED",
    says: (taskId) => `Task ${taskId} was cancelled.`,
    hint: "Stop working on it.",
  },
  "task:released": {
    code: "TASK_NOT_CLAIMED",
    says: (taskId) => `Task ${taskId} was released while its question was open.`,
    hint: "The answer goes to the next claim.",
  },
  "task:claim-expired": isLost,
  "task:claim-orphaned": isLost,
  "task:failed": isFailed,
  "task:retry-scheduled": isFailed,
};

export const commands: Record<string, SingleCommand> = {
  claim: {
    name: "claim",
    args: "[id]",
    summary: "Claim a task, or the best ready one",
    flags: {
      start: { help: "start it immediately" },
      wait: {
        value: "[duration]",
        bare: "60s",
        help: "wait for a ready task, or for the named one; default 60s",
      },
      ttl: { value: "<duration>", help: "lease duration" },
      label: { value: "<text>", short: "l", many: true, help: "only tasks with one of these labels" },
      "agent-type": { value: "<word>", help: "type of this agent" },
      ...capabilityFlag,
      "no-resume": { help: "do not return a task that this session already holds" },
      metadata: { value: "<json>", help: "JSON object to store with the claim" },
    },
    exits: { 1: "held by another session, or not ready", 5: "nothing to claim" },
    examples: ["dibs claim --session agent-1 --start --wait 60s", "dibs claim 0001 --session agent-1"],
    run: claim,
  },
  start: {
    name: "start",
    args: "[id]",
    summary: "Start a claimed task",
    exits: lostExit,
    examples: ["dibs start 0001 --session agent-1"],
    run: (context) => start(context, context.holder),
  },
  heartbeat: {
    name: "heartbeat",
    args: "[id]",
    summary: "Renew the lease of a claim",
    flags: { extend: { value: "<duration>", help: "lease duration from now; default: that of the claim" } },
    exits: lostExit,
    examples: ["dibs heartbeat 0001 --session agent-1", "dibs heartbeat 0001 --extend 1h --session agent-1"],
    async run(context) {
      const answer = await (await context.dibs()).tasks.heartbeat({
        ...context.holder,
        ...given({ extendMs: context.duration("extend") }),
      });
      context.say(
        answer,
        (display) =>
          `lease until ${answer.claim.expiresAt} (${span(Date.parse(answer.claim.expiresAt) - display.now)})`,
      );
    },
  },
  progress: {
    name: "progress",
    args: "[id] [note...]",
    summary: "Add a progress note and renew the lease",
    flags: { percent: { value: "<0-100>", help: "progress in percent" } },
    exits: lostExit,
    examples: ['dibs progress 0001 "half of the tests pass" --percent 50 --session agent-1'],
    async run(context) {
      const { holder, words } = await holderAndWords(context);
      const answer = await (await context.dibs()).tasks.progress({
        ...holder,
        ...given({ note: words || undefined, percent: context.number("percent") }),
      });
      context.say(answer, () => `noted on ${plain(answer.task.id)}`);
    },
  },
  usage: {
    name: "usage",
    args: "[id]",
    summary: "Report what an attempt has cost so far",
    details:
      "Figures are totals of the attempt: the largest report counts, until 24 hours after the attempt has ended. Budgets of the resources it used are charged.",
    flags: {
      usd: { value: "<amount>", help: "cost in US dollars" },
      "input-tokens": { value: "<n>", help: "tokens that the model has read" },
      "output-tokens": { value: "<n>", help: "tokens that the model has written" },
      model: { value: "<name>", help: "model of the agent" },
    },
    exits: {
      1: "not claimed, or ended more than 24 hours ago",
      4: "not allowed, or the attempt of another session",
    },
    examples: [
      "dibs usage 0001 --usd 0.42 --session agent-1",
      "dibs usage 0001 --input-tokens 120000 --output-tokens 8000 --model opus --session agent-1",
    ],
    async run(context) {
      const usage = given({
        usd: context.number("usd"),
        inputTokens: context.number("input-tokens"),
        outputTokens: context.number("output-tokens"),
        model: context.text("model"),
      });
      if (Object.keys(usage).length === 0)
        throw usageError("Missing figures.", "For example: dibs usage 0001 --usd 0.42");
      const { taskId } = context;
      const answer = await (await context.dibs()).tasks.usage({ ...context.holderOf(taskId), ...usage });
      context.say(answer, () => `reported on ${plain(answer.attempt.taskId)}`);
    },
  },
  ask: {
    name: "ask",
    args: "[id] [question...]",
    summary: "Ask a human a question; the lease is paused until the answer",
    details: "In a command that dibs work runs, the task and the session are set.",
    flags: {
      wait: { help: "wait for the answer and print it" },
      option: { value: "<text>", many: true, help: "suggested answer; repeatable" },
      default: { value: "<text>", help: "what the agent does without an answer" },
    },
    exits: { ...lostExit, 5: "stopped before the answer" },
    examples: [
      'dibs ask 0001 "Teal or orange?" --option teal --option orange --session agent-1',
      'dibs ask --wait "Drop the old table?"',
    ],
    run: ask,
  },
  done: {
    name: "done",
    args: "[id] [result...]",
    summary: "Complete a task",
    details:
      "If the project's work lands (land.target), the change in the current directory is handed in first, as dibs submit does. Files that are not committed are refused, except in the task's own worktree.",
    flags: resultFlags,
    exits: { 1: "claim lost, wrong state, open subtasks, or files that are not committed" },
    examples: ['dibs done 0001 "Created the user model" -c src/user.ts --session agent-1'],
    run: withWords(complete),
  },
  submit: {
    name: "submit",
    args: "[id] [summary...]",
    summary: "Hand in the change of a task, to be landed on the project's target branch",
    details:
      "In the worktree of the task, everything in it is handed in. In another checkout of the project's repository it is HEAD, unless --commit names another commit; without anything that the target does not have, no change is handed in. The task is completed when its change is on the target branch (project setting land.target).",
    flags: {
      commit: { value: "<commit>", help: "commit to hand in; default: HEAD" },
      ...resultFlags,
    },
    exits: { 1: "claim lost, wrong state, open subtasks, uncommitted files, landing off" },
    examples: ['dibs submit 0001 "Created the user model" --session agent-1'],
    run: withWords(submit),
  },
  fail: {
    name: "fail",
    args: "[id] [error...]",
    summary: "Report a failed attempt",
    details: "The task is retried with backoff while it has retries left.",
    flags: { "no-retry": { help: "do not retry" } },
    exits: lostExit,
    examples: ['dibs fail 0001 "bcrypt is missing" --session agent-1'],
    run: withWords(fail),
  },
  release: {
    name: "release",
    args: "[id...] [reason...]",
    summary: "Return tasks to the queue",
    details: `The words that name tasks are ids, the others are the reason. Everything after -- is the reason. ${manyDetails}`,
    flags: { force: { help: "release the claim of any session; required with --filter" }, ...manyFlags },
    exits: { ...lostExit, ...manyExits },
    examples: [
      "dibs release 0001 --session agent-1",
      'dibs release 0001 0002 --force "their agents hang"',
      'dibs release --filter "agent:agent-1" --force',
    ],
    run: release,
  },
};
