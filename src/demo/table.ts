// The live picture as lines of text: a function of what the store says now, with no terminal in it.

import { padTo, plain } from "../common/text.js";
import type { Session, Task } from "../index.js";
import { type Paint, type Style, seconds } from "./text.js";

export interface Picture {
  tasks: Task[];
  sessions: Session[];
  agents: readonly string[];
  isKilled(agent: string | null): boolean;
  elapsedMs: number;
  now: number;
}

export interface Look {
  columns: number;
  paint: Paint;
}

interface Status {
  mark: "[*]" | "[!]" | "-- " | "   ";
  word: string;
  detail: string;
  style?: Style;
}

const titleWidth = 21;
const barWidth = 8;
const isDone = ({ state }: Task) => state === "completed";

export function titleLine({ tasks, elapsedMs }: Picture, { columns, paint }: Look): string {
  const work = tasks.filter(({ type }) => type === "task");
  const right = `${work.filter(isDone).length} of ${work.length} tasks done  ${seconds(elapsedMs).padStart(6)}`;
  const left = padTo(" Dibs demo: four agents build a small shop", columns - right.length - 1);
  return `${paint(left, "bold")}${right}`;
}

export function agentLines(picture: Picture, { columns, paint }: Look): string[] {
  const head = paint(padTo(" AGENT      PID  DONE  NOW", columns), "dim");
  const rows = picture.agents.map((agent) => {
    const session = picture.sessions.find(({ id }) => id === agent);
    const done =
      session?.claimHistory.filter(({ releaseReason }) => releaseReason === "completed").length ?? 0;
    const pid = String(session?.pid ?? "").padStart(7);
    const start = ` ${padTo(agent, 6)} ${pid}  ${String(done).padStart(4)}  `;
    const { text, style } = occupation(session, picture);
    const now = padTo(text, columns - start.length);
    return start + (style ? paint(now, style) : now);
  });
  return [head, ...rows];
}

function occupation(
  session: Session | undefined,
  { tasks, isKilled }: Picture,
): { text: string; style?: Style } {
  if (!session) return { text: "starting", style: "dim" };
  if (isKilled(session.id)) {
    return { text: session.endedAt === null ? "killed -9" : "killed -9, found dead", style: "red" };
  }
  if (session.endedAt !== null) return { text: "finished", style: "dim" };
  const task = tasks.find(({ id }) => id === session.currentTaskId);
  if (!task) return { text: "waiting for work", style: "dim" };
  const what = `${plain(task.id)} ${plain(task.title)}`;
  if (task.question) return { text: `${what}: ${plain(task.question.text)}`, style: "yellow" };
  const note = plain(task.claim?.progress?.note);
  return { text: note ? `${what}: ${note}` : what };
}

export function taskLines(picture: Picture, { columns, paint }: Look): string[] {
  const head = ` ${padTo("", 3)} ${padTo("TASK", 8)} ${padTo("", titleWidth)} ${padTo("LABEL", 5)} PRI  STATE`;
  const rows = picture.tasks.map((task) => {
    const { mark, word, detail, style } = statusOf(task, picture);
    const title = padTo(`${task.parentId === null ? "" : "  "}${plain(task.title)}`, titleWidth);
    const what = `${padTo(plain(task.id), 8)} ${title} ${padTo(plain(task.labels[0]), 5)} ${String(task.priority).padStart(3)}`;
    const rest = padTo(`${padTo(word, 10)}${detail}`, columns - 7 - what.length);
    const look = (text: string) => (style ? paint(text, style) : text);
    return ` ${look(mark)} ${style === "dim" ? paint(what, "dim") : what}  ${look(rest)}`;
  });
  return [paint(padTo(head, columns), "dim"), ...rows];
}

function statusOf(task: Task, picture: Picture): Status {
  const { claim } = task;
  const holder = plain(claim?.sessionId);
  switch (task.state) {
    case "completed":
      return { mark: "   ", word: "done", detail: doneBy(task, picture), style: "green" };
    case "failed":
    case "cancelled":
      return { mark: "   ", word: task.state, detail: plain(task.error), style: "red" };
    case "submitted":
      return { mark: "   ", word: "submitted", detail: "", style: "green" };
    case "awaiting_response":
      return {
        mark: claim ? "[*]" : "[!]",
        word: "asking",
        detail: `${bar(task)} ${holder}`,
        style: "yellow",
      };
    case "claimed":
    case "running": {
      const isLost = picture.isKilled(claim?.sessionId ?? null) || claim?.healthStatus === "stale";
      const detail = `${bar(task)} ${holder}`;
      if (isLost) return { mark: "[!]", word: "lost", detail, style: "red" };
      return { mark: "[*]", word: task.state, detail, style: "cyan" };
    }
    case "queued":
      return queued(task, picture);
  }
}

function queued(task: Task, { tasks, now }: Picture): Status {
  if (task.type === "group") {
    const children = tasks.filter(({ parentId }) => parentId === task.id);
    const detail = `${children.filter(isDone).length} of ${children.length} done`;
    return { mark: "   ", word: "group", detail };
  }
  const waitsFor = task.dependsOn.filter((id) => tasks.some((other) => other.id === id && !isDone(other)));
  if (waitsFor.length > 0) {
    return { mark: "   ", word: "blocked", detail: `by ${waitsFor.map(plain).join(" ")}`, style: "dim" };
  }
  const waitMs = Date.parse(task.notBefore ?? "") - now;
  if (waitMs > 0)
    return { mark: "   ", word: "failed", detail: `retry in ${seconds(waitMs)}`, style: "yellow" };
  if (task.lostCount > 0) return { mark: "[!]", word: "lost", detail: "to be taken over", style: "red" };
  return { mark: "-- ", word: "ready", detail: "" };
}

function doneBy(task: Task, { sessions }: Picture): string {
  if (task.type === "group") return "with its subtasks";
  const by = sessions.find(({ claimHistory }) =>
    claimHistory.some(({ taskId, releaseReason }) => taskId === task.id && releaseReason === "completed"),
  );
  return `${plain(by?.id)}${task.epoch > 1 ? `, attempt ${task.epoch}` : ""}`;
}

function bar({ claim }: Task): string {
  const percent = Math.min(100, Math.max(0, claim?.progress?.percent ?? 0));
  const filled = Math.round((percent / 100) * barWidth);
  return `${"━".repeat(filled)}${"┄".repeat(barWidth - filled)} ${String(Math.round(percent)).padStart(3)} %`;
}
