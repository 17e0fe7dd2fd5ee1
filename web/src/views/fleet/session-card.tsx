// One session, as S0 draws it: what kind, where, how well; what it works on; how full, how much done, when heard of.

import { useState } from "react";
import { agentName } from "../../../../src/client/view/agents.js";
import { claimMark, leaseLeftMs, type SessionEntry } from "../../../../src/client/view/health.js";
import {
  clock,
  duration,
  percent,
  phaseTag,
  stageWord,
  stateWord,
} from "../../../../src/client/view/words.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { grouped } from "../../components/number.js";
import { StateBadge } from "../../components/parts.js";
import { When } from "../../components/when.js";
import { useStage } from "../../data/stages.js";
import { useTaskIndex } from "../../data/tasks.js";
import { Link, taskHref } from "../../router.js";
import type { Member } from "./use-fleet.js";

interface CardProps {
  member: Member;
  now: number;
  /** Agents of more than one host are there. */
  withHost: boolean;
  /** It is not there any more, and shown only so that nothing moves. */
  isGone: boolean;
}

export function SessionCard({ member: { session, health, others }, now, withHost, isGone }: CardProps) {
  const { id, name, agentType, project, score, contextPercent, tasksDone, tasksTotal, lastSeenAt } = session;
  return (
    <li className="panel card" data-health={health} data-gone={isGone || undefined}>
      <div className="row">
        <span className="card-type" title={agentType ?? undefined}>
          {typeTag(agentType)}
        </span>
        <span className="cut grows" title={project}>
          {project}
        </span>
        <StateBadge word={health} />
        {score !== null && (
          <span className="card-score" title="score">
            {Math.round(score)}
          </span>
        )}
      </div>
      <div className="card-task">
        {session.currentTask ? (
          <CurrentTask task={session.currentTask} project={project} now={now} />
        ) : health === "lost" ? (
          <LastLost session={session} now={now} />
        ) : (
          <Idle session={session} now={now} />
        )}
      </div>
      {others.length > 0 && <Others rows={others} now={now} />}
      <p className="row quiet small card-foot">
        <span className="cut mono" title={name ? `${name}, ${id}` : id}>
          #{agentName(session, withHost)}
        </span>
        {contextPercent !== null && <span title="context used">{percent(contextPercent)} ctx</span>}
        <span title="done by this session / tasks of its project">
          {grouped(tasksDone)}/{grouped(tasksTotal)} tasks
        </span>
        <When at={lastSeenAt} now={now} />
      </p>
      <History session={session} now={now} />
    </li>
  );
}

/** `[AUTO]` for autonomous. */
function typeTag(agentType: string | null): string {
  const letters = [...(agentType ?? "agent").toUpperCase()];
  return `[${letters.slice(0, letters.length > 6 ? 4 : 6).join("")}]`;
}

const othersMax = 10;

function Others({ rows, now }: { rows: readonly WireTaskRow[]; now: number }) {
  return (
    <ul className="card-others small" aria-label="Also held">
      {rows.slice(0, othersMax).map((row) => (
        <li key={row.id} className="row">
          <span className="mono quiet" aria-hidden="true">
            {claimMark(row, now)}
          </span>
          <Link className="cut grows" href={taskHref(row.project, row.id)} title={`${row.id} ${row.title}`}>
            {row.title}
          </Link>
          <span className="quiet">{stateWord(row, now)}</span>
        </li>
      ))}
      {rows.length > othersMax && <li className="quiet">and {rows.length - othersMax} more</li>}
    </ul>
  );
}

/** What it held when it was last heard of. */
function LastLost({ session: { claimHistory, project }, now }: { session: SessionEntry; now: number }) {
  const last = claimHistory[0];
  if (!last) return null;
  return (
    <p className="row small">
      <span className="quiet">lost</span>
      <Link className="mono cut" href={taskHref(project, last.taskId)}>
        {last.taskId}
      </Link>
      <span className="quiet grows cut">{last.releaseReason.replaceAll("_", " ")}</span>
      <When className="quiet" at={last.releasedAt} now={now} />
    </p>
  );
}

/** What it reviews, or what it handed in last: that is named until it has landed or come back. */
function Idle({ session, now }: { session: SessionEntry; now: number }) {
  const { claimHistory, project, reviewing = [] } = session;
  const last = claimHistory[0];
  const row = useTaskIndex().get(project, last?.taskId ?? "");
  const stage = useStage({ project, id: row?.id ?? "", state: row?.state ?? "" });
  if (reviewing.length > 0)
    return (
      <p className="row wrapping small">
        <span className="quiet">reviews</span>
        {reviewing.map((taskId) => (
          <Link key={taskId} className="mono cut" href={taskHref(project, taskId)}>
            {taskId}
          </Link>
        ))}
      </p>
    );
  if (!last || row?.state !== "submitted" || last.releaseReason !== "submitted")
    return <p className="quiet small">Idle</p>;
  return (
    <p className="row small">
      <span className="quiet">submitted</span>
      <Link className="cut" href={taskHref(project, row.id)} title={`${row.id} ${row.title}`}>
        {row.title}
      </Link>
      <span className="quiet grows cut">{stage && stageWord(stage)}</span>
      <When className="quiet" at={last.releasedAt} now={now} />
    </p>
  );
}

interface CurrentTaskProps {
  task: NonNullable<SessionEntry["currentTask"]>;
  project: string;
  now: number;
}

function CurrentTask({ task: { taskId, title, phase, state, claim }, project, now }: CurrentTaskProps) {
  const left = leaseLeftMs(claim, now);
  const done = claim.progress?.percent ?? null;
  return (
    <>
      <p className="row">
        <span aria-hidden="true" className="card-dot">
          (*)
        </span>
        <Link className="cut" href={taskHref(project, taskId)} title={`${taskId} ${title}`}>
          {title}
        </Link>
        {phase && <span className="quiet mono small">{phaseTag(phase)}</span>}
      </p>
      <p className="row quiet small">
        <span className="cut grows" title={claim.progress?.note ?? ""}>
          {state === "awaiting_response" ? "waiting for an answer" : (claim.progress?.note ?? state)}
        </span>
        <span title={left === null ? "the lease clock is stopped" : `lease until ${claim.expiresAt}`}>
          {left === null ? "lease paused" : `lease ${clock(left)}`}
        </span>
      </p>
      {done !== null && (
        <progress className="card-progress" max={100} value={done} aria-label={`Progress of ${taskId}`} />
      )}
    </>
  );
}

function History({ session: { claimHistory, project }, now }: { session: SessionEntry; now: number }) {
  const [isOpen, setOpen] = useState(false);
  if (claimHistory.length === 0) return <p className="quiet small">No earlier claim</p>;
  return (
    <details className="card-history small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">
        {claimHistory.length === 1 ? "Last claim" : `Last ${claimHistory.length} claims`}
      </summary>
      {isOpen && (
        <ul>
          {claimHistory.map(({ taskId, claimedAt, releasedAt, releaseReason, duration: tookMs }) => (
            <li key={`${taskId} ${claimedAt}`} className="row">
              <Link className="mono cut" href={taskHref(project, taskId)}>
                {taskId}
              </Link>
              <span className="grows cut">{releaseReason}</span>
              <span className="quiet">{duration(tookMs)}</span>
              <When className="quiet" at={releasedAt} now={now} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
