// What people do to tasks. Every refusal becomes a line at the bottom, and every deed says which command would have done it.

import { type Action, cliFor, type Details } from "../client/view/commands.js";
import { plain } from "../common/text.js";
import type { WireTask } from "../contract/shapes.js";
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

export function retry(state: State, name: TaskName): Promise<void> {
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

/** Who acts on a task has read what was said about it. */
async function readAbout({ dibs, live }: State, { project, taskId }: TaskName): Promise<void> {
  const { failures = [], notes = [] } = live.inbox ?? {};
  const about = [...failures.flatMap((failure) => failure.notes), ...notes].filter(
    (note) => note.project === project && note.taskId === taskId,
  );
  for (const { id } of about) await dibs.notifications.read({ id });
}

function named(state: State, { project, taskId }: TaskName): string {
  const title = state.live.index?.get(project, taskId)?.title;
  return title === undefined ? taskId : `${taskId} ${plain(title)}`;
}

/** The whole question is needed: what can be answered, and which one it is. */
export async function beginAnswer(state: State, name: TaskName): Promise<void> {
  try {
    const { task } = await state.dibs.tasks.get(name);
    if (task.question) state.prompt = { kind: "answer", editor: new Editor(), choices: null, task };
    else state.say(`${task.id} has no open question.`);
    state.touched();
  } catch (error) {
    state.say((error as Error).message, { tone: "bad" });
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
  if (!item || item.kind === "question") {
    state.say(
      item ? "A question stays until it is answered." : "Notifications and failures are read in the inbox.",
    );
    return;
  }
  const notes = item.kind === "failure" ? item.notes : [item.note];
  await attempt(state, undefined, async () => {
    for (const { id } of notes) await state.dibs.notifications.read({ id });
    return item.kind === "failure"
      ? `set aside ${item.row.id}; all that failed: filter is:failed`
      : "marked as read";
  });
}
