// Declared is not real: what tasks in flight have really changed, as their runners report it, and which of them change the same files.
// Nothing is blocked by that; people are shown it once per pair. Each task's paths are a document of its own; which tasks have one,
// and the pairs that were found, is a document of the project.

import type { Claim } from "./claim.js";
import type { Draft } from "./draft.js";
import type { Notification } from "./event.js";
import type { Reason } from "./explain.js";
import { limits } from "./limits.js";
import { isTerminal, stateOf, type Task } from "./task.js";
import type { DocumentValue, Reads, View } from "./view.js";

/** Of one task. */
export const changedPathsMax = 500;
/** So many tasks in flight are compared, those that reported last. */
const tasksMax = 200;
const pairsMax = 500;
const pathsShownMax = 10;

const kind = "changed-paths";
const ofTask = (project: string, taskId: string) => `${project}/${taskId}`;

/** One attempt at a task. */
interface Changing {
  taskId: string;
  epoch: number;
}

export interface Overlap {
  /** The task that was found later is the second. */
  tasks: readonly [Changing, Changing];
  /** The first few of them. */
  paths: string[];
  /** 0: they no longer do, but the pair was announced. */
  count: number;
  at: number;
  /** The event that announced it, of the second task. */
  seq: number;
  /** Its notification; absent in what an earlier version stored. */
  notice?: string;
}

interface Index {
  tasks: Changing[];
  overlaps: Overlap[];
}

type Looks = Pick<View, "document" | "claim" | "task">;
const indexOf = (view: Pick<View, "document">, project: string): Index =>
  (view.document(kind, project) as unknown as Index | undefined) ?? { tasks: [], overlaps: [] };

function pathsOf(view: Pick<View, "document">, project: string, { taskId, epoch }: Changing): string[] {
  const found = view.document(kind, ofTask(project, taskId)) as
    | { epoch: number; paths: string[] }
    | undefined;
  return found?.epoch === epoch ? found.paths : [];
}

/** Held, or handed in and not landed. */
function isInFlight(view: Pick<Looks, "claim" | "task">, project: string, { taskId, epoch }: Changing) {
  if (view.claim(project, taskId)?.epoch === epoch) return true;
  const task = view.task(project, taskId);
  return task?.state === "submitted" && task.epoch === epoch;
}

/** What the attempt has changed so far, instead of what it reported before. */
export function reportPaths(draft: Draft, { project, taskId, epoch }: Claim, given: readonly string[]): void {
  const paths = [...new Set(given)].sort().slice(0, changedPathsMax);
  const own = { taskId, epoch };
  const before = pathsOf(draft, project, own);
  if (paths.length === before.length && paths.every((path, at) => path === before[at])) return;
  draft.putDocument(kind, ofTask(project, taskId), { epoch, paths });
  const index = indexOf(draft, project);
  const others = index.tasks.filter((other) => other.taskId !== taskId);
  const isMine = ({ tasks }: Overlap) => tasks.some((each) => each.taskId === taskId);
  const gone = new Set<Changing>();
  const found: Overlap[] = [];
  const known = new Map(
    index.overlaps
      .filter(isMine)
      .map((overlap) => [overlap.tasks.find((each) => each.taskId !== taskId)!.taskId, overlap]),
  );
  const mine = new Set(paths);
  for (const other of others) {
    const shared = pathsOf(draft, project, other).filter((path) => mine.has(path));
    const before = known.get(other.taskId);
    if (shared.length === 0) {
      if (before) known.set(other.taskId, { ...before, paths: [], count: 0 });
    } else if (!isInFlight(draft, project, other)) gone.add(other);
    // Announced once for each pair of tasks; what they share now is what is listed.
    else if (before) {
      const pair: Overlap["tasks"] = before.tasks[0].taskId === taskId ? [own, other] : [other, own];
      known.set(other.taskId, { ...before, tasks: pair, ...shownOf(shared) });
    } else found.push(announce(draft, project, [other, own], shared));
  }
  const kept = others.filter((other) => !gone.has(other));
  const tasks = [...kept, own].slice(-tasksMax);
  for (const other of [...gone, ...kept.filter((each) => !tasks.includes(each))])
    draft.putDocument(kind, ofTask(project, other.taskId), null);
  const elsewhere = index.overlaps.filter((overlap) => !isMine(overlap));
  const overlaps = [...elsewhere, ...known.values(), ...found].slice(-pairsMax);
  draft.putDocument(kind, project, { tasks, overlaps } as unknown as DocumentValue);
}

const shownOf = (shared: string[]) => ({ paths: shared.slice(0, pathsShownMax), count: shared.length });

function announce(draft: Draft, project: string, tasks: Overlap["tasks"], shared: string[]): Overlap {
  const [first, second] = tasks;
  const { paths, count } = shownOf(shared);
  draft.emit("task:overlap", {
    project,
    taskId: second.taskId,
    epoch: second.epoch,
    actor: "system",
    data: { with: first.taskId, paths, count },
  });
  const seq = draft.org().eventSeq;
  const notice = draft.notify("TASKS_OVERLAP", {
    task: { project, id: second.taskId },
    title: "Tasks change the same files",
    message: `Tasks ${first.taskId} and ${second.taskId} both change ${inWords(paths, count)}. Run: dibs conflicts`,
  });
  return { tasks, paths, count, at: draft.now, seq, notice: notice.id };
}

const namedMax = 3;

function inWords(paths: readonly string[], count: number): string {
  const named = paths.slice(0, namedMax).join(", ");
  return count > namedMax ? `${named} and ${count - namedMax} more` : named;
}

/** Those whose tasks are both in flight, the latest first. */
export function overlapsIn(view: Looks, project: string): Overlap[] {
  return indexOf(view, project)
    .overlaps.filter(
      ({ tasks, count }) => count > 0 && tasks.every((each) => isInFlight(view, project, each)),
    )
    .reverse();
}

/** Unread notifications of pairs that change the same files no longer, or of which a task has ended. */
export function endedOverlapNotices(view: Looks & Pick<Reads, "notifications">): Notification[] {
  const unread = view
    .notifications({ project: null, unread: true, limit: limits.pageMax })
    .filter(({ type }) => type === "TASKS_OVERLAP");
  return unread.filter(({ id, project, taskId }) => {
    const isMeant = ({ notice, tasks }: Overlap) =>
      notice === undefined ? tasks[1].taskId === taskId : notice === id;
    // A task that is queued again keeps its pair: the next attempt is not announced.
    const isOpen = (each: Changing) => {
      const task = view.task(project, each.taskId);
      return task !== undefined && !isTerminal(stateOf(task, view.claim(project, each.taskId)));
    };
    return !indexOf(view, project).overlaps.some(
      (overlap) => isMeant(overlap) && overlap.count > 0 && overlap.tasks.every(isOpen),
    );
  });
}

/** The log has each pair once, with its second task: the numbers of the events that the first task has to show, too. */
export function overlapEventsOfFirst(view: Looks, project: string, taskId: string): number[] {
  return indexOf(view, project)
    .overlaps.filter(({ tasks: [first] }) => first.taskId === taskId)
    .map(({ seq }) => seq)
    .sort((a, b) => a - b);
}

export function overlapReasons(view: Looks, { project, id }: Task): Reason[] {
  return overlapsIn(view, project).flatMap(({ tasks, paths, count }) => {
    const other = tasks.find(({ taskId }) => taskId !== id);
    if (!other || tasks.every(({ taskId }) => taskId !== id)) return [];
    const message = `It changes ${inWords(paths, count)}, as task ${other.taskId} does.`;
    return [{ code: "OVERLAPS", message, taskIds: [other.taskId], count, fix: "dibs conflicts" }];
  });
}
