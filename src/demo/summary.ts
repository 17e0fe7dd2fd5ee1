// The end of the demo: what happened, and whether it is true that every task was completed exactly once. The store is asked, not
// the demo's memory.

import { plain } from "../common/text.js";
import type { Attempt, Dibs, Task } from "../index.js";
import type { Story } from "./story.js";
import { seconds } from "./text.js";

export interface Summary {
  lines: string[];
  problems: string[];
}

export async function summarise(dibs: Dibs, story: Story, elapsedMs: number): Promise<Summary> {
  const { tasks } = await dibs.tasks.list({ limit: 1000 });
  const attempts = new Map<string, Attempt[]>();
  for (const { id } of tasks) attempts.set(id, (await dibs.tasks.attempts({ taskId: id })).attempts);
  const problems = [
    ...tasks.flatMap((task) => taskProblems(task, attempts.get(task.id)!)),
    ...storyProblems(story),
  ];
  const named = (id: string) => `${id} ${plain(tasks.find((task) => task.id === id)?.title)}`;
  const work = tasks.filter(({ type }) => type === "task");
  const done = work.filter(({ state }) => state === "completed").length;
  const groups = tasks.length - work.length;
  const lines = [
    row("Tasks", `${done} of ${work.length} completed, and ${groups} groups with their subtasks`),
    row("Attempts", countReasons([...attempts.values()].flat())),
    ...retryRows(story, named),
    ...killRows(story, named),
    ...questionRows(story, named),
    row("Events", `${story.eventCount} in ${seconds(elapsedMs)}`),
  ];
  return { lines, problems };
}

/** Such as `15: 13 completed, 1 failed, 1 process_gone`. */
function countReasons(attempts: Attempt[]): string {
  const counts = new Map<string, number>();
  for (const { releaseReason } of attempts) {
    const reason = releaseReason ?? "open";
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return `${attempts.length}: ${[...counts].map(([reason, count]) => `${count} ${plain(reason)}`).join(", ")}`;
}

function taskProblems(task: Task, attempts: Attempt[]): string[] {
  const completions = attempts.filter(({ releaseReason }) => releaseReason === "completed").length;
  // A group is nobody's work: it ends by itself.
  const expected = task.type === "group" ? 0 : 1;
  return [
    ...(task.state === "completed" ? [] : [`${task.id} is ${task.state}, not completed`]),
    ...(completions === expected ? [] : [`${task.id} was completed ${completions} times, not ${expected}`]),
  ];
}

function storyProblems({ kill, question, retries }: Story): string[] {
  return [
    ...(kill?.takenOver ? [] : ["no killed worker's task was taken over"]),
    ...(question?.answer ? [] : ["no question was asked and answered"]),
    ...(retries.length > 0 ? [] : ["no task was retried"]),
  ];
}

type Named = (id: string) => string;

function retryRows({ retries }: Story, named: Named): string[] {
  return retries.map(({ taskId, error, delayMs }) =>
    row("Retried", `${named(taskId)} after ${seconds(delayMs)} (${error})`),
  );
}

function killRows({ kill }: Story, named: Named): string[] {
  if (!kill) return [];
  const { agent, percent, taskId, at, found, takenOver } = kill;
  const lines = [row("Killed", `${agent} with kill -9 at ${percent} % of ${named(taskId)}`)];
  if (found && takenOver) {
    lines.push(
      row("Recovered", `found dead after ${seconds(found.at - at)} (${plain(found.reason)}),`),
      row("", `taken over by ${plain(takenOver.agent)} after ${seconds(takenOver.at - at)} and completed`),
    );
  }
  return lines;
}

function questionRows({ question }: Story, named: Named): string[] {
  if (!question) return [];
  const { agent, taskId, question: text, answer, waitedMs } = question;
  const answered =
    answer === null ? "not answered" : `answered "${plain(answer)}" after ${seconds(waitedMs)}`;
  return [row("Asked", `${agent} about ${named(taskId)}: ${plain(text)}`), row("", answered)];
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(10)} ${text}`;
}
