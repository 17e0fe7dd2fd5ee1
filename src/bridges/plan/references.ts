// From what an author wrote after `depends on:` to tasks of the plan and ids of existing tasks.

import { add, isNothing } from "./fields.js";
import { type Found, TaskIndex } from "./index-of-tasks.js";
import { type At, newTask, type RawTask, type Reference } from "./plan.js";
import type { Report } from "./report.js";
import { closest, quote, unwrap } from "./words.js";

const partsMax = 1000;
export const linksMax = 100_000;

export interface Links {
  /** Tasks of the plan, each with the place that says so. */
  tasks: Map<RawTask, At>;
  /** Those that were read out of prose only. */
  soft: Set<RawTask>;
  ids: Set<string>;
}

/** What was found of a list as it is written, and what was not. */
export interface Understood {
  isAll: boolean;
  parts: Reference[];
  others: Reference[];
}

export class Resolver {
  readonly index: TaskIndex;
  readonly titles: string[];
  /** Only then a reference with a comma in it can be one title. */
  readonly haveCommas: boolean;
  private readonly siblings = new Map<RawTask | undefined, RawTask[]>();
  private readonly places = new Map<RawTask, number>();
  private linked = 0;

  constructor(
    tasks: readonly RawTask[],
    readonly report: Report,
    exists: (id: string) => boolean | undefined = () => undefined,
  ) {
    this.index = new TaskIndex(tasks, exists);
    this.titles = tasks.map(({ title }) => title);
    this.haveCommas = this.titles.some((title) => /[,;]/.test(title));
    for (const task of tasks) {
      const beside = this.siblings.get(task.parent) ?? [];
      this.places.set(task, beside.push(task) - 1);
      this.siblings.set(task.parent, beside);
    }
  }

  linksOf(task: RawTask): Links {
    const reader = new ReferenceReader(this, task);
    for (const reference of task.references) {
      if (this.report.isFull) break;
      if (reference.guess) continue;
      reader.isSoft = reference.isSoft === true;
      if (reference.task) reader.known(reference.task, reference.at);
      else if (reference.orCapability) reader.requirement(reference);
      else if (reference.isList) reader.list(reference);
      else reader.single(reference);
    }
    return reader.links;
  }

  /** The tasks that words outside of any task mean: all of a list, or its beginning. */
  meant(text: string): { tasks: RawTask[]; isAll: boolean } {
    const from = newTask({ line: 1, column: 1 });
    const one = (words: string): RawTask[] => {
      const found = this.index.within(words, from);
      const titled = found.kind === "unknown" ? this.index.titled(words, from) : found;
      return titled.kind === "task" ? [titled.task] : [];
    };
    const several = (words: string): RawTask[] => {
      const range = new ReferenceReader(this, from).range(words);
      if (range) return range.flatMap((found) => (found.kind === "task" ? [found.task] : []));
      const pieces = words.split(conjunctions).map(one);
      return pieces.every((each) => each.length > 0) ? pieces.flat() : one(words);
    };
    const exact = this.index.within(text, from);
    if (exact.kind === "task") return { tasks: [exact.task], isAll: true };
    const parts = partsOf(text).map(({ start, end }) =>
      several(text.slice(start, end).replace(/^(?:and|&)\s+/i, "")),
    );
    const known = parts.findIndex((each) => each.length === 0);
    return known < 0
      ? { tasks: parts.flat(), isAll: true }
      : { tasks: parts.slice(0, known).flat(), isAll: false };
  }

  parentOf(task: RawTask): { task: RawTask } | { id: string } | undefined {
    if (!task.parentReference) return undefined;
    const reader = new ReferenceReader(this, task);
    reader.single(task.parentReference);
    const [parent] = reader.links.tasks.keys();
    const [id] = reader.links.ids;
    return parent ? { task: parent } : id === undefined ? undefined : { id };
  }

  /** Whether all of a list is found in the plan as it is written, and the parts that are. */
  understood(task: RawTask, { text, at }: Reference): Understood {
    const whole: Reference = { text, at, isList: true };
    const isOne = (words: string) => this.index.within(words, task).kind === "task";
    const reader = new ReferenceReader(this, task);
    if (isOne(text) || reader.isSeveral(text)) return { isAll: true, parts: [whole], others: [] };
    const pieces = partsOf(text).flatMap(({ start, end }) => {
      const from = start + (/^(?:and|&|\+|und|et|y)\s+/i.exec(text.slice(start, end))?.[0].length ?? 0);
      const part = { text: text.slice(from, end), at: shifted(at, from), isList: false };
      if (isOne(part.text) || reader.isSeveral(part.text)) return [part];
      const halves = part.text.split(conjunctions);
      return halves.length > 1 ? halves.map((half) => ({ ...part, text: half.trim() })) : [part];
    });
    if (pieces.length > partsMax) return { isAll: false, parts: [], others: [] };
    const isFound = (part: Reference) => isOne(part.text) || reader.isSeveral(part.text);
    const parts = pieces.filter(isFound);
    const others = pieces.filter((part) => !isFound(part));
    return { isAll: parts.length === pieces.length && parts.length > 0, parts, others };
  }

  /** The tasks before it under the same parent. */
  before(task: RawTask, { isAll }: { isAll: boolean }): RawTask[] {
    const place = this.places.get(task)!;
    return this.siblings.get(task.parent)!.slice(isAll ? 0 : Math.max(0, place - 1), place);
  }

  /** Counts a link; false when there are too many. */
  count(at: At): boolean {
    if (++this.linked === linksMax)
      this.report.problem(at, `This plan has more than ${linksMax} dependencies.`);
    return this.linked < linksMax;
  }
}

/** The references of one task. */
class ReferenceReader {
  readonly links: Links = { tasks: new Map(), soft: new Set(), ids: new Set() };
  isSoft = false;
  private readonly report: Report;

  constructor(
    private readonly resolver: Resolver,
    private readonly task: RawTask,
  ) {
    this.report = resolver.report;
  }

  private strict(words: string): Found {
    return this.resolver.index.strict(words, this.task);
  }

  private loose(words: string): Found {
    return this.resolver.index.loose(words, this.task);
  }

  known(task: RawTask, at: At): void {
    this.connect(task, at);
  }

  single({ text, at }: Reference): void {
    const found = this.strict(text);
    if (found.kind !== "unknown") this.link(found, text, at);
    else if (!this.several(text, at)) this.link(this.loose(text), text, at);
  }

  /** Titles have commas too: the longest run of parts that is a title counts. */
  list({ text, at }: Reference): void {
    const whole = this.strict(text);
    const parts = partsOf(text);
    if (whole.kind !== "unknown") this.link(whole, text, at);
    else if (parts.length > partsMax) {
      this.report.problem(at, `This names more than ${partsMax} tasks to wait for.`);
    } else {
      for (let from = 0; from < parts.length && !this.report.isFull; ) {
        const count = this.joined(text, parts.slice(from, from + 6), at);
        if (count === 0) this.part(text, parts[from]!, at, { isFirst: from === 0 });
        from += Math.max(1, count);
      }
    }
  }

  /** How many of the parts are one title together. */
  private joined(text: string, parts: Part[], at: At): number {
    if (!this.resolver.haveCommas) return 0;
    const [first] = parts;
    for (let count = parts.length; count > 1; count--) {
      const run = text.slice(first!.start, parts[count - 1]!.end);
      const found = this.strict(run);
      if (found.kind === "unknown") continue;
      this.link(found, run, shifted(at, first!.start));
      return count;
    }
    return 0;
  }

  private part(text: string, { start, end }: Part, at: At, { isFirst }: { isFirst: boolean }): void {
    const raw = text.slice(start, end);
    const words = raw.replace(/^(?:and|&|\+|und|et|y)\s+/i, "");
    const place = shifted(at, start + raw.length - words.length);
    if (isNothing(words)) return;
    const found = this.strict(words);
    if (found.kind !== "unknown") this.link(found, words, place);
    else if (isFirst && /^none\b/i.test(words)) return;
    else if (!this.several(words, place)) this.conjunction(words, place);
  }

  /** `A and B`, unless that is part of a title. */
  private conjunction(words: string, at: At): void {
    const pieces = words.split(conjunctions);
    const isEach = pieces.length > 1 && pieces.every((piece) => this.strict(piece).kind !== "unknown");
    const whole = isEach ? undefined : this.loose(words);
    if (whole && (whole.kind !== "unknown" || pieces.length === 1)) {
      this.link(whole, words, at);
      return;
    }
    let from = 0;
    for (const piece of pieces) {
      const place = words.indexOf(piece, from);
      from = place + piece.length;
      const found = this.strict(piece);
      this.link(found.kind === "unknown" ? this.loose(piece) : found, piece, shifted(at, place));
    }
  }

  /** `1-3`, `T001–T003`, `all previous tasks`, `the previous step`. */
  private several(words: string, at: At): boolean {
    const earlier = earlierIn(words);
    if (earlier) return this.earlier(at, earlier);
    const found = this.range(words);
    for (const each of found ?? []) this.link(each, words, at);
    return found !== undefined;
  }

  isSeveral(words: string): boolean {
    const earlier = earlierIn(words);
    return earlier ? this.resolver.before(this.task, earlier).length > 0 : this.range(words) !== undefined;
  }

  range(words: string): Found[] | undefined {
    if (words.length > 100) return undefined;
    const range =
      /^(?:tasks? |steps? |items? )?#?([a-z]{0,2})(\d{1,5})\s?(?:-|–|—|\.\.|to|through|thru|bis)\s?(?:task |step )?#?[a-z]{0,2}(\d{1,5})$/i.exec(
        unwrap(words),
      );
    if (!range) return undefined;
    const [first, last] = [Number(range[2]), Number(range[3])];
    if (last <= first || last - first > 200) return undefined;
    const found = Array.from({ length: last - first + 1 }, (_, step) =>
      this.strict(`${range[1]}${first + step}`),
    );
    return found.every(({ kind }) => kind === "task") ? found : undefined;
  }

  private earlier(at: At, { isAll }: { isAll: boolean }): boolean {
    const before = this.resolver.before(this.task, { isAll });
    for (const other of before) this.connect(other, at);
    if (before.length === 0) return false;
    const what = before.length === 1 ? quote(before[0]!.title) : `the ${before.length} tasks before it`;
    this.report.note(`Line ${at.line}: ${quote(this.task.title)} waits for ${what}.`);
    return true;
  }

  requirement({ text, at }: Reference): void {
    const whole = this.strict(text);
    if (whole.kind !== "unknown") {
      this.link(whole, text, at);
      return;
    }
    const meant = this.resolver.understood(this.task, { text, at, isList: true });
    if (meant.isAll) {
      for (const part of meant.parts) this.list(part);
      return;
    }
    for (const { start, end } of partsOf(text)) {
      const words = unwrap(text.slice(start, end));
      const found = this.strict(words);
      if (found.kind !== "unknown") this.link(found, words, shifted(at, start));
      else if (isNothing(words)) continue;
      else if (/^\S{1,128}$/.test(words)) add(this.task.details, "requires", [words]);
      else {
        this.report.note(
          `Line ${at.line}: requires ${quote(words)} is neither a task nor a capability; it was ignored.`,
        );
      }
    }
  }

  private link(found: Found, words: string, at: At): void {
    switch (found.kind) {
      case "task":
        if (found.how) {
          this.report.note(
            `Line ${at.line}: ${quote(words)} was read as ${quote(found.task.title)}, ${found.how}.`,
          );
        }
        this.connect(found.task, at);
        return;
      case "id":
        // What is done is not created, and waits for nothing.
        if (!this.task.done && this.resolver.index.isMissing(found.id)) this.missing(found.id, at);
        else this.links.ids.add(found.id);
        return;
      case "ambiguous":
        this.ambiguous(found.tasks, words, at);
        return;
      case "unknown":
        this.unknown(words, at);
        return;
    }
  }

  private connect(task: RawTask, at: At): void {
    if (!this.isSoft) this.links.soft.delete(task);
    if (this.links.tasks.has(task) || !this.resolver.count(at)) return;
    this.links.tasks.set(task, at);
    if (this.isSoft) this.links.soft.add(task);
  }

  private unknown(words: string, at: At): void {
    const others = this.resolver.titles.filter((title) => title !== this.task.title);
    const near = closest(words.slice(0, 200), others);
    const known = near.length > 0 ? `Did you mean ${near.map((title) => quote(title)).join(" or ")}? ` : "";
    this.report.problem(
      at,
      `There is no task ${quote(words)} in this plan.`,
      `${known}A task that exists already is written id:its-id.`,
    );
  }

  private missing(id: string, at: At): void {
    this.report.problem(at, `There is no task ${quote(id)}, neither in this plan nor in the project.`);
  }

  private ambiguous(tasks: RawTask[], words: string, at: At): void {
    const shown = tasks.slice(0, 4).map((each) => `${quote(each.title)} (line ${each.at.line})`);
    const rest = tasks.length > 4 ? ` and ${tasks.length - 4} more` : "";
    this.report.problem(
      at,
      `${quote(words)} matches ${tasks.length} tasks: ${shown.join(", ")}${rest}.`,
      "Give each its own title, or number the tasks and refer to the numbers.",
    );
  }
}

const conjunctions = / (?:and|&|\+|then|und|et|y|e|и) |\s?[和与與及と]\s?/iu;

function earlierIn(words: string): { isAll: boolean } | undefined {
  if (words.length > 100) return undefined;
  const found =
    /^(all|the)?\s?(?:of the )?(?:previous|above|preceding|prior|earlier)(?: (tasks?|steps?|items?|ones?))?$/i.exec(
      unwrap(words),
    );
  if (
    /^(?:everything(?: else| above| before)?|all (?:the )?others?(?: tasks| steps)?|all of the above|the rest)$/i.test(
      unwrap(words),
    )
  )
    return { isAll: true };
  return found ? { isAll: /^all$/i.test(found[1] ?? "") || /s$/i.test(found[2] ?? "") } : undefined;
}

const shifted = (at: At, columns: number): At => ({ line: at.line, column: at.column + columns });

interface Part {
  start: number;
  end: number;
}

/** Between commas and semicolons, without the blanks; all in brackets or not. */
function partsOf(text: string): Part[] {
  const isBracketed = text.startsWith("[") && text.endsWith("]");
  const to = isBracketed ? text.length - 1 : text.length;
  const parts: Part[] = [];
  for (let start = isBracketed ? 1 : 0; start <= to; ) {
    let end = start;
    while (end < to && !",;，、；".includes(text[end]!)) end++;
    const piece = text.slice(start, end);
    const lead = piece.length - piece.trimStart().length;
    if (piece.trim() !== "") parts.push({ start: start + lead, end: start + piece.trimEnd().length });
    start = end + 1;
  }
  return parts;
}
