// Editing a task: only what was changed is sent, shown as a command while it is typed. Who edits the same field at the same time
// is told.

import { type FormEvent, useState } from "react";
import { cliFor } from "../../../../src/client/view/commands.js";
import { CopyText, Dialog } from "../../components/parts.js";
import { say } from "../../components/toasts.js";
import { dibs, type Task, troubleOf } from "../../data/dibs.js";
import { useProjectToName } from "../../data/projects.js";
import { isRetryable } from "./actions.js";
import { changedFields, type FieldName, type Fields, fieldsOf, type Patch, patchOf } from "./edit-patch.js";

interface EditProps {
  task: Task;
  onClose: () => void;
}

export function Edit({ task, onClose }: EditProps) {
  const [before, setBefore] = useState(() => fieldsOf(task));
  const [now, setNow] = useState(before);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { patch, problem } = read(before, now);
  const isChanged = Object.keys(patch).length > 0;
  const [isLeaving, setLeaving] = useState(false);
  const leave = () => (isChanged || problem ? setLeaving(true) : onClose());

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (problem || !isChanged) return;
    setBusy(true);
    try {
      await dibs.tasks.update({ project: task.project, taskId: task.id, ...patch });
      say(`${task.id} was changed.`);
      onClose();
    } catch (error) {
      const { message, hint } = troubleOf(error);
      setTrouble([message, hint].filter(Boolean).join(" "));
      setBusy(false);
    }
  };

  return (
    <Dialog title={`Edit ${task.id}`} onClose={leave}>
      <form className="stack" onSubmit={save}>
        <EditFields now={now} set={(name, text) => setNow({ ...now, [name]: text })} task={task} />
        <Meanwhile before={before} now={now} theirs={fieldsOf(task)} onSeen={setBefore} />
        <EditCommand task={task} patch={patch} isChanged={isChanged} />
        {(problem ?? trouble) && (
          <p className="trouble wraps" role="alert">
            {problem ?? trouble}
          </p>
        )}
        {isLeaving && (
          <div className="row wrapping" role="alert">
            <span className="grows">Discard your changes?</span>
            <button type="button" onClick={() => setLeaving(false)}>
              Keep editing
            </button>
            <button type="button" className="danger" onClick={onClose}>
              Discard
            </button>
          </div>
        )}
        <div className="actions">
          <button type="button" onClick={leave}>
            Back
          </button>
          <button type="submit" className="primary" disabled={isBusy || !isChanged || problem !== null}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function read(before: Fields, now: Fields): { patch: Patch; problem: string | null } {
  try {
    return { patch: patchOf(before, now), problem: null };
  } catch (error) {
    return { patch: {}, problem: (error as Error).message };
  }
}

interface MeanwhileProps {
  before: Fields;
  now: Fields;
  theirs: Fields;
  onSeen: (theirs: Fields) => void;
}

/** Somebody else has changed what is being edited here. */
function Meanwhile({ before, now, theirs, onSeen }: MeanwhileProps) {
  const mine = changedFields(before, now);
  const both = changedFields(before, theirs).filter((name) => mine.includes(name));
  if (both.length === 0) return null;
  const seen = { ...before, ...Object.fromEntries(both.map((name) => [name, theirs[name]])) };
  return (
    <div className="trouble stack" role="alert">
      {both.map((name) => (
        <p key={name} className="wraps">
          Another user has changed the {labels[name].toLowerCase()} to “{theirs[name].slice(0, 500)}”.
        </p>
      ))}
      <button type="button" className="small" onClick={() => onSeen(seen)}>
        Overwrite with mine
      </button>
    </div>
  );
}

interface EditCommandProps {
  task: Task;
  patch: Patch;
  isChanged: boolean;
}

function EditCommand({ task: { id, project }, patch, isChanged }: EditCommandProps) {
  const named = useProjectToName(project);
  if (!isChanged) return <p className="quiet small">No changes yet.</p>;
  return (
    <CopyText text={cliFor("edit", { taskId: id, project: named, patch })} label="the edit as a command" />
  );
}

const labels: Record<FieldName, string> = {
  title: "Title",
  prompt: "Prompt",
  description: "Description",
  priority: "Priority (0 to 100)",
  phase: "Phase",
  labels: "Labels (one per line)",
  dependsOn: "Depends on (ids; not while it is claimed)",
  assignee: "Assignee (a session)",
  agentType: "Agent type",
  requires: "Required capabilities (not while it is claimed)",
  notBefore: "Not before",
  timeout: "Time limit (minutes)",
  maxRetries: "Maximum retries",
  files: "Files it expects to touch (one per line)",
  metadata: "Metadata (JSON)",
};

interface EditFieldsProps {
  now: Fields;
  set: (name: FieldName, text: string) => void;
  task: Task;
}

function EditFields({ now, set, task }: EditFieldsProps) {
  const isEnded = isRetryable(task);
  const field = (name: FieldName, more: object = {}) => (
    <label className="field" key={name}>
      {labels[name]}
      <input value={now[name]} onChange={(event) => set(name, event.target.value)} {...more} />
    </label>
  );
  const area = (name: FieldName, rows: number) => (
    <label className="field" key={name}>
      {labels[name]}
      <textarea rows={rows} value={now[name]} onChange={(event) => set(name, event.target.value)} />
    </label>
  );
  const isFree = task.state === "queued" || isEnded;
  const whileFree = isFree ? {} : { disabled: true, title: "Only while it is queued, failed or cancelled" };
  const beforeEnd = isEnded ? { disabled: true, title: "A retry queues it at once" } : {};
  return (
    <>
      {field("title", { maxLength: 500 })}
      {area("prompt", 5)}
      {area("description", 3)}
      <div className="task-edit-pair">
        {field("priority", { type: "number", min: 0, max: 100, step: 1 })}
        {field("phase")}
        {field("dependsOn", whileFree)}
        {field("assignee")}
        {field("notBefore", { type: "datetime-local", step: 1, ...beforeEnd })}
        {area("labels", 2)}
      </div>
      <details>
        <summary>More</summary>
        <div className="stack task-edit-more">
          <div className="task-edit-pair">
            {field("agentType")}
            {field("requires", whileFree)}
            {field("timeout", { type: "number", min: 0, step: "any" })}
            {field("maxRetries", { type: "number", min: 0, max: 1000, step: 1 })}
          </div>
          {area("files", 3)}
          {area("metadata", 3)}
        </div>
      </details>
    </>
  );
}
