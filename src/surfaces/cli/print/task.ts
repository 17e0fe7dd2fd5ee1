// Tasks for people: one line each with S0's marks, or one task in full.

import { claimMark, isWeak } from "../../../client/view/health.js";
import { priorityText, type StateFacts, stateAndStage } from "../../../client/view/words.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { WireClaim } from "../../../contract/shapes.js";
import type { WireTaskRow } from "../../../contract/tasks/rows.js";
import type { Display, Style } from "./display.js";
import { table } from "./table.js";
import { plain } from "./text.js";
import { span } from "./time.js";

/** What a line of a list is made from: a task, or its row. */
export type Listed = StateFacts &
  Pick<WireTaskRow, "id" | "project" | "parentId" | "title" | "phase" | "priority"> & {
    claim: Pick<WireClaim, "sessionId" | "claimedAt" | "expiresAt" | "lastHeartbeat" | "healthStatus"> | null;
  };

export function styleOf({ state, claim }: Pick<Listed, "state" | "claim">): Style | undefined {
  if (state === "completed" || state === "submitted") return "green";
  if (state === "failed") return "red";
  if (state === "cancelled") return "dim";
  if (state === "awaiting_response") return "yellow";
  return claim ? "cyan" : undefined;
}

function holderText({ claim }: Listed, now: number): string {
  return claim ? `${plain(claim.sessionId)}, ${span(now - Date.parse(claim.claimedAt))}` : "";
}

export const phaseText = (phase: string | null) =>
  phase === null ? "" : ` [${plain(phase).slice(0, 4).toUpperCase()}]`;

export function taskTable(
  tasks: readonly Listed[],
  display: Display,
  { withProject = false, isTree = false } = {},
): string {
  if (tasks.length === 0) return "No tasks.\n";
  const rows = isTree ? asTree(tasks) : tasks.map((task) => ({ task, lead: "" }));
  return table(
    rows,
    [
      { head: "", of: ({ task }) => claimMark(task, display.now), style: ({ task }) => styleOf(task) },
      { head: "PROJECT", of: ({ task }) => (withProject ? plain(task.project) : ""), max: 16 },
      { head: "ID", of: ({ task, lead }) => `${lead}${plain(task.id)}`, whole: true },
      {
        head: "TASK",
        of: ({ task }) => `${plain(task.title)}${phaseText(task.phase)}`,
        grows: true,
      },
      { head: "PRIORITY", of: ({ task }) => priorityText(task.priority), whole: true },
      {
        head: "STATE",
        of: ({ task }) => stateAndStage(task, display.now),
        style: ({ task }) => styleOf(task),
        max: 26,
      },
      { head: "CLAIMED BY", of: ({ task }) => holderText(task, display.now), max: 20 },
    ],
    display,
  );
}

interface TreeRow {
  task: Listed;
  /** Lines that lead to it from what it is part of. */
  lead: string;
}

/** Each task after what it is part of; what is not among them is left out. */
function asTree(tasks: readonly Listed[]): TreeRow[] {
  const keyOf = (task: Listed, id: string) => `${task.project}/${id}`;
  const known = new Set(tasks.map((task) => keyOf(task, task.id)));
  const parts = new Map<string, Listed[]>();
  for (const task of tasks) {
    const above = task.parentId === null ? "" : keyOf(task, task.parentId);
    const key = known.has(above) ? above : "";
    parts.set(key, [...(parts.get(key) ?? []), task]);
  }
  const rows: TreeRow[] = [];
  const put = (task: Listed, lead: string, own: string, below: string) => {
    rows.push({ task, lead: lead + own });
    const children = parts.get(keyOf(task, task.id)) ?? [];
    for (const [at, child] of children.entries()) {
      const isLast = at === children.length - 1;
      put(child, lead + below, isLast ? "└ " : "├ ", isLast ? "  " : "│ ");
    }
  };
  for (const task of parts.get("") ?? []) put(task, "", "", "");
  return rows;
}

export function inFlightTable(
  { inFlight }: OutputOf<OperationNamed<"tasks.inFlight">>,
  display: Display,
): string {
  if (inFlight.length === 0) return "Nothing is claimed.\n";
  return table(
    inFlight,
    [
      { head: "", of: ({ claim }) => (isWeak(claim, display.now) ? "[!]" : "[*]") },
      { head: "ID", of: ({ taskId }) => plain(taskId), whole: true },
      { head: "TASK", of: ({ task }) => `${plain(task.title)}${phaseText(task.phase)}`, grows: true },
      { head: "CLAIMED BY", of: ({ claim }) => plain(claim.sessionId), max: 20 },
      { head: "SINCE", of: ({ claim }) => span(display.now - Date.parse(claim.claimedAt)) },
      { head: "LEFT", of: ({ claim }) => span(claim.remainingMs) },
      {
        head: "HEALTH",
        of: ({ claim }) => claim.healthStatus,
        style: ({ claim }) => (isWeak(claim, display.now) ? "red" : undefined),
      },
    ],
    display,
  );
}
