// What each tool does: a call or two of the client, and the answer in words. Questions have a file of their own.

import { renderBrief } from "../../client/brief/brief.js";
import { gatherFacts } from "../../client/brief/facts.js";
import type { Dibs } from "../../client/client.js";
import { Ending } from "../../common/abort.js";
import { DibsError } from "../../contract/error.js";
import type { WireClaim, WireTask } from "../../contract/shapes.js";
import type { AgentSessions, FoundChange } from "./agent-sessions.js";
import {
  answerBlock,
  attemptBlocks,
  attemptsShown,
  fitting,
  holdingLine,
  questionLines,
  reasonBlock,
  resultBlock,
  stateLine,
  taskLines,
  textOf,
} from "./answers.js";
import { type Arguments, priorityOf, waitMsOf } from "./arguments.js";
import { asDibsError } from "./refusals.js";
import { claimReview, giveVerdict, howToJudge, isReview, reviewReleased } from "./reviews.js";
import type { ToolName } from "./tools.js";

export type Claimed = Awaited<ReturnType<Dibs["tasks"]["claimNext"]>>;

export type Handler = (agents: AgentSessions, input: Arguments, signal: AbortSignal) => Promise<string[]>;

/** Leaves out what was not given. */
export function given<T extends Record<string, unknown>>(
  input: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never;
}

const createTask: Handler = async (agents, input) => {
  const { dibs, created } = await agents.createdDibs();
  const { task } = await dibs.tasks.create(
    given({
      prompt: input.description as string,
      title: input.title as string | undefined,
      priority: priorityOf(input.priority),
      dependsOn: input.dependencies as string[] | undefined,
      parentId: input.parent_id as string | undefined,
      files: input.files as string[] | undefined,
      labels: input.labels as string[] | undefined,
      sessionId: (input.agent_id as string | undefined) ?? agents.options.defaultAgent,
    }),
  );
  const waits = task.pendingDependencies > 0;
  return [
    ...(created === null ? [] : [`Created store ${created}`]),
    `Created task ${task.id}${waits ? `; it waits for ${task.pendingDependencies} of its dependencies` : ", ready to be claimed"}.`,
    waits
      ? "Next: create_task for more, or claim_task to work."
      : `Next: claim_task${input.parent_id ? ` with task_id ${task.id}` : ""} to work on it, or create_task for more.`,
  ];
};

const claimTask: Handler = async (agents, input, signal) => {
  if (isReview(input)) return claimReview(agents, input, signal);
  const agentId = agents.nameOf(input.agent_id);
  const waitMs = waitMsOf(input.wait_seconds);
  const wish: Wish = given({
    sessionId: agentId,
    start: input.start as boolean | undefined,
    register: agents.renews ? undefined : true,
    agentType: agents.renews ? undefined : agents.options.agentType,
  });
  const named = input.task_id as string | undefined;
  return agents.act(agentId, async (dibs) => {
    const broken = new Ending([signal, agents.signal]);
    const options = { waitMs, signal: broken.signal };
    const claimed = await (named
      ? byId(dibs, wish, named, options)
      : best(agents, dibs, wish, options)
    ).finally(() => broken.release());
    const { claim, resumed } = claimed;
    if (!claim) return nothing(claimed, waitMs);
    agents.hold(agentId, claim);
    if (broken.isOver && !named && !resumed) return takeBack(agents, dibs, claim);
    return [
      ...(resumed ? ["You already hold this task. Complete or release it before you claim another."] : []),
      holdingLine(claim, claimed.task, agents.renews),
      await briefing(dibs, claimed.task, claimed.handover),
      nextFor(claimed.task),
    ];
  });
};

type Wish = Omit<Parameters<Dibs["tasks"]["claimNext"]>[0] & object, "waitMs">;

async function byId(
  dibs: Dibs,
  wish: Wish,
  taskId: string,
  { waitMs, signal }: Partial<Waiting> = {},
): Promise<Claimed> {
  const claimed = await dibs.tasks.claim(given({ ...wish, taskId, waitMs }), signal ? { signal } : {});
  return { ...claimed, resumed: false };
}

interface Waiting {
  waitMs: number;
  signal: AbortSignal;
}

async function best(
  agents: AgentSessions,
  dibs: Dibs,
  wish: Wish,
  { waitMs, signal }: Waiting,
): Promise<Claimed> {
  // A runner's agent has its task, whatever else its session may hold.
  const own = agents.givenTo(wish.sessionId);
  if (own !== undefined) return { ...(await byId(dibs, wish, own)), resumed: true } as Claimed;
  const before = agents.takeUnheardOf(wish.sessionId);
  const again = before === undefined ? null : await byId(dibs, wish, before).catch(() => null);
  return again ?? dibs.tasks.claimNext({ ...wish, waitMs }, { signal });
}

/** Nobody hears that it was granted. */
async function takeBack(
  agents: AgentSessions,
  dibs: Dibs,
  { taskId, sessionId, epoch }: WireClaim,
): Promise<string[]> {
  await dibs.tasks.release({ taskId, sessionId, epoch, reason: "its call was aborted" });
  agents.letGo(sessionId, taskId);
  agents.keepUnheardOf(sessionId, taskId);
  return [`The call was aborted; task ${taskId} went back.`];
}

function nothing(answer: Claimed, waitMs: number): string[] {
  const why = "why" in answer ? answer.why : undefined;
  return [
    why?.message ?? "Nothing to claim.",
    ...(waitMs > 0 ? [`Waited ${waitMs / 1000} s.`] : []),
    "Next: claim_task with wait_seconds 50 to wait for work, or stop if you expect none.",
  ];
}

/** What an agent needs to begin: the same brief as a runner's command gets. */
async function briefing(dibs: Dibs, task: WireTask, handover: string | null = null): Promise<string> {
  return renderBrief(await gatherFacts(dibs, task, handover), (taskId) => `Call: get_task ${taskId}`);
}

function nextFor({ id, state }: WireTask): string {
  const ends = "complete_task or fail_task; ask_human if you are stuck";
  if (state === "awaiting_response")
    return "Next: ask_human with the same question and wait_seconds to wait for the answer.";
  return state === "claimed" ? `Next: start_task ${id}, then ${ends}.` : `Next: do it, then ${ends}.`;
}

const startTask: Handler = async (agents, input) => {
  const { task } = await asHolder(agents, input, (dibs, holder) => dibs.tasks.start(holder));
  return [
    `Task ${task.id} is running.`,
    "Next: do it, then complete_task or fail_task; update_progress on the way.",
  ];
};

const completeTask: Handler = async (agents, input) => {
  const agent = agents.nameOf(input.agent_id);
  const review = agents.reviewOf(agent, input.task_id as string);
  if (input.verdict !== undefined || review !== undefined) return giveVerdict(agents, input);
  const result = {
    output: (input.output as string | undefined) ?? "",
    filesCreated: (input.files_created as string[] | undefined) ?? [],
    filesModified: (input.files_modified as string[] | undefined) ?? [],
  };
  let found: FoundChange | undefined;
  const answer = await asHolder(agents, input, async (dibs, holder) => {
    found = await agents.options.changeOf?.(dibs, holder);
    if (!found?.change) return dibs.tasks.complete({ ...holder, result });
    const { task } = await dibs.tasks.submit({ ...holder, ...found.change, result });
    return { task, unblocked: [], unblockedCount: 0 };
  });
  agents.letGo(agents.nameOf(input.agent_id), answer.task.id);
  if (answer.task.state === "submitted") return submittedLines(answer.task, found?.isKnown ?? false);
  const { unblocked, unblockedCount } = answer;
  const more = unblockedCount > 10 ? ` and ${unblockedCount - 10} more` : "";
  const freed = unblockedCount > 0 ? ` Now ready: ${unblocked.slice(0, 10).join(", ")}${more}.` : "";
  return [`Completed task ${answer.task.id}.${freed}`, "Next: claim_task."];
};

/** Without a change, an agent that has one must notice. */
function submittedLines({ id, submission }: WireTask, isKnown: boolean): string[] {
  if (submission?.commit)
    return [
      `Submitted task ${id} with commit ${submission.commit.slice(0, 12)}: it waits for the lander, which checks its change and merges it. The task is completed, and its dependents start, when the change has landed.`,
      "Do not merge or push it yourself.",
      "Next: claim_task.",
    ];
  const why = isKnown ? "nothing was changed" : "this server does not see the repository you work in";
  return [
    `Submitted task ${id}. No change was handed in: ${why}.`,
    `If you changed files: run dibs withdraw ${id}, claim the task again, commit, and run in the repository: dibs submit ${id}`,
    "Next: claim_task.",
  ];
}

const failTask: Handler = async (agents, input) => {
  const answer = await asHolder(agents, input, (dibs, holder) =>
    dibs.tasks.fail(
      given({
        ...holder,
        error: input.error as string,
        retryable: input.retryable as boolean | undefined,
      }),
    ),
  );
  agents.letGo(agents.nameOf(input.agent_id), answer.task.id);
  if (answer.task.state === "submitted") return reviewReleased(answer.task.id);
  const what = answer.willRetry
    ? `The next attempt starts after ${answer.retryAt} on.`
    : "The task failed; no retry follows, and people are notified.";
  return [`Attempt at task ${answer.task.id} failed. ${what}`, "Next: claim_task."];
};

const updateProgress: Handler = async (agents, input) => {
  const usage = given({
    usd: input.usd as number | undefined,
    inputTokens: input.input_tokens as number | undefined,
    outputTokens: input.output_tokens as number | undefined,
    model: input.model as string | undefined,
  });
  const hasUsage = Object.keys(usage).length > 0;
  const isOnlyUsage = hasUsage && input.note === undefined && input.percent === undefined;
  const saved = await asHolder(agents, input, async (dibs, holder) => {
    const progress = { note: input.note as string | undefined, percent: input.percent as number | undefined };
    const answer = await dibs.tasks.progress(given({ ...holder, ...progress })).catch((error) => {
      // What an attempt has cost is taken for a day after its end.
      if (isOnlyUsage && error instanceof DibsError && error.code === "TASK_NOT_CLAIMED") return null;
      throw error;
    });
    if (answer === null) {
      await dibs.tasks.usage({ ...holder, ...usage });
      return null;
    }
    const isReview = answer.task.state === "submitted";
    if (hasUsage && !isReview) await dibs.tasks.usage({ ...holder, ...usage });
    return answer;
  });
  if (saved === null)
    return [`The cost of your attempt at task ${input.task_id} is saved.`, "Next: claim_task."];
  const { task } = saved;
  if (task.state === "submitted")
    return [`Your review of task ${task.id} is renewed.`, `Next: ${howToJudge(task.id)}`];
  return [
    `Progress saved. Your claim on ${task.id} runs until ${task.claim?.expiresAt}.`,
    "Next: continue, then complete_task or fail_task.",
  ];
};

const releaseTask: Handler = async (agents, input) => {
  const { task, released } = await asHolder(agents, input, (dibs, holder) =>
    dibs.tasks.release(given({ ...holder, reason: input.reason as string | undefined })),
  );
  agents.letGo(agents.nameOf(input.agent_id), released.taskId);
  if (task.state === "submitted") return reviewReleased(released.taskId);
  return [`Released task ${released.taskId}; it is ${task.state}.`, "Next: claim_task for other work."];
};

/** Every act of a holder carries its fence. */
export function asHolder<T>(
  agents: AgentSessions,
  input: Arguments,
  action: (dibs: Dibs, holder: ReturnType<AgentSessions["holder"]>) => Promise<T>,
): Promise<T> {
  const agentId = agents.nameOf(input.agent_id);
  const act = (dibs: Dibs) => action(dibs, agents.holder(agentId, input.task_id as string));
  return agents.act(agentId, act, true);
}

/** Where there is no store there are no tasks. */
export function notYet(error: unknown): DibsError {
  const refusal = asDibsError(error);
  if (refusal.code !== "STORE_NOT_FOUND") throw error;
  return refusal;
}

const pageMax = 50;

const listTasks: Handler = async (agents, input) => {
  const dibs = await agents.dibs().catch(notYet);
  if (dibs instanceof DibsError)
    return [`No tasks. ${dibs.message}`, "Next: create_task creates the store with the first task."];
  const limit = Math.max(1, Math.min((input.limit as number | undefined) ?? 25, pageMax));
  const filter = given({
    state: input.state as never,
    claimable: input.ready as boolean | undefined,
    q: input.query as string | undefined,
    parent: input.parent_id as string | undefined,
    cursor: input.cursor as string | undefined,
  });
  const page = await dibs.tasks.list({ ...filter, limit });
  const fits = fitting(page.tasks);
  // The cursor of a page stands after its last task.
  const { tasks, nextCursor } =
    fits < page.tasks.length ? await dibs.tasks.list({ ...filter, limit: fits }) : page;
  if (tasks.length === 0) return ["No tasks match.", "Next: create_task, or list_tasks with other filters."];
  return [
    `${tasks.length} tasks: id, state, priority, title.`,
    taskLines(tasks),
    nextCursor === null
      ? "Next: get_task for one of them, or claim_task."
      : `More: list_tasks with the same filters and cursor ${nextCursor}`,
  ];
};

const getTask: Handler = async (agents, input) => {
  const agentId = (input.agent_id as string | undefined) ?? agents.options.defaultAgent;
  return describe(await agents.dibs(), input.task_id as string, agentId);
};

export async function describe(dibs: Dibs, taskId: string, agentId?: string): Promise<string[]> {
  const [{ task }, { reasons, claimable }, { attempts }] = await Promise.all([
    dibs.tasks.get({ taskId }),
    explained(dibs, taskId, agentId),
    dibs.tasks.attempts({ taskId, limit: attemptsShown + 1 }),
  ]);
  const isWaiting = task.state === "queued" && !claimable && reasons.length > 0;
  const isOver = task.state === "completed" || task.state === "cancelled";
  const earlier = isOver ? [] : attemptBlocks(attempts);
  return [
    `${stateLine(task)}.`,
    textOf(task),
    ...questionLines(task),
    ...(isWaiting ? [reasonBlock(task.id, reasons)] : []),
    ...(earlier.length > 0 ? ["Attempts:", ...earlier] : []),
    ...(task.responsePending ? ["A human answered; not acknowledged yet:", answerBlock(task)] : []),
    ...resultBlock(task),
    afterGet(task, claimable),
  ];
}

/** As this agent sees it, if it is known yet; of one that is not, only what asks for nobody in particular is claimable for sure. */
export async function explained(dibs: Dibs, taskId: string, sessionId?: string): Promise<Explained> {
  const forAll = () => dibs.tasks.explain({ taskId });
  if (sessionId === undefined) return forAll();
  try {
    return await dibs.tasks.explain({ taskId, sessionId });
  } catch (error) {
    if (asDibsError(error).code !== "SESSION_NOT_FOUND") throw error;
  }
  const [answer, { task }] = await Promise.all([forAll(), dibs.tasks.get({ taskId })]);
  const { assignee, agentType, requires } = task;
  const isForAll = (assignee === null || assignee === sessionId) && !agentType && requires.length === 0;
  return { ...answer, claimable: answer.claimable && isForAll };
}

type Explained = Awaited<ReturnType<Dibs["tasks"]["explain"]>>;

function afterGet({ id, state }: WireTask, claimable: boolean): string {
  if (claimable) return `Next: claim_task with task_id ${id}.`;
  if (state === "claimed" || state === "running")
    return "Next: if it is yours, continue; else claim_task for other work.";
  if (state === "awaiting_response")
    return "Next: if the question is yours, ask_human with it and wait_seconds to wait for the answer; else claim_task for other work.";
  return "Next: claim_task for other work.";
}

export const handlers: Record<Exclude<ToolName, "ask_human">, Handler> = {
  create_task: createTask,
  claim_task: claimTask,
  start_task: startTask,
  complete_task: completeTask,
  fail_task: failTask,
  update_progress: updateProgress,
  release_task: releaseTask,
  list_tasks: listTasks,
  get_task: getTask,
};
