// All that the store knows and a brief needs: the task, results of its dependencies, earlier attempts, questions with answers.

import { DibsError } from "../../contract/error.js";
import type { WireAttempt, WireEvent, WireTask } from "../../contract/shapes.js";
import type { Dibs } from "../client.js";
import { hasEnded } from "./texts.js";

export interface Answered {
  /** Null: its event was archived. */
  question: string | null;
  answer: string;
}

export interface BriefFacts {
  task: WireTask;
  /** The first of them, without those that cannot be read. */
  dependencies: WireTask[];
  /** That ended, newest first. */
  attempts: WireAttempt[];
  /** Newest first. */
  answers: Answered[];
  /** What the claim's answer said about earlier attempts: it takes their place. */
  handover: string | null;
}

const dependenciesMax = 40;
const atOnce = 8;
const attemptsMax = 5;
const answersMax = 5;

export async function gatherFacts(
  dibs: Dibs,
  task: WireTask,
  handover: string | null = null,
): Promise<BriefFacts> {
  const isFirst = task.epoch <= 1 && task.response === null && task.question === null;
  const [dependencies, attempts, answers] = await Promise.all([
    dependenciesOf(dibs, task),
    isFirst || handover !== null ? [] : attemptsOf(dibs, task),
    isFirst ? [] : answersOf(dibs, task),
  ]);
  return { task, dependencies, attempts, answers, handover };
}

async function dependenciesOf(dibs: Dibs, { project, dependsOn }: WireTask): Promise<WireTask[]> {
  const ids = dependsOn.slice(0, dependenciesMax);
  const found: (WireTask | null)[] = [];
  for (let from = 0; from < ids.length; from += atOnce) {
    const page = ids.slice(from, from + atOnce).map((taskId) => readable(dibs, project, taskId));
    found.push(...(await Promise.all(page)));
  }
  return found.filter((task) => task !== null);
}

/** A dependency can be archived or damaged; the task can be done nevertheless. */
async function readable(dibs: Dibs, project: string, taskId: string): Promise<WireTask | null> {
  try {
    return (await dibs.tasks.get({ project, taskId })).task;
  } catch (error) {
    if (error instanceof DibsError && ["TASK_NOT_FOUND", "STORE_CORRUPT"].includes(error.code)) return null;
    throw error;
  }
}

async function attemptsOf(dibs: Dibs, { project, id: taskId }: WireTask): Promise<WireAttempt[]> {
  const { attempts } = await dibs.tasks.attempts({ project, taskId, limit: attemptsMax + 1 });
  return attempts.filter(hasEnded).slice(0, attemptsMax);
}

/** The last ones, newest first. A task keeps its last answer only; its questions, and earlier answers, are in its events. */
export async function answersOf(dibs: Dibs, task: WireTask): Promise<Answered[]> {
  const answered = pairs(await questionEvents(dibs, task));
  const { response } = task;
  if (response !== null && answered[0]?.answer !== response) {
    answered.unshift({ question: null, answer: response });
  }
  return answered.slice(0, answersMax);
}

const eventTypes: WireEvent["type"][] = ["task:awaiting-response", "task:response-received"];
const pageMax = 1_000;

export async function questionEvents(
  dibs: Dibs,
  { project, id: taskId }: Pick<WireTask, "project" | "id">,
): Promise<WireEvent[]> {
  const all: WireEvent[] = [];
  for (let after = 0; ; ) {
    const page = await dibs.events.list({ project, taskId, types: eventTypes, after, limit: pageMax });
    all.push(...page.events);
    if (page.events.length < pageMax) return all;
    after = page.nextAfter;
  }
}

function pairs(events: readonly WireEvent[]): Answered[] {
  const questions = new Map<unknown, string>();
  const answered: Answered[] = [];
  for (const { type, data } of events) {
    if (type === "task:awaiting-response") questions.set(data.questionId, String(data.question));
    else {
      answered.unshift({
        question: questions.get(data.questionId) ?? null,
        answer: String(data.response ?? ""),
      });
    }
  }
  return answered;
}
