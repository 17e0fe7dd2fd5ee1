// Adds the hand-over to the answer of a claim: what the store knows about earlier attempts, read after the claim. A first attempt has
// none, and costs no lookup.

import type { WireClaim, WireTask } from "../contract/shapes.js";
import { type Answered, type History, handoverText, hasFailed } from "../core/handover.js";
import { landingPlace, newestLandings, submissionOf } from "../core/landing.js";
import { logKey, logKind, toLog } from "../core/log.js";
import type { Task } from "../core/task.js";
import type { Reads } from "../core/view.js";
import type { Executor } from "./execute.js";

interface Claimed {
  claim: WireClaim | null;
  task: WireTask | null;
}

/** Whether a claim is not the first of its task. A review has an epoch of its own. */
const hasEarlier = (answer: Claimed): answer is { claim: WireClaim; task: WireTask } =>
  answer.claim !== null && answer.claim.epoch > 1 && !("review" in answer);

/** Promises are passed on: most claims are first ones. */
export function withHandover<T extends Claimed>(
  executor: Executor,
  org: string,
  answer: T,
): T | Promise<T & { handover?: string }> {
  return hasEarlier(answer) ? extended(executor, org, answer) : answer;
}

/** The task is claimed: whatever the history holds, the caller must learn that. */
async function extended<T extends Claimed>(
  executor: Executor,
  org: string,
  answer: T & { claim: WireClaim; task: WireTask },
) {
  const { project, id } = answer.task;
  const read = executor.store.read(org, (view) => {
    const task = view.task(project, id);
    const history = task ? historyOf(view, task, answer.claim.epoch) : null;
    return history && handoverText(history);
  });
  const handover = await read.catch(
    () => `The history of earlier attempts cannot be read. Run: dibs show ${id} --attempts`,
  );
  return handover === null ? answer : { ...answer, handover };
}

const attemptsMax = 5;
/** An attempt has at most one. */
const submissionsMax = attemptsMax;
const searchedMax = 50;

/** Before the attempt with this epoch: the answer of a claim can be repeated after its end. */
function historyOf(view: Reads, task: Task, epoch: number): History | null {
  const { project, id } = task;
  const isEarlier = (each: { epoch: number }) => each.epoch < epoch;
  const attempts = view.attempts(project, id, attemptsMax).filter(isEarlier);
  const [newest] = attempts;
  if (!newest) return null;
  const log = view.document(logKind, logKey(project, id, newest.epoch));
  const last = task.submission?.number ?? 0;
  const submissions = Array.from({ length: Math.min(last, submissionsMax) }, (_, at) =>
    submissionOf(view, task, last - at),
  )
    .filter((submission) => submission !== null)
    .filter(isEarlier);
  const isConflict = submissions.some(({ end }) => end?.reason === "conflict");
  const older = attempts.some((each) => hasFailed(each, submissions))
    ? null
    : failureBefore(view, task, attempts.at(-1)!.epoch);
  return {
    attemptCount: Math.max(attempts.length, newest.epoch),
    attempts: [...attempts, ...(older ? [older.attempt] : [])],
    submissions: [...submissions, ...(older?.submissions ?? [])],
    log: log ? toLog(log).text : null,
    answers: answersOf(view, task),
    landed: isConflict ? landedBefore(view, task) : [],
  };
}

/** Attempts that only gave the task back do not hide why an earlier one failed. */
function failureBefore(view: Reads, task: Task, epoch: number) {
  for (const attempt of view.attempts(task.project, task.id, searchedMax)) {
    if (attempt.epoch >= epoch) continue;
    const number = attempt.answer?.submission;
    const own = number === undefined ? null : submissionOf(view, task, number);
    const submissions = own ? [own] : [];
    if (hasFailed(attempt, submissions)) return { attempt, submissions };
  }
  return null;
}

const eventsMax = 1_000;
const pagesMax = 10;

/** A task keeps its last answer only; its questions, and earlier answers, are in its events. */
function answersOf(view: Reads, { project, id: taskId, response }: Task): Answered[] {
  const questions = new Map<unknown, string>();
  const answers: Answered[] = [];
  const types = ["task:awaiting-response", "task:response-received"] as const;
  for (let after = 0, page = 0; page < pagesMax; page++) {
    const events = view.events({ project, taskId, types, after, limit: eventsMax, readableOnly: true });
    for (const { type, data } of events) {
      if (type === "task:awaiting-response") questions.set(data.questionId, String(data.question));
      else {
        const question = questions.get(data.questionId) ?? null;
        answers.unshift({ question, answer: String(data.response ?? "") });
      }
    }
    if (events.length < eventsMax) break;
    after = events.at(-1)!.seq;
  }
  if (response !== null && answers[0]?.answer !== response)
    answers.unshift({ question: null, answer: response });
  return answers;
}

const landingsMax = 30;
const landedMax = 60;

/** What landed last where this task lands, with the paths that it changed. */
function landedBefore(view: Reads, task: Task): History["landed"] {
  const project = view.project(task.project);
  const place = project && landingPlace(project);
  if (!place) return [];
  return newestLandings(view, landingsMax)
    .filter(({ state, target, repository }) => {
      return state === "landed" && target === place.target && repository === place.repository;
    })
    .flatMap(({ tasks }) => tasks)
    .slice(0, landedMax)
    .flatMap((each) => {
      const other = view.task(each.project, each.taskId);
      const diff = other ? submissionOf(view, other, each.submission)?.diff : null;
      return diff ? [{ taskId: each.taskId, paths: diff.files.map(({ path }) => path) }] : [];
    });
}
