// What a person can do to a task. Each asks first and shows the same as a command.

import { useState } from "react";
import { type Action, cliFor, curlFor, type Details } from "../../../../src/client/view/commands.js";
import { Confirm } from "../../components/confirm.js";
import { CopyText, Dialog } from "../../components/parts.js";
import { Reason } from "../../components/reason.js";
import { dibs, type Task } from "../../data/dibs.js";
import { useProjectToName } from "../../data/projects.js";

/** A task, or a row of a list. */
type Target = Pick<Task, "id" | "project" | "title" | "openChildren"> & {
  claim: { sessionId: string } | null;
};

interface ActionProps {
  task: Target;
  onClose: () => void;
}

export const isOver = ({ state }: Pick<Task, "state">) => /^(?:completed|failed|cancelled)$/.test(state);
export const isEditable = ({ state }: Pick<Task, "state">) => state !== "completed";
export const isRetryable = ({ state }: Pick<Task, "state">) => state === "failed" || state === "cancelled";

export function Cancel({ task, onClose }: ActionProps) {
  const { id, project, title, openChildren, claim } = task;
  const named = useProjectToName(project);
  const [reason, setReason] = useState("");
  const [cascade, setCascade] = useState(false);
  const text = reason.trim() || undefined;
  return (
    <Confirm
      title={`Cancel ${id}?`}
      verb="Cancel the task"
      isDanger
      command={cliFor("cancel", { taskId: id, project: named, text, cascade })}
      done={`${id} was cancelled.`}
      run={() => dibs.tasks.cancel({ project, taskId: id, cascade, ...(text ? { reason: text } : {}) })}
      onClose={onClose}
    >
      <p className="wraps">{title}</p>
      {claim && <p>{claim.sessionId} works on it and will be stopped.</p>}
      {openChildren > 0 && (
        <label className="row">
          <input type="checkbox" checked={cascade} onChange={(event) => setCascade(event.target.checked)} />
          Also its open subtasks ({openChildren}, and theirs)
        </label>
      )}
      <Reason value={reason} onChange={setReason} />
    </Confirm>
  );
}

export function Retry({ task, onClose }: ActionProps) {
  const { id, project, title } = task;
  const named = useProjectToName(project);
  return (
    <Confirm
      title={`Retry ${id}?`}
      verb="Retry"
      command={cliFor("retry", { taskId: id, project: named })}
      done={`${id} is queued again.`}
      run={() => dibs.tasks.retry({ project, taskId: id })}
      onClose={onClose}
    >
      <p className="wraps">{title}</p>
      <p>The task returns to the queue. Its counts of retries and lost workers are reset.</p>
    </Confirm>
  );
}

export function Release({ task, onClose }: ActionProps) {
  const { id, project, title, claim } = task;
  const named = useProjectToName(project);
  const [reason, setReason] = useState("");
  const text = reason.trim() || undefined;
  return (
    <Confirm
      title={`Release ${id} by force?`}
      verb="Release by force"
      isDanger
      command={cliFor("release", { taskId: id, project: named, text })}
      done={`${id} was released.`}
      run={() => dibs.tasks.release({ project, taskId: id, force: true, ...(text ? { reason: text } : {}) })}
      onClose={onClose}
    >
      <p className="wraps">{title}</p>
      <p>
        {claim?.sessionId} loses the task at once. A later result is kept on the attempt, but not applied.
      </p>
      <Reason value={reason} onChange={setReason} />
    </Confirm>
  );
}

function callsFor(task: Task): [Action, string, Partial<Details>][] {
  const calls: [Action, string, Partial<Details>][] = [
    ["show", "Show it", {}],
    ["explain", "Explain why it is not running", {}],
    ["events", "Its events", {}],
    ["attempts", "Its attempts", {}],
    ["log", "The log of its last attempt", {}],
    ["dependents", "Its dependents", {}],
  ];
  if (task.question)
    calls.push(["answer", "Answer it", { text: task.question.default, questionId: task.question.id }]);
  if (isEditable(task)) calls.push(["edit", "Edit it", { patch: { priority: task.priority } }]);
  if (!isOver(task)) calls.push(["cancel", "Cancel it", {}]);
  if (isRetryable(task)) calls.push(["retry", "Retry it", {}]);
  if (task.claim) calls.push(["release", "Release it by force", {}]);
  return calls;
}

export function CopyCalls({ task, onClose }: { task: Task; onClose: () => void }) {
  const named = useProjectToName(task.project);
  const [isCurl, setCurl] = useState(false);
  const details = { taskId: task.id, project: named };
  return (
    <Dialog title="Copy as command or curl" onClose={onClose}>
      <div className="stack">
        <fieldset className="task-choice" aria-label="As">
          <button type="button" aria-pressed={!isCurl} onClick={() => setCurl(false)}>
            CLI
          </button>
          <button type="button" aria-pressed={isCurl} onClick={() => setCurl(true)}>
            curl
          </button>
        </fieldset>
        {isCurl && (
          <p className="quiet small">
            The token is read from <code>DIBS_TOKEN</code>.
          </p>
        )}
        {callsFor(task).map(([action, what, more]) => (
          <div key={action}>
            <h3>{what}</h3>
            <CopyText
              label={what}
              text={
                isCurl
                  ? curlFor(action, { ...details, ...more }, location.origin)
                  : cliFor(action, { ...details, ...more })
              }
            />
          </div>
        ))}
        <div className="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
