// One thing that happened, and the attempt that continues.

import type { ReactNode } from "react";
import { duration } from "../../../../src/client/view/words.js";
import { When } from "../../components/when.js";
import type { Attempt, Claim } from "../../data/dibs.js";
import { Link, taskHref } from "../../router.js";
import type { Entry } from "./entries.js";
import { Log } from "./log.js";
import { Folded, ResultTexts } from "./texts.js";

/** Which logs are unfolded, by attempt. */
export interface OpenLogs {
  has(epoch: number): boolean;
  set(epoch: number, isOpen: boolean): void;
}

interface EntryProps {
  entry: Entry;
  project: string;
  taskId: string;
  logs: OpenLogs;
  now: number;
}

export function TimelineEntry({ entry, project, taskId, logs, now }: EntryProps) {
  const { at, who, what, tone, text, until, attempt, late, isError } = entry;
  const isShort = !isError && text != null && text.length <= 160 && !text.includes("\n");
  return (
    <li className="task-entry" data-tone={tone}>
      <p className="task-entry-head">
        <span className="strong wraps">{what}</span> {isShort && <span className="wraps">{text}</span>}
        {entry.taskId && (
          <span>
            by{" "}
            <Link className="mono" href={taskHref(project, entry.taskId)}>
              {entry.taskId}
            </Link>
          </span>
        )}
        {until && Date.parse(until) > now && (
          <span className="quiet">
            next attempt <When at={until} now={now} isPlanned />
          </span>
        )}
        <span className="quiet small task-entry-time">
          {who !== null && (
            <span className="wraps" title={who}>
              {nameOf(who)}{" "}
            </span>
          )}
          <When at={at} now={now} />
        </span>
      </p>
      {text && !isShort && <Folded text={text} name="the text" linesMax={8} isCode={isError === true} />}
      {late && <LateResult late={late} />}
      {attempt && <EndedAttempt attempt={attempt} project={project} taskId={taskId} logs={logs} />}
    </li>
  );
}

/** Agents by their session, people as people. */
const nameOf = (actor: string) => actor.replace(/^agent:/, "");

function LateResult({ late: { result, error } }: { late: NonNullable<Entry["late"]> }) {
  return (
    <div className="stack">
      {result && <ResultTexts result={result} />}
      {error !== null && <Folded text={error} name="the error" isCode />}
    </div>
  );
}

function LogFold(props: {
  epoch: number;
  isRunning: boolean;
  project: string;
  taskId: string;
  logs: OpenLogs;
}) {
  const { logs, ...log } = props;
  const isOpen = logs.has(log.epoch);
  return (
    <details open={isOpen} onToggle={(event) => logs.set(log.epoch, event.currentTarget.open)}>
      <summary className="quiet">Log of attempt {log.epoch}</summary>
      {isOpen && <Log {...log} />}
    </details>
  );
}

interface EndedProps {
  attempt: Attempt;
  project: string;
  taskId: string;
  logs: OpenLogs;
}

function EndedAttempt({ attempt, project, taskId, logs }: EndedProps) {
  const { epoch, sessionId, agentType, claimedAt, releasedAt, heartbeatCount } = attempt;
  const took = releasedAt === null ? null : Date.parse(releasedAt) - Date.parse(claimedAt);
  const facts: ReactNode[] = [
    `attempt ${epoch}`,
    <span key="who" className="mono">
      {sessionId}
    </span>,
    agentType && <bdi key="type">{agentType}</bdi>,
    took !== null && `held for ${duration(took)}`,
    heartbeatCount > 0 && `${heartbeatCount} ${heartbeatCount === 1 ? "heartbeat" : "heartbeats"}`,
  ].filter(Boolean);
  return (
    <div className="task-attempt">
      <p className="quiet small wraps">
        {facts.map((fact, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they stand where they stand.
          <span key={at}>
            {at > 0 && " · "}
            {fact}
          </span>
        ))}
      </p>
      <LogFold epoch={epoch} isRunning={false} project={project} taskId={taskId} logs={logs} />
    </div>
  );
}

interface CurrentProps {
  project: string;
  claim: Claim;
  logs: OpenLogs;
  now: number;
}

export function CurrentAttempt({ project, claim, logs, now }: CurrentProps) {
  const { epoch, sessionId, claimedAt, taskId, healthStatus } = claim;
  return (
    <li className="task-entry" data-tone="link" data-now>
      <p className="task-entry-head">
        <span className="strong">attempt {epoch} continues</span>
        {healthStatus === "paused" && <span className="quiet">waiting for the answer</span>}
        <span className="quiet small task-entry-time">
          <span className="wraps">{sessionId}</span> since <When at={claimedAt} now={now} />
        </span>
      </p>
      <LogFold epoch={epoch} isRunning project={project} taskId={taskId} logs={logs} />
    </li>
  );
}
