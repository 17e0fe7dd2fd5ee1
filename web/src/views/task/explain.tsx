// Why it is not running, from the same rule that claiming asks, with the commands that would help.

import { cliFor, withFlag } from "../../../../src/client/view/commands.js";
import { clock } from "../../../../src/client/view/words.js";
import { CopyText } from "../../components/parts.js";
import type { Reason, Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { useProjectToName } from "../../data/projects.js";
import { Link, taskHref } from "../../router.js";
import { Part } from "./texts.js";
import type { Seen } from "./use-task.js";

const shownElsewhere: Reason["code"][] = ["CLAIMED", "TERMINAL", "AWAITING_RESPONSE"];

/** Whoever sees the holder, the question, the result or the error knows already; what helps is news. */
const isNews = ({ code, fix }: Reason) => fix !== undefined || !shownElsewhere.includes(code);

export function Explain({ task, explanation }: Seen) {
  const reasons = explanation.reasons.filter(isNews);
  const isReady = explanation.claimable;
  if (reasons.length === 0 && !isReady) return null;
  return (
    <Part title={isReady ? "Why no agent works on it" : titleFor(task)} id="task-explain">
      <ul className="stack">
        {isReady && (
          <li>
            {reasons.length === 0
              ? "The task is ready."
              : "The task is ready, but no live session can claim it."}
          </li>
        )}
        {reasons.map((reason) => (
          <li key={reason.code}>
            <ReasonLine reason={reason} task={task} />
          </li>
        ))}
      </ul>
    </Part>
  );
}

const titleFor = ({ state }: Task) => (state === "submitted" ? "What it waits for" : "Why it is not running");

/** What helps, as it can be pasted: for this project, and with no answer that nobody has given. */
function commandFor({ code, fix }: Reason, { id, question }: Task, project: string | undefined) {
  if (code === "AWAITING_RESPONSE" && question)
    return cliFor("answer", { taskId: id, project, questionId: question.id, text: question.default });
  return fix && project !== undefined ? withFlag(fix, "project", project) : fix;
}

function ReasonLine({ reason, task }: { reason: Reason; task: Task }) {
  const { project } = task;
  const now = useNow();
  const named = useProjectToName(project);
  const { message, until, taskIds = [] } = reason;
  const command = commandFor(reason, task, named);
  const left = until ? Date.parse(until) - now : 0;
  return (
    <div className="task-reason">
      <p className="wraps">
        <Linked text={message} taskIds={taskIds} project={project} />
        {until && left > 0 && (
          <>
            {" "}
            <span className="quiet" title={until}>
              {clock(left)} left
            </span>
          </>
        )}
      </p>
      {command && <CopyText text={command} label={`to fix it: ${command}`} />}
    </div>
  );
}

/** A sentence in which ids are links. */
function Linked({ text, taskIds, project }: { text: string; taskIds: string[]; project: string }) {
  const known = new Set(taskIds);
  return text.split(/([A-Za-z0-9._-]*[A-Za-z0-9_-])/).map((word, at) =>
    known.has(word) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: words have no other name.
      <Link key={at} className="mono" href={taskHref(project, word)}>
        {word}
      </Link>
    ) : (
      word
    ),
  );
}
