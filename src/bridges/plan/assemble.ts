// From tasks as they were written to a plan: keys, references, groups, what is done, and what cannot be.

import type { Asides } from "./asides.js";
import { cyclesOf } from "./cycles.js";
import { reportDuplicates } from "./duplicates.js";
import { settleGuesses } from "./guesses.js";
import { identitiesOf } from "./identity.js";
import { dedent } from "./lines.js";
import { noteOddities } from "./oddities.js";
import {
  type At,
  bounds,
  type Plan,
  type PlanFormat,
  type PlannedTask,
  type RawTask,
  type ReadOptions,
} from "./plan.js";
import { type Links, linksMax, Resolver } from "./references.js";
import type { Report } from "./report.js";
import { quote, titleFrom } from "./words.js";

export function assemble(
  format: PlanFormat,
  tasks: RawTask[],
  asides: Asides,
  report: Report,
  options: ReadOptions,
): Plan {
  const empty: Plan = { format, tasks: [], notes: [] };
  if (tasks.length > bounds.tasksMax) {
    const at = tasks[bounds.tasksMax]!.at;
    report.problem(
      at,
      `This plan has ${tasks.length} tasks; at most ${bounds.tasksMax} can be created at once.`,
    );
    return empty;
  }
  for (const task of tasks) tidy(task, report, { isProse: format !== "json" });
  const first = new Resolver(tasks, report, options.exists);
  asides.settle(first, report);
  const second = settleGuesses(tasks, first, report) ? new Resolver(tasks, report, options.exists) : first;
  const parentIds = placeUnderParents(tasks, second);
  const isMoved = tasks.some(({ parentReference }) => parentReference !== undefined);
  const resolver = isMoved ? new Resolver(tasks, report, options.exists) : second;
  reportDuplicates(format, tasks, parentIds, report);
  const links = new Map(tasks.map((task) => [task, resolver.linksOf(task)]));
  for (const task of tasks) linkBlocked(task, resolver, links, report);
  const children = childrenOf(tasks);
  reportParents(tasks, report);
  if (report.problems.length > 0) return empty;
  const inward = parentsFirst(tasks, children);
  for (const task of inward.toReversed()) settleDone(task, children.get(task) ?? [], report);
  // Before subtasks inherit them, and once more for cycles that only inherited ones close.
  dropSoftCycles(tasks, children, links, report);
  const inherited = new Inheritance(links, report);
  for (const task of inward) inherited.handDown(task, children.get(task) ?? []);
  if (report.problems.length > 0) return empty;
  dropSoftCycles(tasks, children, links, report);
  reportCycles(tasks, children, links, report);
  noteOddities(format, tasks, links, report);
  const ids = [...parentIds.values(), ...[...links.values()].flatMap((each) => [...each.ids])];
  const keys = keysOf(tasks, ids);
  const identities = identitiesOf(format, tasks);
  return {
    format,
    tasks: tasks.map((task) => ({
      ...planned(task, keys, links.get(task)!, parentIds.get(task)),
      identity: identities.get(task)!,
    })),
    notes: [],
  };
}

function tidy(task: RawTask, report: Report, { isProse }: { isProse: boolean }): void {
  if (task.label === "") delete task.label;
  task.description = isProse ? tidied(task.description) : task.description.trim();
  task.title = task.title.replace(/\s+/g, " ").trim();
  if (task.title === "") {
    task.madeOf = task.prompt?.trim() || task.description;
    task.title = titleFrom(task.madeOf);
    if (task.title === "") report.problem(task.at, "This task has no title.");
  }
  if (task.title.length > bounds.titleLengthMax) {
    const whole = task.title;
    task.madeOf = whole;
    task.title = `${[...whole].slice(0, 200).join("")}…`;
    task.description = task.description ? `${whole}\n\n${task.description}` : whole;
    report.note(
      `Line ${task.at.line}: the title is long; its beginning is kept as the title, all of it as the description.`,
    );
  }
  for (const name of ["files", "labels", "requires"] as const) {
    if (task.details[name]) task.details[name] = [...new Set(task.details[name])];
  }
}

/** The first line stands behind its name or title; those below it have the indentation of the list. */
function tidied(description: string): string {
  const lines = description.split("\n");
  if (/^\s/.test(description)) return dedent(lines).trim();
  return [lines[0]!, ...dedent(lines.slice(1)).split("\n")].join("\n").trim();
}

/** `parentId` of a flat list, by key, title or id. */
function placeUnderParents(tasks: RawTask[], resolver: Resolver): Map<RawTask, string> {
  const ids = new Map<RawTask, string>();
  for (const task of tasks) {
    const parent = resolver.parentOf(task);
    if (!parent) continue;
    if ("task" in parent) task.parent = parent.task;
    else ids.set(task, parent.id);
  }
  return ids;
}

/** `blocks: X` is written in the text of its task; X waits for that task. */
function linkBlocked(task: RawTask, resolver: Resolver, links: Map<RawTask, Links>, report: Report): void {
  for (const reference of task.blocks ?? []) {
    const { isAll, parts } = resolver.understood(task, reference);
    const found = resolver.linksOf({ ...task, references: parts });
    for (const [other, at] of found.tasks) if (other !== task) links.get(other)?.tasks.set(task, at);
    if (!isAll)
      report.note(
        `Line ${reference.at.line}: what ${quote(task.title)} blocks, ${quote(reference.text)}, is not all in this plan.`,
      );
  }
}

function childrenOf(tasks: RawTask[]): Map<RawTask, RawTask[]> {
  const children = new Map<RawTask, RawTask[]>();
  for (const task of tasks) {
    if (!task.parent) continue;
    const known = children.get(task.parent);
    if (known) known.push(task);
    else children.set(task.parent, [task]);
  }
  return children;
}

function reportParents(tasks: RawTask[], report: Report): void {
  const up = (task: RawTask) => (task.parent ? [task.parent] : []);
  for (const cycle of cyclesOf(tasks, up))
    report.problem(cycle[0]!.at, `A task cannot be its own ancestor: ${written(cycle)}.`);
  if (report.problems.length > 0) return;
  const depths = new Map<RawTask, number>();
  for (const task of tasks) {
    const chain: RawTask[] = [];
    for (let above: RawTask | undefined = task; above && !depths.has(above); above = above.parent)
      chain.push(above);
    for (const each of chain.reverse()) depths.set(each, each.parent ? depths.get(each.parent)! + 1 : 0);
    if (depths.get(task) === bounds.depthMax + 1) {
      report.problem(task.at, `Hierarchies are at most ${bounds.depthMax} levels deep.`);
    }
  }
}

function parentsFirst(tasks: RawTask[], children: Map<RawTask, RawTask[]>): RawTask[] {
  const ordered = tasks.filter((task) => task.parent === undefined);
  for (const task of ordered) ordered.push(...(children.get(task) ?? []));
  return ordered;
}

/** Parts wait for what their parent waits for. A group is never claimed, so that only its parts wait. */
class Inheritance {
  private count = 0;

  constructor(
    private readonly links: Map<RawTask, Links>,
    private readonly report: Report,
  ) {}

  handDown(task: RawTask, parts: RawTask[]): void {
    const own = this.links.get(task)!;
    if (parts.length === 0 || own.tasks.size + own.ids.size === 0) return;
    const isGroup = task.type === "group";
    const handed = [...own.tasks].filter(([other]) => (isGroup || !other.done) && !isWithin(other, task));
    if (handed.length + own.ids.size > 0) for (const part of parts) this.give(part, handed, own);
    if (!isGroup) return;
    this.links.set(task, { tasks: new Map(), soft: new Set(), ids: new Set() });
    this.report.note(
      `Line ${task.at.line}: what the group ${quote(task.title)} waits for, each of its ${parts.length} parts waits for.`,
    );
  }

  private give(part: RawTask, handed: [RawTask, At][], { soft, ids }: Links): void {
    this.count += handed.length + ids.size;
    if (this.count > linksMax) {
      if (this.report.problems.length === 0)
        this.report.problem(part.at, `This plan has more than ${linksMax} dependencies.`);
      return;
    }
    const theirs = this.links.get(part)!;
    for (const [other, at] of handed) {
      if (theirs.tasks.has(other)) continue;
      theirs.tasks.set(other, at);
      if (soft.has(other)) theirs.soft.add(other);
    }
    for (const id of ids) theirs.ids.add(id);
  }
}

function isWithin(task: RawTask, whole: RawTask): boolean {
  let at: RawTask | undefined = task;
  while (at && at !== whole) at = at.parent;
  return at !== undefined;
}

function settleDone(task: RawTask, parts: RawTask[], report: Report): void {
  if (parts.length === 0) return;
  const isAllDone = parts.every((part) => part.done);
  if (task.type === "group" && isAllDone) task.done = true;
  if (!task.done || isAllDone) return;
  delete task.done;
  task.type = "group";
  report.note(
    `Line ${task.at.line}: ${quote(task.title)} is ticked off, but parts of it are open; it is kept as their group.`,
  );
}

function openCycles(
  tasks: RawTask[],
  children: Map<RawTask, RawTask[]>,
  links: Map<RawTask, Links>,
): RawTask[][] {
  const open = tasks.filter((task) => !task.done);
  const edges = new Map(
    open.map((task) => {
      const all = [...links.get(task)!.tasks.keys(), ...(children.get(task) ?? [])];
      return [task, all.filter((other) => !other.done)];
    }),
  );
  return cyclesOf(open, (task) => edges.get(task)!);
}

const softRoundsMax = 20;

/** `Task 2 comes after this one` in the text of task 1: prose never makes tasks wait for each other. */
function dropSoftCycles(
  tasks: RawTask[],
  children: Map<RawTask, RawTask[]>,
  links: Map<RawTask, Links>,
  report: Report,
): void {
  if ([...links.values()].every(({ soft }) => soft.size === 0)) return;
  for (let round = 0, dropped = -1; round < softRoundsMax && dropped !== 0; round++) {
    dropped = 0;
    for (const cycle of openCycles(tasks, children, links)) {
      const at = cycle.findIndex((task, index) => links.get(task)!.soft.has(cycle[index + 1]!));
      const task = cycle[at];
      const other = cycle[at + 1];
      if (!task || !other) continue;
      const { tasks: known, soft } = links.get(task)!;
      const place = known.get(other)!;
      known.delete(other);
      soft.delete(other);
      dropped++;
      report.note(
        `Line ${place.line}: ${quote(task.title)} does not wait for ${quote(other.title)}, which waits for it.`,
      );
    }
  }
}

function reportCycles(
  tasks: RawTask[],
  children: Map<RawTask, RawTask[]>,
  links: Map<RawTask, Links>,
  report: Report,
): void {
  for (const cycle of openCycles(tasks, children, links)) {
    const place = cycle
      .map((task, index) => placeOf(links.get(task), cycle[index + 1]))
      .find((at) => at !== undefined);
    const hasChild = cycle.some((task, index) => cycle[index + 1] && cycle[index + 1]!.parent === task);
    if (cycle.length === 2)
      report.problem(place ?? cycle[0]!.at, `${quote(cycle[0]!.title)} waits for itself.`);
    else {
      const hint = hasChild
        ? "A parent waits for its subtasks, so none of them can depend on it."
        : "Leave out one of these dependencies.";
      report.problem(place ?? cycle[0]!.at, `These tasks wait for each other: ${written(cycle)}.`, hint);
    }
  }
}

const placeOf = (links: Links | undefined, other: RawTask | undefined): At | undefined =>
  links && other ? links.tasks.get(other) : undefined;

function written(cycle: RawTask[]): string {
  const shown = cycle.length > 12 ? [...cycle.slice(0, 10), undefined, cycle.at(-1)!] : cycle;
  return shown.map((task) => (task ? `${quote(task.title)} (line ${task.at.line})` : "…")).join(" → ");
}

/**
 * The author's own names where they are unique; children with numbers of their own get their parent's before it. An id
 * of an existing task is never a key: in a batch the key would count.
 */
function keysOf(tasks: RawTask[], ids: string[]): Map<RawTask, string> {
  const keys = new Map<RawTask, string>();
  const taken = new Set(ids);
  const take = (task: RawTask, key: string) => {
    if (taken.has(key) || key.length > bounds.titleLengthMax) return;
    taken.add(key);
    keys.set(task, key);
  };
  const labels = new Map<string, number>();
  for (const { label } of tasks) if (label !== undefined) labels.set(label, (labels.get(label) ?? 0) + 1);
  for (const task of tasks)
    if (task.label !== undefined && labels.get(task.label) === 1) take(task, task.label);
  for (const task of tasks) {
    if (task.label === undefined || keys.has(task)) continue;
    const above = task.parent && keys.get(task.parent);
    take(
      task,
      above === undefined || task.label.startsWith(`${above}.`) ? task.label : `${above}.${task.label}`,
    );
  }
  let count = 0;
  for (const task of tasks) {
    count++;
    if (keys.has(task)) continue;
    let key = `t${count}`;
    while (taken.has(key)) key = `${key}x`;
    take(task, key);
  }
  return keys;
}

function planned(
  task: RawTask,
  keys: Map<RawTask, string>,
  links: Links,
  parentId: string | undefined,
): Omit<PlannedTask, "identity"> {
  const { title, description, details, type, done, parent, at } = task;
  return {
    key: keys.get(task)!,
    title,
    prompt: task.prompt?.trim() ? task.prompt : promptOf(title, description),
    ...(description && { description }),
    type,
    ...(parent && { parentKey: keys.get(parent)! }),
    ...(parentId !== undefined && { parentId }),
    ...details,
    dependsOn: [...links.tasks.keys()].map((other) => keys.get(other)!),
    dependsOnIds: [...links.ids],
    ...(done && { done }),
    line: at.line,
  };
}

/** An agent may be told nothing but the prompt, so that it has the title in it. */
function promptOf(title: string, description: string): string {
  const stem = title.replace(/(?:\.\.\.|…)$/, "");
  return description === ""
    ? title
    : description.startsWith(stem)
      ? description
      : `${title}\n\n${description}`;
}
