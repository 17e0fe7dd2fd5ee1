// ask_human. The question is stored first and outlives everything; then the human at this client is asked as well, if the client
// can do that. Whoever answers first answers; the answer is read from the store and is repeated until the agent acts on it.

import { questionEvents } from "../../client/brief/facts.js";
import type { Dibs } from "../../client/client.js";
import { Ending, pause } from "../../common/abort.js";
import type { WireTask } from "../../contract/shapes.js";
import type { AgentSessions } from "./agent-sessions.js";
import { answerBlock } from "./answers.js";
import { type Arguments, waitMsMax, waitMsOf } from "./arguments.js";
import { asHolder, given } from "./handlers.js";
import { asDibsError } from "./refusals.js";

export interface Question {
  taskId: string;
  id: string;
  text: string;
  options?: string[];
}

/** The human at this client; the signal ends the asking when another one was faster. Null: no answer. */
export type Elicit = (question: Question, signal: AbortSignal) => Promise<string | null>;

export async function askHuman(
  agents: AgentSessions,
  input: Arguments,
  signal: AbortSignal,
  elicit: Elicit | null,
): Promise<string[]> {
  // With somebody to ask right here it is worth waiting.
  const waitMs = input.wait_seconds === undefined && elicit ? waitMsMax : waitMsOf(input.wait_seconds);
  const { task, isNew } = await put(agents, input);
  if (task.responsePending) return told(task);
  const question = questionOf(task);
  if (!question) return told(task);
  const refused = new AbortController();
  if (elicit && isNew) askHere(agents, question, elicit, () => refused.abort());
  const ends = [signal, agents.signal, refused.signal];
  const latest = waitMs > 0 ? await answered(agents, question, new Ending(ends, waitMs)) : task;
  return [...(refused.signal.aborted ? [notNow] : []), ...told(latest, question)];
}

export const notNow = "The user of this client did not answer.";

export function questionOf({ id: taskId, question }: WireTask): Question | null {
  if (!question) return null;
  const { id, text, options } = question;
  return { taskId, id, text, ...(options ? { options } : {}) };
}

/** Asked again, the same question is not asked twice: the agent just waits for its answer. */
export async function put(
  agents: AgentSessions,
  input: Arguments,
): Promise<{ task: WireTask; isNew: boolean }> {
  const text = input.question as string;
  return asHolder(agents, input, async (dibs, holder) => {
    const { task } = await dibs.tasks.get({ taskId: holder.taskId });
    const isOwn = task.claim?.sessionId === holder.sessionId;
    if (isOwn && (await wasAsked(dibs, task, text))) return { task, isNew: false };
    const asked = await dibs.tasks.ask(
      given({
        ...holder,
        question: text,
        options: input.options as string[] | undefined,
        default: input.default as string | undefined,
      }),
    );
    return { task: asked.task, isNew: true };
  });
}

/** It is open, or its answer has not been acknowledged yet. */
async function wasAsked(dibs: Dibs, task: WireTask, text: string): Promise<boolean> {
  if (task.question) return task.question.text === text;
  return task.responsePending && (await lastQuestion(dibs, task)) === text;
}

/** Its text is in the event only. */
async function lastQuestion(dibs: Dibs, task: WireTask): Promise<unknown> {
  const asked = (await questionEvents(dibs, task)).filter(({ type }) => type === "task:awaiting-response");
  return asked.at(-1)?.data.question;
}

/** In the background: the answer is found in the store, whoever gave it. */
function askHere(agents: AgentSessions, question: Question, elicit: Elicit, onRefused: () => void): void {
  const asking = new Ending([agents.signal]);
  // Only an answer ends the asking: an agent that stops waiting does not take the question back.
  void untilAnswered(agents, question, asking.signal).then(
    () => asking.end(),
    () => undefined,
  );
  elicit(question, asking.signal)
    .then((response) => (response === null ? onRefused() : respond(agents, question, response)))
    .catch((error) => {
      if (!asking.isOver) agents.options.onTrouble?.(error);
    })
    .finally(() => asking.end());
}

/** With a token of too low a role a human's answer would be refused: then nobody is asked here. */
export async function mayAnswer(agents: AgentSessions): Promise<boolean> {
  if (agents.options.mayAnswer !== undefined) return agents.options.mayAnswer;
  const dibs = await agents.dibs();
  try {
    // For those who may answer, too, and it changes nothing.
    await dibs.tasks.bulk({ action: "retry", taskIds: ["0"], dryRun: true });
    return true;
  } catch (error) {
    if (asDibsError(error).code === "FORBIDDEN") return false;
    throw error;
  }
}

/** Another answer may have been first: then it stands. */
export async function respond(
  agents: AgentSessions,
  { taskId, id }: Question,
  response: string,
): Promise<void> {
  const dibs = await agents.dibs();
  try {
    await dibs.tasks.respond({ taskId, questionId: id, response });
  } catch (error) {
    const { code } = asDibsError(error);
    if (code !== "TASK_NOT_AWAITING" && code !== "QUESTION_MISMATCH") throw error;
  }
}

async function answered(agents: AgentSessions, question: Question, enough: Ending): Promise<WireTask> {
  try {
    return await untilAnswered(agents, question, enough.signal);
  } finally {
    enough.release();
  }
}

const lookEveryMs = 2_000;

/** Events wake it; it looks by itself, too, in case the stream broke. Returns the task as it was last seen. */
async function untilAnswered(
  agents: AgentSessions,
  { taskId, id }: Question,
  signal: AbortSignal,
): Promise<WireTask> {
  const dibs = await agents.dibs();
  const either = new Ending([signal]);
  const events = dibs.events.follow({ taskId, signal: either.signal });
  try {
    let next: Promise<unknown> = nextOf(events);
    for (;;) {
      const { task } = await dibs.tasks.get({ taskId });
      if (task.question?.id !== id || signal.aborted) return task;
      const isWoken = await Promise.race([next, pause(lookEveryMs, either.signal)]);
      if (isWoken === true) next = nextOf(events);
    }
  } finally {
    either.end();
  }
}

/** True with the next event; never if there are no more. */
async function nextOf(events: AsyncGenerator<unknown>): Promise<true> {
  const isOver = await events.next().then(
    ({ done }) => done,
    () => true,
  );
  return isOver ? new Promise<never>(() => undefined) : true;
}

function told(task: WireTask, question?: Question): string[] {
  if (task.responsePending) {
    return [
      `A human answered your question about task ${task.id}:`,
      answerBlock(task),
      "Next: continue with the task.",
    ];
  }
  if (question && task.question?.id === question.id) {
    return [
      `Question ${question.id} about task ${task.id} is open. You keep the task; its lease clock is stopped until the answer.`,
      "The answer comes with your next call. Next: ask_human with the same question and wait_seconds 50 to wait, or claim_task with a task_id for other work.",
    ];
  }
  return [`The question is no longer open; task ${task.id} is ${task.state}.`, "Next: get_task."];
}
