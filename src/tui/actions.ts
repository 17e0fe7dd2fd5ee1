// What people do to tasks. Every refusal becomes a line at the bottom, and every deed says which command would have done it.

import type { WireSubmission } from "../client/brief/review-facts.js";
import { type Action, cliFor, type Details } from "../client/view/commands.js";
import { staysUnread } from "../client/view/inbox.js";
import { holdCommand, isHeld, resumeCommand } from "../client/view/resources.js";
import { approverText, diffText } from "../client/view/reviews.js";
import { plain } from "../common/text.js";
import { DibsError } from "../contract/error.js";
import type { WireResource, WireTask } from "../contract/shapes.js";
import type { TaskName } from "./detail.js";
import { Editor } from "./editor.js";
import type { State } from "./state.js";

/** With the project where a command would look elsewhere by itself. */
function commandFor(state: State, action: Action, name: TaskName, more: Partial<Details> = {}): string {
  const isOwn = state.live.projects.find(({ id }) => id === name.project)?.isDefault === true;
  return cliFor(action, { taskId: name.taskId, ...(isOwn ? {} : { project: name.project }), ...more });
}

async function attempt(state: State, command: string | undefined, act: () => Promise<string>): Promise<void> {
  try {
    state.say(await act(), { tone: "good", command });
    state.live.refresh();
    state.detail?.ask();
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    state.say([message, hint].filter(Boolean).join(" "), { tone: "bad" });
  }
}

function retry(state: State, name: TaskName): Promise<void> {
  return attempt(state, commandFor(state, "retry", name), async () => {
    await state.dibs.tasks.retry(name);
    await readAbout(state, name);
    return `queued ${name.taskId} again`;
  });
}

export function askToCancel(state: State, name: TaskName): void {
  const command = commandFor(state, "cancel", name);
  const act = () =>
    attempt(state, command, async () => {
      await state.dibs.tasks.cancel(name);
      await readAbout(state, name);
      return `cancelled ${name.taskId}`;
    });
  state.question = { text: `Cancel ${named(state, name)}?`, command, act };
}

export function askToRelease(state: State, name: TaskName): void {
  const command = commandFor(state, "release", name);
  const act = () =>
    attempt(state, command, async () => {
      await state.dibs.tasks.release({ ...name, force: true });
      return `released ${name.taskId}`;
    });
  state.question = { text: `Take ${named(state, name)} from its holder?`, command, act };
}

/** Without an end: for a time, the command has a flag. */
export function askToHold(state: State, { id }: WireResource): void {
  const command = holdCommand(id);
  const act = () =>
    attempt(state, command, async () => {
      await state.dibs.resources.hold({ id });
      return `held ${id}`;
    });
  state.question = { text: `Let no claim get ${plain(id)} until it is resumed?`, command, act };
}

export function askToResume(state: State, resource: WireResource): void {
  const { id } = resource;
  if (!isHeld(resource)) {
    state.say(`${plain(id)} is not held.`);
    return;
  }
  const command = resumeCommand(id);
  const act = () =>
    attempt(state, command, async () => {
      await state.dibs.resources.resume({ id });
      return `resumed ${id}`;
    });
  state.question = { text: `End the holds of ${plain(id)}?`, command, act };
}

/** Who acts on a task has read what was said about it. */
async function readAbout({ dibs, live }: State, { project, taskId }: TaskName): Promise<void> {
  const { failures = [], notes = [] } = live.inbox ?? {};
  const about = [...failures.flatMap((failure) => failure.notes), ...notes].filter(
    (note) => note.project === project && note.taskId === taskId && !staysUnread(note),
  );
  for (const { id } of about) await dibs.notifications.read({ id });
}

function named(state: State, { project, taskId }: TaskName): string {
  const title = state.live.index?.get(project, taskId)?.title;
  return title === undefined ? taskId : `${taskId} ${plain(title)}`;
}

/** The whole question is needed: what can be answered, and which one it is. */
async function beginAnswer(state: State, name: TaskName): Promise<void> {
  try {
    const { task } = await state.dibs.tasks.get(name);
    if (task.question) state.prompt = { kind: "answer", editor: new Editor(), choices: null, task };
    else state.say(`${task.id} has no open question.`);
    state.touched();
  } catch (error) {
    state.say((error as Error).message, { tone: "bad" });
  }
}

/** Approves what waits for a review, or answers what is asked. */
export async function answerOrApprove(state: State, name: TaskName): Promise<void> {
  if (isSubmitted(state, name)) await askToApprove(state, name);
  else await beginAnswer(state, name);
}

/** Requests changes of what waits for a review, or retries what ended. */
export async function retryOrReject(state: State, name: TaskName): Promise<void> {
  if (isSubmitted(state, name)) await beginChanges(state, name);
  else await retry(state, name);
}

const isSubmitted = ({ live }: State, { project, taskId }: TaskName) =>
  live.index?.get(project, taskId)?.state === "submitted";

/** The number is the one that was on the screen: a newer submission is refused. */
async function askToApprove(state: State, name: TaskName): Promise<void> {
  const submission = await lastSubmission(state, name);
  if (!submission) return;
  const { number, reviewNeeded } = submission;
  const change = diffText(submission);
  const text = `Approve submission ${number} of ${named(state, name)}${change ? ` (${change})` : ""}?`;
  const command = commandFor(state, "approve", name, { submission: number });
  state.question = { text, command, act: () => approve(state, name, { number, reviewNeeded }) };
  state.touched();
}

type Judged = Pick<WireSubmission, "number" | "reviewNeeded">;

async function approve(state: State, name: TaskName, judged: Judged, own = false): Promise<void> {
  const { number, reviewNeeded } = judged;
  const command = commandFor(state, "approve", name, { submission: number, own });
  const by = state.sessionId === undefined ? {} : { sessionId: state.sessionId };
  await attempt(state, command, async () => {
    try {
      const { submission } = await state.dibs.tasks.approve({
        ...name,
        ...by,
        submission: number,
        ...(own ? { own } : {}),
      });
      const after = submission.approved
        ? "it lands next"
        : `it still needs ${approverText(reviewNeeded)} approval`;
      return `approved submission ${number} of ${name.taskId}; ${after}`;
    } catch (error) {
      const isOwn = error instanceof DibsError && error.code === "SELF_REVIEW" && !own;
      if (isOwn && state.sessionId === undefined) {
        const asOwn = commandFor(state, "approve", name, { submission: number, own: true });
        const act = () => approve(state, name, judged, true);
        state.question = {
          text: `You worked on ${name.taskId}. Approve your own work?`,
          command: asOwn,
          act,
        };
      }
      throw error;
    }
  });
}

async function beginChanges(state: State, name: TaskName): Promise<void> {
  const submission = await lastSubmission(state, name);
  if (!submission) return;
  const { number } = submission;
  state.prompt = { kind: "changes", editor: new Editor(), choices: null, name, submission: number };
  state.touched();
}

export function requestChanges(
  state: State,
  { name, submission }: { name: TaskName; submission: number },
  reason: string,
): Promise<void> {
  const by = state.sessionId === undefined ? {} : { sessionId: state.sessionId };
  const command = commandFor(state, "reject", name, { submission, text: reason });
  return attempt(state, command, async () => {
    const { task } = await state.dibs.tasks.requestChanges({ ...name, ...by, submission, reason });
    return `requested changes of ${name.taskId}, now ${task.state}`;
  });
}

async function lastSubmission(state: State, name: TaskName): Promise<WireSubmission | null> {
  try {
    return (await state.dibs.tasks.submission(name)).submission;
  } catch (error) {
    state.say((error as Error).message, { tone: "bad" });
    return null;
  }
}

/** An empty answer means the default, where there is one. */
export function answerOf({ question }: WireTask, typed: string): string | null {
  return typed.trim() === "" ? (question?.default ?? null) : typed;
}

export function answer(state: State, task: WireTask, response: string): Promise<void> {
  const name = { project: task.project, taskId: task.id };
  const questionId = task.question?.id;
  const command = commandFor(state, "answer", name, { text: response });
  return attempt(state, command, async () => {
    const { task: after } = await state.dibs.tasks.respond({
      ...name,
      response,
      ...(questionId === undefined ? {} : { questionId }),
    });
    return `answered ${task.id}, now ${after.state}`;
  });
}

/** A failure is set aside: it stays failed, and leaves the inbox. */
export async function markRead(state: State): Promise<void> {
  const item = state.view === "inbox" ? state.inbox.selected : undefined;
  if (!item) return state.say("Notifications and failures are read in the inbox.");
  if (item.kind === "question") return state.say("A question stays until it is answered.");
  if (item.kind === "review") return state.say("A review stays until it has a verdict.");
  const notes = item.kind === "failure" ? item.notes : [item.note];
  await attempt(state, undefined, async () => {
    for (const { id } of notes) await state.dibs.notifications.read({ id });
    return item.kind === "failure"
      ? `set aside ${item.row.id}; all that failed: filter is:failed`
      : "marked as read";
  });
}
