// Which task a few words mean. In this order: the author's number or id, the title as it is, the title but for case,
// punctuation and numbering, an id of a task that exists; only then a part of a title, if one task alone fits.

import { reduceLabel } from "./labels.js";
import type { RawTask } from "./plan.js";
import { normalise, unwrap } from "./words.js";

export type Found =
  | { kind: "task"; task: RawTask; how?: string }
  | { kind: "id"; id: string }
  | { kind: "ambiguous"; tasks: RawTask[] }
  | { kind: "unknown" };

const unknown: Found = { kind: "unknown" };
const textLengthMax = 600;
/** Looking through all titles is for the few references that need it. */
const titlesSearchedMax = 2_000_000;

const generatedId =
  /^(?:\d{4}|[A-Z]\d{3}|[A-Z]{2}\d{2}|[A-Z]{3}\d)(?:_t\d+(?:\.\d+)*)?$|^[A-Z]{4}_t\d+(?:\.\d+)*$/;
const dateId = /^task-\d{8}-[0-9a-f]{4,}$/;
const anyId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export class TaskIndex {
  private readonly byLabel = new Map<string, RawTask[]>();
  private readonly byReduced = new Map<string, RawTask[]>();
  private readonly byPath = new Map<string, RawTask[]>();
  private readonly byTitle = new Map<string, RawTask[]>();
  private readonly byNormal = new Map<string, RawTask[]>();
  private titlesSearched = 0;
  /** Where the author gave no numbers, `#3` is the third. */
  private readonly countable: RawTask[];

  constructor(
    readonly tasks: readonly RawTask[],
    private readonly exists: (id: string) => boolean | undefined,
  ) {
    for (const task of tasks) {
      push(this.byTitle, task.title, task);
      push(this.byNormal, normalise(task.title), task);
      const ticket = /^\[?([A-Z][A-Z0-9]{1,9}-\d{1,6})\b/.exec(task.title)?.[1];
      const phase = phaseOf(task);
      if (ticket !== undefined) push(this.byLabel, ticket.toLowerCase(), task);
      if (phase !== undefined) push(this.byLabel, phase, task);
      if (task.label === undefined) continue;
      push(this.byLabel, task.label.toLowerCase(), task);
      push(this.byReduced, reduceLabel(task.label), task);
      push(this.byPath, pathOf(task), task);
    }
    const nested = tasks.some((task) => task.parent && task.parent.type !== "group");
    this.countable = this.byLabel.size > 0 || nested ? [] : tasks.filter(({ type }) => type === "task");
  }

  /** What the words mean in this plan, without a guess and without asking for ids of existing tasks. */
  within(words: string, from: RawTask): Found {
    const found = words.length > textLengthMax ? unknown : this.inPlan(words, unwrap(words), from);
    if (found) return found;
    // `3 retries` is no task 3.
    const isMeant = /^(?:task|step|item|#)|^\S{1,12}\s?[:(–—]/i.test(unwrap(words));
    return (isMeant && this.numbered(unwrap(words), from)) || unknown;
  }

  /** What the words mean without any guess. */
  strict(words: string, from: RawTask): Found {
    if (words.length > textLengthMax) return unknown;
    const text = unwrap(words);
    if (text === "") return unknown;
    const escaped = /^id:\s?(\S+)$/.exec(text)?.[1];
    if (escaped && anyId.test(escaped)) return { kind: "id", id: escaped };
    return this.inPlan(words, text, from) ?? this.existing(text) ?? unknown;
  }

  private inPlan(words: string, text: string, from: RawTask): Found | undefined {
    if (text === "") return undefined;
    const label = this.byLabel.get(text.toLowerCase());
    if (label) return nearest(label, from);
    return (
      one(this.byTitle.get(words.trim()) ?? this.byTitle.get(text)) ??
      one(this.byNormal.get(normalise(text))) ??
      this.labelled(text, from)
    );
  }

  /** `#1` and `Task 01` for the label `1`. */
  private labelled(text: string, from: RawTask): Found | undefined {
    if (text.length > 40 || !/\d/.test(text) || generatedId.test(text)) return undefined;
    const reduced = reduceLabel(text);
    if (!/^[a-z]{0,3}\d[\d.]*[a-z]?$/.test(reduced)) return undefined;
    const path = reduced.includes(".") ? this.byPath.get(reduced) : undefined;
    if (path) return one(path);
    const close = this.byReduced.get(reduced);
    return close ? nearest(close, from) : this.counted(reduced);
  }

  private counted(reduced: string): Found | undefined {
    const task = /^\d{1,5}$/.test(reduced) ? this.countable[Number(reduced) - 1] : undefined;
    return task && { kind: "task", task, how: "by its place in the plan" };
  }

  private existing(text: string): Found | undefined {
    const isId =
      generatedId.test(text) || dateId.test(text) || (anyId.test(text) && this.exists(text) === true);
    return isId ? { kind: "id", id: text } : undefined;
  }

  /** Somebody has looked, and there is none. */
  isMissing(id: string): boolean {
    return this.exists(id) === false;
  }

  /** What they probably mean. */
  loose(words: string, from: RawTask): Found {
    if (words.length > textLengthMax) return unknown;
    const text = unwrap(words);
    const numbered = this.numbered(text, from);
    if (numbered) return numbered;
    const withoutRemark = text.replace(/\s*\([^()]*\)$/, "").trim();
    if (withoutRemark !== text && withoutRemark !== "") {
      const found = this.strict(withoutRemark, from);
      if (found.kind !== "unknown")
        return found.kind === "task" ? { ...found, how: "without the remark" } : found;
    }
    return this.partOf(withoutRemark || text, from);
  }

  /** `Task 1: the schema`, `#2 (types)`: the number counts, unless the words are another task's title. */
  private numbered(text: string, from: RawTask): Found | undefined {
    const found =
      /^((?:task|step|item)?\s?#?[A-Za-z]{0,2}-?\d{1,6}(?:\.\d{1,6}){0,8})(?:\s?[:.)–—-]\s|\s+|\s?(?=\())(.+)$/i.exec(
        text,
      );
    if (!found) return undefined;
    const byNumber = this.labelled(found[1]!.trim(), from);
    if (byNumber?.kind !== "task") return byNumber;
    const titled = this.byNormal.get(normalise(found[2]!));
    if (titled && !titled.includes(byNumber.task))
      return { kind: "ambiguous", tasks: [byNumber.task, ...titled] };
    return titled ? byNumber : { ...byNumber, how: "by its number" };
  }

  /** The one task that has these words in its title, apart from a remark in brackets. */
  titled(words: string, from: RawTask): Found {
    if (words.length > textLengthMax) return unknown;
    // `User stories (Phase 3)`
    const remark = /\(([^()]{1,40})\)$/.exec(unwrap(words))?.[1];
    const named = remark === undefined ? undefined : this.inPlan(remark, remark, from);
    if (named?.kind === "task") return named;
    const bare = unwrap(words)
      .replace(/\s*\([^()]*\)$/, "")
      .trim();
    // Outside of tasks, phases are spoken of more often than tasks.
    const groups = this.tasks.filter(
      ({ type, title }) => type === "group" && ` ${normalise(title)} `.includes(` ${normalise(bare)} `),
    );
    return groups.length === 1 ? { kind: "task", task: groups[0]! } : this.partOf(bare, from);
  }

  private partOf(text: string, from: RawTask): Found {
    const wanted = normalise(text);
    this.titlesSearched += this.byNormal.size;
    if (wanted.length < 4 || this.titlesSearched > titlesSearchedMax) return unknown;
    const others = [...this.byNormal].filter(([, tasks]) => tasks.length > 1 || tasks[0] !== from);
    const tests: [string, (title: string) => boolean][] = [
      ["by its beginning", (title) => title.startsWith(`${wanted} `)],
      ["by a part of its title", (title) => ` ${title} `.includes(` ${wanted} `)],
      ["by the title within it", (title) => title.includes(" ") && ` ${wanted} `.includes(` ${title} `)],
    ];
    for (const [how, test] of tests) {
      const fitting = others.filter(([title]) => test(title)).flatMap(([, tasks]) => tasks);
      if (fitting.length === 1) return { kind: "task", task: fitting[0]!, how };
      if (fitting.length > 1) return { kind: "ambiguous", tasks: fitting };
    }
    return unknown;
  }
}

const phases =
  /^(phase|milestone|stage|sprint|epic|week|day|iteration|section|part|wave)\s{1,2}#?(\d{1,4}|[A-Z])\b/i;

/** `phase 2` for the group `Phase 2: Migration`, and `section 2` for `2. Migration`. */
function phaseOf({ title, label }: RawTask): string | undefined {
  const named = phases.exec(title);
  if (named) return `${named[1]} ${named[2]}`.toLowerCase();
  return label === undefined ? undefined : `section ${label}`.toLowerCase();
}

function push(map: Map<string, RawTask[]>, key: string, task: RawTask): void {
  const known = map.get(key);
  if (known) known.push(task);
  else map.set(key, [task]);
}

function one(tasks: RawTask[] | undefined): Found | undefined {
  if (!tasks) return undefined;
  return tasks.length === 1 ? { kind: "task", task: tasks[0]! } : { kind: "ambiguous", tasks };
}

/** Numbers are looked up again and again in plans where thousands of tasks have the same. */
const byParents = new WeakMap<RawTask[], Map<RawTask | undefined, RawTask[]>>();

function byParent(tasks: RawTask[]): Map<RawTask | undefined, RawTask[]> {
  const known = byParents.get(tasks);
  if (known) return known;
  const groups = new Map<RawTask | undefined, RawTask[]>();
  for (const task of tasks) {
    const group = groups.get(task.parent);
    if (group) group.push(task);
    else groups.set(task.parent, [task]);
  }
  byParents.set(tasks, groups);
  return groups;
}

/** Numbers begin again in every list: the one next to the task counts, then next to its parent, then the only one. */
function nearest(tasks: RawTask[], from: RawTask): Found {
  if (tasks.length === 1) return { kind: "task", task: tasks[0]! };
  const groups = byParent(tasks);
  for (let scope: RawTask | undefined = from, steps = 0; scope && steps < 64; scope = scope.parent, steps++) {
    const beside = groups.get(scope.parent)?.filter((task) => task !== from) ?? [];
    if (beside.length > 0) return one(beside)!;
  }
  return one(tasks.filter((task) => task !== from))!;
}

/** `2.1` for the first child of the second, whether or not its own number says so. */
function pathOf(task: RawTask): string {
  let path = reduceLabel(task.label!);
  for (let above = task.parent, steps = 0; above && steps < 64; above = above.parent, steps++) {
    if (above.label === undefined) continue;
    const label = reduceLabel(above.label);
    if (!path.startsWith(`${label}.`)) path = `${label}.${path}`;
  }
  return path;
}
