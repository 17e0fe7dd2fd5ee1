// What a task belongs to, consists of, waits for, and who waits for it: with their states, as links. Parts and those that wait are
// found among all tasks, which may take a moment in a large org.

import { useMemo, useState } from "react";
import { TaskState } from "../../components/task-state.js";
import type { Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { useTaskIndex } from "../../data/tasks.js";
import { hrefTo, Link, taskHref } from "../../router.js";

type Index = ReturnType<typeof useTaskIndex>;
type Row = ReturnType<Index["rows"]>[number];

const shownFirst = 8;
const shownMax = 200;

interface Kin {
  id: string;
  row: Row | undefined;
}

export function Relations({ task }: { task: Task }) {
  const index = useTaskIndex();
  const { project, id, parentId, dependsOn } = task;
  const { children, dependents } = useKin(index, project, id);
  const named = (ids: readonly string[]): Kin[] =>
    ids.map((each) => ({ id: each, row: index.get(project, each) }));
  const isLone = parentId === null && dependsOn.length + children.length + dependents.length === 0;
  return (
    <>
      {parentId !== null && <Kinship title="Subtask of" kin={named([parentId])} project={project} />}
      <Kinship title="Subtasks" kin={children} project={project} filter={`parent:${id}`} />
      <Kinship title="Depends on" kin={named(dependsOn)} project={project} />
      <Kinship title="Dependents" kin={dependents} project={project} />
      {!isLone && (
        <p className="small">
          <Link href={hrefTo("/graph", { project, focus: id })}>In the graph</Link>
        </p>
      )}
    </>
  );
}

function useKin(index: Index, project: string, id: string): { children: Kin[]; dependents: Kin[] } {
  const rows = index.rows();
  return useMemo(() => {
    const children: Kin[] = [];
    const dependents: Kin[] = [];
    for (const row of rows) {
      if (row.project !== project) continue;
      if (row.parentId === id) children.push({ id: row.id, row });
      if (row.dependsOn.includes(id)) dependents.push({ id: row.id, row });
    }
    return { children, dependents };
  }, [rows, project, id]);
}

interface KinshipProps {
  title: string;
  kin: Kin[];
  project: string;
  /** Where all of them are seen. */
  filter?: string;
}

function Kinship({ title, kin, project, filter }: KinshipProps) {
  const [isOpen, setOpen] = useState(false);
  const now = useNow(5_000);
  if (kin.length === 0) return null;
  const shown = kin.slice(0, isOpen ? shownMax : shownFirst);
  const over = kin.filter(({ row }) => row?.state === "completed").length;
  return (
    <section className="panel task-part" aria-label={title}>
      <h2 className="row">
        <span className="grows">{title}</span>
        {kin.length > 1 && (
          <span className="quiet small">
            {over}/{kin.length} completed
          </span>
        )}
      </h2>
      <ul className="task-kin">
        {shown.map(({ id, row }) => (
          <li key={id}>
            <Link className="row" href={taskHref(project, id)}>
              <span className="mono small">{id}</span>
              <span className="cut grows" title={row?.title}>
                {row?.title}
              </span>
              {row && <TaskState task={row} now={now} />}
            </Link>
          </li>
        ))}
      </ul>
      {kin.length > shownFirst && (
        <div className="row small">
          <button
            type="button"
            className="plain small"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "Show less" : `Show ${Math.min(kin.length, shownMax)}`}
          </button>
          {filter && (
            <Link href={hrefTo("/queue", { q: filter, project })}>All {kin.length} in the queue</Link>
          )}
        </div>
      )}
    </section>
  );
}

/** Said below everything else, so that nothing moves when it is done. */
export function StillLooking() {
  const index = useTaskIndex();
  const now = useNow();
  const [since] = useState(now);
  if (index.progress.complete || now - since < 2_000) return null;
  return <p className="quiet small">Loading subtasks and dependents…</p>;
}
