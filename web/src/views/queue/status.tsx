// What the list says about itself: how many, whether there is more to come, what cannot be understood, and what to do when it is empty.

import type { Progress } from "../../../../src/client/view/rows.js";
import { shellWord } from "../../../../src/client/view/shell.js";
import { CopyText, Empty } from "../../components/parts.js";
import { dibs } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { columnNames } from "./head.js";
import type { Listed } from "./listing.js";
import { columns, formatSort, parseSort, type Sort } from "./order.js";
import { listing } from "./use-listing.js";

interface StatusProps {
  listed: Listed;
  progress: Progress;
  problems: readonly string[];
  problemId: string;
  chosen: number;
  onClear: () => void;
}

export function Status({ listed, progress, problems, problemId, chosen, onClear }: StatusProps) {
  const { order, total, pending } = listed;
  return (
    <div className="queue-status small">
      {problems.length > 0 && (
        <span id={problemId} className="bad cut queue-problem" title={problems.join(" ")} role="status">
          {problems.join(" ")}
        </span>
      )}
      {pending > 0 && (
        <button type="button" className="small" title="key: r" onClick={() => listing().release()}>
          {pending.toLocaleString()} {pending === 1 ? "change" : "changes"} · re-sort
        </button>
      )}
      {chosen > 0 && (
        <button type="button" className="plain small" onClick={onClear}>
          {chosen.toLocaleString()} selected · clear
        </button>
      )}
      {!progress.complete && <Loading loaded={progress.loaded} />}
      <span className="quiet queue-count">
        {order.length === total ? tasks(total) : `${order.length.toLocaleString()} of ${tasks(total)}`}
      </span>
    </div>
  );
}

const tasks = (count: number) => `${count.toLocaleString()} ${count === 1 ? "task" : "tasks"}`;

function Loading({ loaded }: { loaded: number }) {
  const stats = useLive("queue-total", () => dibs.stats.get({ project: "*" }), { on: () => false });
  const total = stats.data?.queue_size;
  return (
    <span className="row quiet">
      <progress
        aria-label="Tasks read"
        className="queue-progress"
        value={total && Math.min(loaded, total)}
        max={total || 1}
      />
      {loaded.toLocaleString()} of {total === undefined ? "…" : Math.max(loaded, total).toLocaleString()}{" "}
      loaded
    </span>
  );
}

interface NothingProps {
  listed: Listed;
  project: string;
  onClear: () => void;
}

export function NothingListed({ listed, project, onClear }: NothingProps) {
  if (listed.question === null || (listed.total === 0 && !listed.isWhole))
    return <Empty title="Loading tasks…" />;
  if (listed.total > 0) {
    return (
      <Empty title={listed.isWhole ? "No task matches this filter." : "No task so far matches this filter."}>
        <p>
          <button type="button" onClick={onClear}>
            Show all {listed.total.toLocaleString()}
          </button>
        </p>
      </Empty>
    );
  }
  const of = project === "*" ? "" : ` --project ${shellWord(project)}`;
  return (
    <Empty title={project === "*" ? "There are no tasks yet." : `There are no tasks in ${project}.`}>
      <p>Add the first one:</p>
      <div className="queue-first">
        <CopyText text={`dibs add${of} "Write the docs"`} label="as a command" />
      </div>
    </Empty>
  );
}

/** Where there is no room for headers. */
export function SortChoice({ sort, onSort }: { sort: Sort; onSort: (sort: Sort) => void }) {
  return (
    <select
      className="queue-sort-choice"
      aria-label="Order"
      value={formatSort(sort)}
      onChange={({ target }) => onSort(parseSort(target.value)!)}
    >
      <option value="">Default order</option>
      {columns.map((column) => (
        <option key={column} value={column}>
          By {columnNames[column] === "#" ? "number" : columnNames[column].toLowerCase()}
        </option>
      ))}
      {sort.isReversed && <option value={formatSort(sort)}>By {sort.column}, reversed</option>}
    </select>
  );
}

export function Legend() {
  return (
    <p className="queue-legend small quiet">
      <span>
        <code>[*]</code> in flight <code>[!]</code> silent <code>[?]</code> asks <code>--</code> ready
      </span>
      <span className="queue-keys">
        <kbd>/</kbd> filter <kbd>j</kbd> <kbd>k</kbd> move <kbd>x</kbd> select <kbd>Enter</kbd> open{" "}
        <kbd>n</kbd> new <kbd>a</kbd> act <kbd>r</kbd> re-sort
      </span>
    </p>
  );
}
