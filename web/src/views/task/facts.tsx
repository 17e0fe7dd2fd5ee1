// The fields of a task that are neither its texts nor its story.

import type { ReactNode } from "react";
import { usesText } from "../../../../src/client/view/resources.js";
import { duration, usageText } from "../../../../src/client/view/words.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import type { Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { Files, Folded } from "./texts.js";

export function Facts({ task }: { task: Task }) {
  const now = useNow(5_000);
  const when = (at: string | null) => at !== null && <When at={at} now={now} />;
  const facts: [string, ReactNode][] = [
    [
      "Created",
      <span key="created">
        {when(task.createdAt)} by {task.createdBy}
      </span>,
    ],
    ["Changed", when(task.updatedAt)],
    ["Ready since", task.state === "queued" && when(task.readyAt)],
    ["Not before", task.notBefore !== null && <When key="due" at={task.notBefore} now={now} isPlanned />],
    ["Started", when(task.startedAt)],
    ["Ended", when(task.endedAt)],
    ["Attempts", task.epoch > 0 && `${task.epoch}`],
    ["Retries", `${task.retryCount} of ${task.maxRetries}`],
    ["Lost", task.lostCount > 0 && `${task.lostCount} in a row`],
    ["Time limit", task.timeoutMs !== null && duration(task.timeoutMs)],
    ["Assignee", task.assignee],
    ["Agent type", task.agentType],
    ["Uses", withUnseen(usesText(task.uses)) || null],
    ["Cost", task.usage && usageText(task.usage)],
    ["Needs", task.requires.length > 0 && task.requires.join(", ")],
    [
      "Correlation",
      <span key="correlation" className="mono small">
        {task.correlationId}
      </span>,
    ],
  ];
  return (
    <section className="panel task-part" aria-label="Facts">
      <dl className="task-facts">
        {facts.map(
          ([name, value]) =>
            value !== null &&
            value !== false && (
              <div key={name}>
                <dt className="quiet">{name}</dt>
                <dd className="wraps">{value}</dd>
              </div>
            ),
        )}
      </dl>
      <Files title="Expects to touch" paths={task.files} />
      {task.metadata !== null && (
        <div>
          <h3>Metadata</h3>
          <Folded text={JSON.stringify(task.metadata, null, 2)} name="the metadata" linesMax={8} isCode />
        </div>
      )}
    </section>
  );
}
