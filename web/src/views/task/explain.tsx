// Why it is not running, from the same rule that claiming asks, with the commands that would help.

import { clock } from "../../../../src/client/view/words.js";
import { CopyText } from "../../components/parts.js";
import type { Reason } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { useProjectToName } from "../../data/projects.js";
import { Link, taskHref } from "../../router.js";
import { Part } from "./texts.js";
import type { Seen } from "./use-task.js";

/** Whoever sees the holder, the question, the result or the error knows already. */
function isNews(reason: Reason): boolean {
  if (reason.code === "CLAIMED") return reason.fix !== undefined;
  return reason.code !== "TERMINAL" && reason.code !== "AWAITING_RESPONSE";
}

export function Explain({ task, explanation }: Seen) {
  const reasons = explanation.reasons.filter(isNews);
  const isReady = explanation.claimable;
  if (reasons.length === 0 && !isReady) return null;
  return (
    <Part title={isReady ? "Why nobody works on it" : "Why it is not running"} id="task-explain">
      <ul className="stack">
        {isReady && <li>It can be claimed; nothing stands in its way.</li>}
        {reasons.map((reason) => (
          <li key={reason.code}>
            <ReasonLine reason={reason} project={task.project} />
          </li>
        ))}
      </ul>
    </Part>
  );
}

function ReasonLine({ reason, project }: { reason: Reason; project: string }) {
  const now = useNow();
  const named = useProjectToName(project);
  const { message, until, taskIds = [], fix } = reason;
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
      {fix && <CopyText text={named ? `${fix} --project ${named}` : fix} label={`what helps: ${fix}`} />}
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
