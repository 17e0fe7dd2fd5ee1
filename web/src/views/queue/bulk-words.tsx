// How an action on many tasks is told.

import { Link, taskHref } from "../../router.js";
import type { Deed, Tally } from "./bulk-run.js";

export const words: Record<Deed["kind"], { verb: string; present: string; past: string }> = {
  cancel: { verb: "Cancel", present: "Cancelling", past: "Cancelled" },
  retry: { verb: "Retry", present: "Retrying", past: "Queued again:" },
  release: { verb: "Release", present: "Releasing", past: "Released" },
  priority: { verb: "Set priority of", present: "Setting the priority of", past: "Priority set of" },
  label: { verb: "Label", present: "Labelling", past: "Labelled" },
};

export const tasks = (count: number) => `${count.toLocaleString()} ${count === 1 ? "task" : "tasks"}`;

/** Each code once, with what the server says about the first such task. */
export function Reasons({ tally }: { tally: Tally }) {
  if (tally.byCode.size === 0) return null;
  const told = [...tally.byCode.values()].reduce((sum, { count }) => sum + count, 0);
  return (
    <ul className="queue-reasons small">
      {[...tally.byCode].map(([code, { count, example }]) => (
        <li key={code}>
          <span className="strong">{count.toLocaleString()}</span> because <code>{code}</code>
          <span className="quiet">, such as: {example}</span>
        </li>
      ))}
      {tally.refusedCount > told && (
        <li className="quiet">and {(tally.refusedCount - told).toLocaleString()} more for other reasons</li>
      )}
    </ul>
  );
}

export function Outcome({ deed, tally }: { deed: Deed; tally: Tally }) {
  const { done, refused, refusedCount } = tally;
  return (
    <>
      <p role="status">
        <span className="strong">
          {words[deed.kind].past} {tasks(done)}
        </span>
        {refusedCount > 0 && `; ${refusedCount.toLocaleString()} refused:`}
      </p>
      <ul className="queue-refused small">
        {refused.map(({ project, taskId, message }) => (
          <li key={`${project}/${taskId}`}>
            <Link href={taskHref(project, taskId)} className="mono">
              {taskId}
            </Link>{" "}
            {message}
          </li>
        ))}
      </ul>
      {refusedCount > refused.length && (
        <p className="quiet small">and {(refusedCount - refused.length).toLocaleString()} more</p>
      )}
    </>
  );
}
