// The queue as a table: what comes next, who has what, and since when.

import { Box } from "ink";
import type { ReactNode } from "react";
import { claimMark } from "../client/view/health.js";
import { duration, percent, phaseTag, priorityText, standing, stateAndStage } from "../client/view/words.js";
import { plain, widthOf } from "../common/text.js";
import { type PriorityLabel, priorityLabel } from "../contract/priority.js";
import type { WireTaskRow } from "../contract/tasks/rows.js";
import { bodyRows } from "./layout.js";
import { Cell, Followed, type Part, Parts, T, type Tone } from "./parts.js";
import type { State } from "./state.js";

interface Widths {
  number: number;
  project: number;
  id: number;
  priority: number;
  holder: number;
}

export function Queue({ state }: { state: State }): ReactNode {
  const { queue, now } = state;
  const rows = bodyRows(state);
  const hasHead = rows > 1;
  const { from, items } = queue.window(hasHead ? rows - 1 : rows);
  if (items.length === 0) return <Nothing state={state} />;
  const widths = widthsOf(state, items);
  return (
    <Box flexDirection="column">
      {hasHead ? <Row widths={widths} cells={headCells} /> : null}
      {items.map((row, at) => (
        <Row
          key={`${row.project}/${row.id}`}
          widths={widths}
          cells={cellsOf(row, from + at + 1, from + at === queue.index, now)}
        />
      ))}
    </Box>
  );
}

function widthsOf({ columns, live, queue }: State, rows: readonly WireTaskRow[]): Widths {
  const widest = (of: (row: WireTaskRow) => string, min: number, max: number) =>
    Math.min(max, Math.max(min, ...rows.map((row) => widthOf(of(row)))));
  const isWide = columns >= 70;
  return {
    number: isWide ? Math.max(2, String(queue.items.length).length) : 0,
    project: live.project === "*" && columns >= 60 ? widest(({ project }) => project, 7, 14) : 0,
    id: widest(({ id }) => id, 4, columns >= 60 ? 16 : 8),
    priority: isWide ? widest(({ priority }) => priorityText(priority), 8, 12) : 0,
    holder: Math.max(9, Math.min(26, Math.floor(columns * 0.24))),
  };
}

interface Cells {
  edge: Part;
  number: Part;
  project: Part;
  id: Part;
  title: Part;
  phase: Part;
  priority: Part;
  holder: Part[];
  since: Part;
}

const headCells: Cells = {
  edge: { text: " " },
  number: { text: "#", tone: "dim" },
  project: { text: "PROJECT", tone: "dim" },
  id: { text: "ID", tone: "dim" },
  title: { text: "TASK", tone: "dim" },
  phase: { text: "" },
  priority: { text: "PRIORITY", tone: "dim" },
  holder: [{ text: "CLAIMED BY", tone: "dim" }],
  since: { text: "SINCE", tone: "dim" },
};

function Row({ widths, cells }: { widths: Widths; cells: Cells }): ReactNode {
  const { number, project, id, priority, holder } = widths;
  return (
    <Box height={1} flexShrink={0} columnGap={1}>
      <Cell width={1}>
        <T {...cells.edge} />
      </Cell>
      {number > 0 ? (
        <Cell width={number} right>
          <T {...cells.number} />
        </Cell>
      ) : null}
      {project > 0 ? (
        <Cell width={project}>
          <T {...cells.project} />
        </Cell>
      ) : null}
      <Cell width={id}>
        <T {...cells.id} />
      </Cell>
      <Cell>
        <Followed parts={[cells.title]} tail={cells.phase} />
      </Cell>
      {priority > 0 ? (
        <Cell width={priority}>
          <T {...cells.priority} />
        </Cell>
      ) : null}
      <Cell width={holder}>
        <Parts parts={cells.holder} />
      </Cell>
      <Cell width={5} right>
        <T {...cells.since} />
      </Cell>
    </Box>
  );
}

const priorityTones: Record<PriorityLabel, Tone | undefined> = {
  critical: "red",
  high: "yellow",
  medium: undefined,
  low: "dim",
};

function cellsOf(row: WireTaskRow, number: number, isSelected: boolean, now: number): Cells {
  const isOver = row.state === "completed" || row.state === "cancelled";
  const tone: Tone | undefined = isOver ? "dim" : undefined;
  return {
    edge: isSelected ? { text: "▌", tone: "cyan", bold: true } : { text: " " },
    number: { text: String(number), tone: "dim" },
    project: { text: plain(row.project), tone: "dim" },
    id: { text: row.id, tone: isSelected ? undefined : (tone ?? "cyan"), bold: isSelected },
    title: { text: plain(row.title), bold: isSelected, tone: isSelected ? undefined : tone },
    phase: { text: phaseTag(plain(row.phase)), tone: tone ?? "magenta" },
    priority: { text: priorityText(row.priority), tone: tone ?? priorityTones[priorityLabel(row.priority)] },
    holder: holderOf(row, now),
    since: { text: sinceOf(row, now), tone: "dim" },
  };
}

const markTones: Record<string, Tone> = { "[*]": "green", "[!]": "red", "[?]": "yellow", "--": "dim" };
const stateTones: Record<string, Tone> = { failed: "red", completed: "green", cancelled: "dim" };

function holderOf(row: WireTaskRow, now: number): Part[] {
  const mark = claimMark(row, now);
  if (mark === "--") return [{ text: mark, tone: "dim" }];
  if (mark === "") return [{ text: stateAndStage(row, now), tone: stateTones[row.state] ?? "dim" }];
  const { claim } = row;
  const done = claim?.percent ?? null;
  return [
    { text: `${mark} `, tone: markTones[mark]! },
    ...(done === null ? [] : [{ text: `${percent(done)} `, tone: "green" as const }]),
    { text: plain(claim?.sessionId ?? "nobody") },
  ];
}

/** Seconds only for what is in flight: a column of them would never rest. */
function sinceOf(row: WireTaskRow, now: number): string {
  if (row.claim) return duration(now - Date.parse(row.claim.claimedAt));
  const at = row.endedAt ?? (standing(row, now) === "ready" ? row.readyAt : null) ?? row.createdAt;
  const ms = now - Date.parse(at);
  return ms < 60_000 ? "<1m" : duration(ms);
}

function Nothing({ state }: { state: State }): ReactNode {
  const { progress } = state.live.index ?? { progress: null };
  const isFiltered = state.filterText !== "";
  return (
    <Box flexDirection="column" paddingX={2} paddingY={1}>
      {progress?.error ? (
        <T text={progress.error.message} tone="red" />
      ) : !progress?.complete ? (
        <T text="Reading the tasks…" tone="dim" />
      ) : isFiltered ? (
        <T text="No task matches. Esc shows all." />
      ) : (
        <>
          <T text="No tasks yet." bold />
          <T text={'  dibs add "Write the docs" -p high'} />
          <T text="  dibs plan todo.md" />
        </>
      )}
    </Box>
  );
}
