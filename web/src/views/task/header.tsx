// What the task is and how it stands, and what can be done about it.

import { registry } from "../../../../src/client/connect.js";
import { claimMark } from "../../../../src/client/view/health.js";
import { phaseTag } from "../../../../src/client/view/words.js";
import { Badge, Priority } from "../../components/parts.js";
import { TaskState } from "../../components/task-state.js";
import type { Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { type Role, whyNot } from "../../data/me.js";
import { hrefTo, Link } from "../../router.js";
import { StageBadge } from "../submission/parts.js";
import { isEditable, isOver, isRetryable } from "./actions.js";

/** What it takes to do it. */
const needed: Record<Doing, Role> = {
  edit: registry.tasks.update.role,
  cancel: registry.tasks.cancel.role,
  retry: registry.tasks.retry.role,
  // By force, that is.
  release: "leader",
  copy: "viewer",
};

/** Why it is not offered to who is signed in. */
export const whyNotDo = (doing: Doing) => whyNot(needed[doing]);

export type Doing = "edit" | "cancel" | "retry" | "release" | "copy";

/** What is possible now, with its key. */
export function doingsOf(task: Task): [Doing, string, string][] {
  const doings: [Doing, string, string][] = [];
  if (isRetryable(task)) doings.push(["retry", "Retry", "r"]);
  if (isEditable(task)) doings.push(["edit", "Edit", "e"]);
  if (!isOver(task)) doings.push(["cancel", "Cancel", "c"]);
  if (task.claim) doings.push(["release", "Release", "u"]);
  doings.push(["copy", "Copy as…", "y"]);
  return doings;
}

export function Header({ task, onDo }: { task: Task; onDo: (doing: Doing) => void }) {
  const now = useNow();
  const { id, project, title, phase, labels, priority } = task;
  const mark = claimMark(task, now);
  return (
    <header className="task-header">
      <div className="task-headline">
        <p className="row quiet small">
          <Link href={hrefTo("/queue", { project })}>{project}</Link>
          <span>/</span>
          <span className="mono wraps">{id}</span>
        </p>
        <h1 className="wraps">{title}</h1>
        <p className="row wrapping">
          <TaskState task={task} now={now} />
          {task.submission?.stage && <StageBadge stage={task.submission.stage} />}
          {mark && <span className="mono quiet">{mark}</span>}
          <Priority value={priority} />
          {phase && (
            <span className="mono quiet" title={phase}>
              {phaseTag(phase)}
            </span>
          )}
          {labels.map((label) => (
            <Badge key={label} title="label">
              <span className="cut task-label">{label}</span>
            </Badge>
          ))}
        </p>
      </div>
      <div className="row wrapping task-doings">
        {doingsOf(task).map(([doing, name, key]) => (
          <button
            key={doing}
            type="button"
            className={doing === "retry" ? "primary" : ""}
            disabled={whyNotDo(doing) !== null}
            title={whyNotDo(doing) ?? `key: ${key}`}
            onClick={() => onDo(doing)}
          >
            {name}
          </button>
        ))}
      </div>
    </header>
  );
}
