// A card per session: what kind of agent, where, how it fares and for how long its lease is good; what it works on; who it is.

import { Box } from "ink";
import { Fragment, type ReactNode } from "react";
import { agentName, hasSeveralHosts } from "../client/view/agents.js";
import { leaseLeftMs, type SessionEntry, type SessionHealth, sessionHealth } from "../client/view/health.js";
import { ago, clock, percent, phaseTag } from "../client/view/words.js";
import { plain } from "../common/text.js";
import { bodyRows, cardHeight, fleetShape } from "./layout.js";
import { Cell, Followed, type Part, Parts, T, type Tone } from "./parts.js";
import type { State } from "./state.js";

const tones: Record<SessionHealth, Tone> = {
  working: "green",
  waiting: "yellow",
  stalled: "red",
  lost: "red",
  idle: "dim",
};
const marks: Record<SessionHealth, string> = {
  working: "(*)",
  waiting: "(?)",
  stalled: "(!)",
  lost: "(x)",
  idle: "( )",
};

export function Fleet({ state }: { state: State }): ReactNode {
  const { perLine, lines, width } = fleetShape(state);
  const { from, items } = state.fleet.window(lines, perLine);
  const withHost = hasSeveralHosts(state.live.summary?.sessions ?? []);
  const rows: (readonly SessionEntry[])[] = [];
  for (let at = 0; at < items.length; at += perLine) rows.push(items.slice(at, at + perLine));
  if (state.live.summary && items.length === 0) return <NoSessions />;
  return (
    <Box flexDirection="column">
      {rows.map((row, line) => (
        <Box key={row[0]!.id} height={cardHeight} flexShrink={0}>
          {row.map((session, column) => (
            <Card
              key={`${session.project}/${session.id}`}
              session={session}
              width={width}
              rows={bodyRows(state)}
              now={state.now}
              withHost={withHost}
              patience={state.live.projects.find(({ id }) => id === session.project)?.settings.claim}
              isSelected={state.fleet.index === from + line * perLine + column}
            />
          ))}
        </Box>
      ))}
    </Box>
  );
}

function NoSessions(): ReactNode {
  return (
    <Box flexDirection="column" paddingX={2} paddingY={1}>
      <T text="No sessions yet." bold />
      <T text="They appear with their first claim:" tone="dim" />
      <T text="  dibs claim --start --session agent-1" />
      <T text="  dibs work -- ./my-agent" />
    </Box>
  );
}

interface CardProps {
  session: SessionEntry;
  width: number;
  /** So many of its lines fit. */
  rows: number;
  now: number;
  /** Of its project, as far as that is known. */
  patience: { orphanThresholdMs: number } | undefined;
  /** Agents of more than one host are there. */
  withHost: boolean;
  isSelected: boolean;
}

function Card({ session, width, rows, now, patience, withHost, isSelected }: CardProps): ReactNode {
  const health = sessionHealth(session, now, patience);
  const { score } = session;
  const edge: Part = isSelected
    ? { text: "▌", tone: "cyan", bold: true }
    : { text: "│", tone: tones[health] };
  const lines = [
    <Fragment key="head">
      <Cell>
        <Parts parts={headOf(session, health, isSelected)} />
      </Cell>
      <Box flexShrink={0} paddingLeft={1}>
        <Parts parts={[{ text: healthText(session, health, now), tone: tones[health] }, ...scoreOf(score)]} />
      </Box>
    </Fragment>,
    <Cell key="task">
      <Followed parts={taskOf(session, health)} tail={phaseOf(session)} />
    </Cell>,
    <Cell key="foot">
      <T text={footOf(session, now, { room: width - 3, withHost })} tone="dim" />
    </Cell>,
  ];
  return (
    <Box width={width} flexDirection="column" paddingRight={1} flexShrink={0}>
      {lines.slice(0, rows).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: every frame is drawn once.
        <Box key={at} height={1}>
          <T {...edge} />
          {line}
        </Box>
      ))}
    </Box>
  );
}

const scoreOf = (score: number | null): Part[] =>
  score === null ? [] : [{ text: ` [${String(Math.round(score)).padStart(3)} ]`, tone: "dim" }];

function headOf({ agentType, project }: SessionEntry, health: SessionHealth, bold: boolean): Part[] {
  const type = plain(agentType ?? "agent").toUpperCase();
  return [
    { text: `[${type.startsWith("AUTONOMOUS") ? "AUTO" : type}] `, tone: health === "idle" ? "dim" : "cyan" },
    { text: plain(project), bold },
  ];
}

function healthText({ currentTask }: SessionEntry, health: SessionHealth, now: number): string {
  const left = currentTask && health !== "lost" ? leaseLeftMs(currentTask.claim, now) : null;
  return left === null ? health : `${health} ${clock(left)}`;
}

function taskOf({ currentTask, reviewing = [] }: SessionEntry, health: SessionHealth): Part[] {
  const mark: Part = { text: `${marks[health]} `, tone: tones[health] };
  if (!currentTask && reviewing.length > 0)
    return [mark, { text: `reviews ${reviewing.map(plain).join(", ")}` }];
  if (!currentTask) return [mark, { text: "no task", tone: "dim" }];
  const { title, taskId, claim } = currentTask;
  const done = claim.progress?.percent ?? null;
  return [
    mark,
    ...(done === null ? [] : [{ text: `${percent(done)} `, tone: "green" as const }]),
    { text: `${taskId} `, tone: "dim" },
    { text: plain(title) },
  ];
}

const phaseOf = ({ currentTask }: SessionEntry): Part => ({
  text: phaseTag(plain(currentTask?.phase)),
  tone: "magenta",
});

interface Foot {
  room: number;
  withHost: boolean;
}

/** Who it is gives way to what changes. */
function footOf(session: SessionEntry, now: number, { room, withHost }: Foot): string {
  const { contextPercent, tasksDone, tasksTotal, lastSeenAt } = session;
  const rest = [
    contextPercent === null ? null : `${percent(contextPercent)} ctx`,
    `${tasksDone}/${tasksTotal} tasks`,
    ago(lastSeenAt, now),
  ]
    .filter((each) => each !== null)
    .join(" | ");
  const who = `#${plain(agentName(session, withHost))}`;
  const width = Math.max(4, room - rest.length - 3);
  return `${who.length > width ? `${who.slice(0, width - 1)}…` : who} | ${rest}`;
}
