// A task by hand: what is to be done, and the little that is often said with it. The rest is edited on its page.

import { type FormEvent, useState } from "react";
import { addCommand } from "../../../../src/client/view/commands.js";
import { CopyText, Dialog } from "../../components/parts.js";
import { say } from "../../components/toasts.js";
import { dibs, troubleOf } from "../../data/dibs.js";
import { useProjectToName } from "../../data/projects.js";
import { navigate, taskHref } from "../../router.js";

const empty = { prompt: "", title: "", priority: "50", labels: "" };

/** What was typed and not sent is there again when the dialog is opened next. */
let draft = empty;

interface NewTaskProps {
  /** Where it goes; of all projects, to the server's own. */
  project: string;
  onClose: () => void;
}

export function NewTask({ project, onClose }: NewTaskProps) {
  const [fields, setFields] = useState(draft);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const named = useProjectToName(project);
  const task = taskOf(fields);
  const isBegun = Object.entries(empty).some(([name, text]) => fields[name as keyof typeof empty] !== text);
  const into = project === "*" ? {} : { project };
  const keep = (next: typeof empty) => {
    draft = next;
    setFields(next);
  };
  const set = (change: Partial<typeof empty>) => keep({ ...fields, ...change });

  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { task: made } = await dibs.tasks.create({ ...task, ...into });
      say(`${made.id} was added.`);
      draft = empty;
      onClose();
      navigate(taskHref(made.project, made.id));
    } catch (error) {
      const { message, hint } = troubleOf(error);
      setTrouble([message, hint].filter(Boolean).join(" "));
      setBusy(false);
    }
  };
  return (
    <Dialog title={project === "*" ? "New task" : `New task in ${project}`} onClose={onClose}>
      <form className="stack queue-new" onSubmit={add}>
        <label className="field">
          What should an agent do?
          <textarea rows={4} value={fields.prompt} onChange={({ target }) => set({ prompt: target.value })} />
        </label>
        <label className="field">
          Title (default: the first line)
          <input
            value={fields.title}
            maxLength={500}
            onChange={({ target }) => set({ title: target.value })}
          />
        </label>
        <label className="field">
          Priority (0 to 100)
          <input
            type="number"
            min={0}
            max={100}
            step={1}
            required
            value={fields.priority}
            onChange={({ target }) => set({ priority: target.value })}
          />
        </label>
        <label className="field">
          Labels (one per line)
          <textarea rows={2} value={fields.labels} onChange={({ target }) => set({ labels: target.value })} />
        </label>
        <CopyText
          text={addCommand({ ...task, project: project === "*" ? undefined : named })}
          label="as a command"
        />
        {trouble && (
          <p className="trouble wraps" role="alert">
            {trouble}
          </p>
        )}
        <div className="actions">
          {isBegun && (
            <button type="button" className="plain queue-new-clear" onClick={() => keep(empty)}>
              Clear
            </button>
          )}
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className="primary" disabled={isBusy || fields.prompt.trim() === ""}>
            Add the task
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Only what was said. */
function taskOf({ prompt, title, priority, labels }: typeof empty) {
  const list = labels
    .split("\n")
    .map((label) => label.trim())
    .filter((label) => label !== "");
  return {
    prompt,
    ...(title.trim() === "" ? {} : { title: title.trim() }),
    ...(priority === empty.priority ? {} : { priority: Number(priority) }),
    ...(list.length === 0 ? {} : { labels: list }),
  };
}
