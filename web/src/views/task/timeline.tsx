// One story of a task: events, attempts with their logs, progress, questions and answers, results that came too late. Told from
// either end, page by page, and live. What arrives while somebody points at the list waits until they leave it or ask for it.

import { memo, useMemo, useState } from "react";
import { LoadError } from "../../components/load-error.js";
import { useStableList } from "../../components/stable-list.js";
import { dibs, type Task } from "../../data/dibs.js";
import { useLive, useNow } from "../../data/live.js";
import { useParam } from "../../router.js";
import { type Entry, entriesOf } from "./entries.js";
import { CurrentAttempt, type OpenLogs, TimelineEntry } from "./timeline-entry.js";
import { type Order, useHistory } from "./use-history.js";

const attemptsMax = 200;
/** Late results make no events. */
const attemptsAgainMs = 15_000;

interface TimelineProps {
  project: string;
  taskId: string;
  claim: Task["claim"];
}

export const Timeline = memo(function Timeline({ project, taskId, claim }: TimelineProps) {
  const [orderWord, setOrder] = useParam("order");
  const order: Order = orderWord === "oldest" ? "oldest" : "newest";
  const now = useNow(10_000);
  const history = useHistory(project, taskId, order);
  const attempts = useLive(
    `attempts ${project} ${taskId}`,
    () => dibs.tasks.attempts({ project, taskId, limit: attemptsMax }),
    {
      on: (event) => event.project === project && event.taskId === taskId,
      everyMs: attemptsAgainMs,
    },
  );
  const logs = useOpenLogs();
  const { events, hasOlder, hasNewer } = history;
  const entries = useMemo(
    () => entriesOf({ events, hasOlder, hasNewer, attempts: attempts.data?.attempts ?? [] }),
    [events, hasOlder, hasNewer, attempts.data],
  );
  const ordered = useMemo(() => (order === "newest" ? entries.toReversed() : entries), [entries, order]);
  const stable = useStableList(ordered, keyOf, order === "newest" ? "before" : "after");
  const current = claim && !hasNewer && (
    <CurrentAttempt key="now" project={project} claim={claim} logs={logs} now={now} />
  );
  const hasMore = hasOlder || hasNewer;
  return (
    <section className="task-timeline" aria-labelledby="task-timeline">
      <div className="row">
        <h2 id="task-timeline" className="grows">
          Timeline
        </h2>
        {stable.waiting > 0 && (
          <button type="button" className="small" onClick={stable.release}>
            {stable.waiting} new
          </button>
        )}
        <select
          aria-label="Order of the timeline"
          value={order}
          onChange={(event) => setOrder(event.target.value === "oldest" ? "oldest" : "")}
        >
          <option value="newest">newest first</option>
          <option value="oldest">oldest first</option>
        </select>
      </div>
      <LoadError live={history.error === undefined ? attempts : history} />
      <ol className="task-entries" aria-busy={history.isBusy} {...stable.list}>
        {order === "newest" && current}
        {stable.shown.map((entry) => (
          <TimelineEntry
            key={entry.key}
            entry={entry}
            project={project}
            taskId={taskId}
            logs={logs}
            now={now}
          />
        ))}
        {order === "oldest" && current}
      </ol>
      {hasMore && (
        <button type="button" disabled={history.isBusy} onClick={history.more}>
          {hasOlder ? "Show older" : "Show newer"}
        </button>
      )}
    </section>
  );
});

const keyOf = (entry: Entry) => entry.key;

/** A log that was opened stays open when its attempt ends and moves to another place. */
function useOpenLogs(): OpenLogs {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  return {
    has: (epoch) => open.has(epoch),
    set: (epoch, isOpen) =>
      setOpen((before) => {
        if (before.has(epoch) === isOpen) return before;
        const now = new Set(before);
        if (isOpen) now.add(epoch);
        else now.delete(epoch);
        return now;
      }),
  };
}
