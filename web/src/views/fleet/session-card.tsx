// One session, as S0 draws it: what kind, where, how well; what it works on; how full, how much done, when heard of.

import { useState } from "react";
import { leaseLeftMs, type SessionEntry, type SessionHealth } from "../../../../src/client/view/health.js";
import { ago, clock, duration, percent, phaseTag } from "../../../../src/client/view/words.js";
import { StateBadge } from "../../components/parts.js";
import { Link, taskHref } from "../../router.js";

export type Session = SessionEntry;

interface CardProps {
  session: Session;
  health: SessionHealth;
  now: number;
}

export function SessionCard({ session, health, now }: CardProps) {
  const { id, name, agentType, project, score, contextPercent, tasksDone, tasksTotal, lastSeenAt } = session;
  return (
    <li className="panel card" data-health={health}>
      <div className="row">
        <span className="card-type">[{(agentType ?? "agent").toUpperCase()}]</span>
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
      <CurrentTask session={session} now={now} />
      <p className="row quiet small card-foot">
        <span className="cut mono" title={name ? `${name}, ${id}` : id}>
          #{name ?? id}
        </span>
        {contextPercent !== null && <span title="context used">{percent(contextPercent)} ctx</span>}
        <span title="done by this session / tasks of its project">
          {tasksDone}/{tasksTotal} tasks
        </span>
        <time dateTime={lastSeenAt} title={lastSeenAt}>
          {ago(lastSeenAt, now)}
        </time>
      </p>
      <History session={session} now={now} />
    </li>
  );
}

function CurrentTask({ session: { currentTask, project }, now }: { session: Session; now: number }) {
  if (!currentTask) return <p className="card-task quiet">idle</p>;
  const { taskId, title, phase, state, claim } = currentTask;
  const left = leaseLeftMs(claim, now);
  const done = claim.progress?.percent ?? null;
  return (
    <div className="card-task">
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
          {state === "awaiting_response" ? "waits for an answer" : (claim.progress?.note ?? state)}
        </span>
        <span title={left === null ? "the lease stands still" : `lease until ${claim.expiresAt}`}>
          {left === null ? "lease paused" : `lease ${clock(left)}`}
        </span>
      </p>
      {done !== null && (
        <progress className="card-progress" max={100} value={done} aria-label={`Progress of ${taskId}`} />
      )}
    </div>
  );
}

function History({ session: { claimHistory, project }, now }: { session: Session; now: number }) {
  const [isOpen, setOpen] = useState(false);
  if (claimHistory.length === 0) return null;
  return (
    <details className="card-history small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">Last {claimHistory.length} claims</summary>
      {isOpen && (
        <ul>
          {claimHistory.map(({ taskId, claimedAt, releasedAt, releaseReason, duration: tookMs }) => (
            <li key={`${taskId} ${claimedAt}`} className="row">
              <Link className="mono cut" href={taskHref(project, taskId)}>
                {taskId}
              </Link>
              <span className="grows cut">{releaseReason}</span>
              <span className="quiet">{duration(tookMs)}</span>
              <time className="quiet" dateTime={releasedAt} title={releasedAt}>
                {ago(releasedAt, now)}
              </time>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
