// Tasks for people: one line each with S0's marks, or one task in full.

import type { WireTask } from "../../../contract/shapes.js";
import type { Look, Style } from "./look.js";
import { table } from "./table.js";
import { plain, plainLines, wrap } from "./text.js";
import { ago, span } from "./time.js";

/** `[*]` in flight, `[!]` in flight but silent, `--` to be had. */
export function markOf({ claim, state, type, pendingDependencies, openChildren }: WireTask): string {
  if (claim) return ["stale", "expired", "expiring"].includes(claim.healthStatus) ? "[!]" : "[*]";
  if (state === "awaiting_response") return "[?]";
  return state === "queued" && type === "task" && pendingDependencies === 0 && openChildren === 0 ? "--" : "";
}

export function stateText(task: WireTask, now: number): string {
  const { state, type, notBefore, pendingDependencies, openChildren } = task;
  if (state !== "queued") return state === "awaiting_response" ? "awaiting answer" : state;
  if (type === "group") return "group";
  if (pendingDependencies > 0) return "blocked";
  if (openChildren > 0) return "waits for parts";
  return notBefore !== null && Date.parse(notBefore) > now
    ? `in ${span(Date.parse(notBefore) - now)}`
    : "ready";
}

export function styleOf({ state, claim }: WireTask): Style | undefined {
  if (state === "completed") return "green";
  if (state === "failed") return "red";
  if (state === "cancelled") return "dim";
  if (state === "awaiting_response") return "yellow";
  return claim ? "cyan" : undefined;
}

function holderText({ claim }: WireTask, now: number): string {
  return claim ? `${plain(claim.sessionId)}, ${span(now - Date.parse(claim.claimedAt))}` : "";
}

const phaseText = (phase: string | null) =>
  phase === null ? "" : ` [${plain(phase).slice(0, 4).toUpperCase()}]`;

export function taskTable(tasks: readonly WireTask[], look: Look, { withProject = false } = {}): string {
  if (tasks.length === 0) return "No tasks.\n";
  return table(
    tasks,
    [
      { head: "", of: markOf, style: styleOf },
      { head: "PROJECT", of: ({ project }) => (withProject ? plain(project) : ""), max: 16 },
      { head: "ID", of: ({ id }) => plain(id), max: 24 },
      { head: "TASK", of: ({ title, phase }) => `${plain(title)}${phaseText(phase)}`, grows: true },
      { head: "PRIO", of: ({ priority }) => String(priority), right: true },
      { head: "STATE", of: (task) => stateText(task, look.now), style: styleOf, max: 16 },
      { head: "CLAIMED BY", of: (task) => holderText(task, look.now), max: 24 },
    ],
    look,
  );
}

/** A label and what belongs to it, broken to the width. */
function field(name: string, text: string, look: Look): string {
  const [first = "", ...rest] = wrap(text, look.columns - 14);
  return [
    `${look.paint(name.padEnd(12), "dim")}  ${first}`,
    ...rest.map((line) => `${" ".repeat(14)}${line}`),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

export function taskPage(task: WireTask, look: Look): string {
  const { now } = look;
  const fields: [string, string | null | undefined][] = [
    ["state", `${stateText(task, now)}${phaseText(task.phase)}`],
    ["priority", `${task.priority} (${task.priorityLabel})`],
    ["project", task.project],
    ["parent", task.parentId],
    ["depends on", task.dependsOn.join(", ")],
    ["labels", task.labels.join(", ")],
    ["files", task.files.join(", ")],
    ["assignee", task.assignee],
    ["agent type", task.agentType],
    ["requires", task.requires.join(", ")],
    [
      "held by",
      task.claim &&
        `${task.claim.sessionId}, epoch ${task.claim.epoch}, ${task.claim.healthStatus}, ${span(task.claim.remainingMs)} left`,
    ],
    [
      "progress",
      task.claim?.progress &&
        [
          task.claim.progress.percent === null ? "" : `${task.claim.progress.percent} %`,
          task.claim.progress.note ?? "",
        ]
          .join(" ")
          .trim(),
    ],
    ["question", task.question?.text],
    ["options", task.question?.options?.join(" | ") ?? null],
    ["answer", task.response],
    [
      "retries",
      task.retryCount > 0 || task.lostCount > 0
        ? `${task.retryCount} of ${task.maxRetries}, lost ${task.lostCount}`
        : null,
    ],
    ["created", `${ago(task.createdAt, now)} by ${task.createdBy}`],
    ["ended", task.endedAt && ago(task.endedAt, now)],
    ["result", task.result?.output],
    ["created files", task.result?.filesCreated.join(", ") ?? null],
    ["changed files", task.result?.filesModified.join(", ") ?? null],
    ["error", task.error],
  ];
  const head = `${look.paint(plain(task.id), "bold")}  ${look.paint(plain(task.title), "bold")}\n`;
  const shown = fields
    .filter(([, text]) => text !== null && text !== undefined && text !== "")
    .map(([name, text]) => field(name, text!, look));
  const prompt = plainLines(task.prompt);
  const isTitle = prompt.length === 1 && plain(task.prompt) === plain(task.title);
  const more = [
    ...(isTitle ? [] : ["", ...prompt]),
    ...(task.description ? ["", ...plainLines(task.description)] : []),
  ];
  return `${head}${shown.join("")}${more.map((line) => `${line}\n`).join("")}`;
}
