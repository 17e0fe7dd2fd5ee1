// What lies over a view for a moment: help, the choice of a project, what a session has done, the resources.

import { Box } from "ink";
import type { ReactNode } from "react";
import { budgetTexts, unitsText } from "../client/view/resources.js";
import { ago, duration } from "../client/view/words.js";
import { plain } from "../common/text.js";
import type { WireResource } from "../contract/shapes.js";
import { bodyRows } from "./layout.js";
import { type Line, Lines, type Part } from "./parts.js";
import type { Overlay, State } from "./state.js";

const keys: [string, string][] = [
  ["1 2 3 4, Tab", "fleet, queue, inbox, task"],
  ["j k, arrows", "move; PgUp, PgDn, g, G further"],
  ["Enter, Esc", "open a task, and back"],
  ["/", "filter the queue; Tab completes, Esc leaves it"],
  ["a", "answer the task's question; Tab goes through the options"],
  ["r", "retry what failed or was cancelled"],
  ["a r", "on a submission: approve it (asks), or request changes"],
  ["c", "cancel a task (asks)"],
  ["x", "release: take a task from its holder (asks)"],
  ["m", "mark a notification as read, set a failure aside"],
  ["h", "what a session has done"],
  ["p", "another project, or all"],
  ["u", "resources: in use, held, spent; h holds one, r resumes it (both ask)"],
  ["? q", "help, quit"],
];

const legend: [string, string][] = [
  ["[*]", "in flight"],
  ["[!]", "in flight, but silent or nearly out of time"],
  ["[?]", "waits for an answer"],
  ["--", "can be claimed"],
  ["is:", "ready blocked scheduled working waiting done failed stale open …"],
  ["agent: label:", "phase: project: parent: id: assignee:"],
  ["priority:>=high", "age:>1h  idle:>30m  -is:done  label:ui,api  “exact words”"],
];

export function OverlayView({ state, overlay }: { state: State; overlay: Overlay }): ReactNode {
  const rows = bodyRows(state);
  const lines = linesOf(state, overlay, rows);
  return (
    <Box paddingX={2} height={rows}>
      <Lines lines={lines} rows={rows} />
    </Box>
  );
}

function linesOf(state: State, overlay: Overlay, rows: number): readonly Line[] {
  switch (overlay.kind) {
    case "help": {
      const lines = helpLines(Math.min(16, Math.floor(state.columns / 3)));
      overlay.top = Math.min(overlay.top, Math.max(0, lines.length - rows));
      return lines.slice(overlay.top);
    }
    case "projects":
      return projectLines(state, overlay.list, rows);
    case "history":
      return historyLines(overlay.session, state.now);
    case "resources":
      return resourceLines(overlay.list, state.now, rows);
  }
}

function helpLines(width: number): Line[] {
  const lines = (rows: [string, string][]) =>
    rows.map(([left, right]): Line => [{ text: `${left.padEnd(width)} `, bold: true }, { text: right }]);
  const head = (text: string): Line => [{ text, tone: "cyan", bold: true }];
  return [head("Keys"), ...lines(keys), [], head("Marks and filters"), ...lines(legend)];
}

function projectLines(
  { live }: State,
  list: Extract<Overlay, { kind: "projects" }>["list"],
  rows: number,
): Line[] {
  const { from, items } = list.window(Math.max(1, rows - 2));
  const shown = items.map((id, at): Line => {
    const isSelected = from + at === list.index;
    const edge: Part = isSelected ? { text: "▌ ", tone: "cyan", bold: true } : { text: "  " };
    const project = live.projects.find((each) => each.id === id);
    const marks = [project?.isDefault && "default", project?.paused && "paused"].filter(Boolean).join(", ");
    return [
      edge,
      { text: id === "*" ? "all projects" : id, bold: isSelected },
      { text: marks === "" ? "" : `  ${marks}`, tone: "dim" },
    ];
  });
  return [[{ text: "Project", tone: "cyan", bold: true }], ...shown];
}

function historyLines(session: Extract<Overlay, { kind: "history" }>["session"], now: number): Line[] {
  const { id, agentType, host, pid, capabilities, startedAt, lastSeenAt, claimHistory, currentTask } =
    session;
  const facts = [
    plain(agentType),
    pid === null ? null : `pid ${pid}`,
    capabilities.length > 0 ? `can ${capabilities.map(plain).join(", ")}` : null,
    `started ${ago(startedAt, now)}`,
    `seen ${ago(lastSeenAt, now)}`,
    host === null ? null : `on ${plain(host).slice(0, 24)}`,
  ];
  return [
    [{ text: plain(id), bold: true }],
    [{ text: facts.filter(Boolean).join(" · "), tone: "dim" }],
    [],
    ...(currentTask ? [[{ text: `now   ${currentTask.taskId}  ${plain(currentTask.title)}` }], []] : []),
    [{ text: "Its last claims", tone: "cyan", bold: true }],
    ...(claimHistory.length === 0 ? [[{ text: "none yet", tone: "dim" as const }]] : []),
    ...claimHistory.map(
      ({ taskId, releasedAt, releaseReason, duration: ms }): Line => [
        { text: taskId.padEnd(12), tone: "cyan" },
        { text: ` ${plain(releaseReason).padEnd(16)}` },
        { text: ` ${duration(ms).padStart(4)}  ${ago(releasedAt, now)}`, tone: "dim" },
      ],
    ),
  ];
}

function resourceLines(
  list: Extract<Overlay, { kind: "resources" }>["list"],
  now: number,
  rows: number,
): Line[] {
  const title: Line = [{ text: "Resources", tone: "cyan", bold: true }];
  if (list.items.length === 0) {
    const command = "dibs resource set test-db --capacity 2";
    return [title, [{ text: `None yet. Add one with: ${command}`, tone: "dim" }]];
  }
  const { from, items } = list.window(Math.max(1, rows - 2));
  const cells = items.map((each) => ({
    id: plain(each.id),
    units: unitsText(each),
    waiting: String(each.waiting),
    spent: budgetTexts(each).join(", "),
  }));
  const heads = { id: "RESOURCE", units: "IN USE", waiting: "WAITING", spent: "SPENT" };
  const widthOf = (column: keyof typeof heads) =>
    Math.min(32, Math.max(...[heads, ...cells].map((row) => row[column].length)));
  const columns = (["id", "units", "waiting", "spent"] as const).filter(
    (column) => column !== "spent" || cells.some(({ spent }) => spent !== ""),
  );
  const lineOf = (row: typeof heads) =>
    columns.map((column) => row[column].slice(0, 32).padEnd(widthOf(column))).join("  ");
  return [
    title,
    [{ text: `  ${lineOf(heads)}  STATE`, tone: "dim" }],
    ...items.map((each, at): Line => {
      const isSelected = from + at === list.index;
      const edge: Part = isSelected ? { text: "▌ ", tone: "cyan", bold: true } : { text: "  " };
      return [edge, { text: `${lineOf(cells[at]!)}  `, bold: isSelected }, standingOf(each, now)];
    }),
  ];
}

function standingOf({ state, holds }: WireResource, now: number): Part {
  if (state !== "held") return { text: state, tone: state === "open" ? "green" : "yellow" };
  const texts = holds.map(({ source, until, reason }) => {
    const end = until === null ? "" : `, ends ${ago(until, now)}`;
    return `held (${source})${end}${reason === null ? "" : `: ${plain(reason)}`}`;
  });
  return { text: texts.join("; "), tone: "red" };
}
