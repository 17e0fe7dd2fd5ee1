// Which tasks are listed, and in which order. The work is done in slices between other work, so that a hundred thousand tasks are
// filtered while somebody types, and at most twice a second while a burst of events passes. While the list is held (somebody
// points at it, or is in it), rows change in place but none moves, comes or goes: what would change is counted.

import type { Filter, Known, Term } from "../../../../src/client/view/filter.js";
import { matcher } from "../../../../src/client/view/filter.js";
import type { TaskIndex } from "../../../../src/client/view/rows.js";
import { type Standing, standing } from "../../../../src/client/view/words.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { storeNow } from "../../data/clock.js";
import {
  columnKey,
  type Keys,
  orderOf,
  type Sort,
  type Surroundings,
  sortedPlaces,
  usualKeys,
} from "./order.js";

export const chips = ["open", "ready", "blocked", "working", "waiting", "failed", "done"] as const;
export type Chip = (typeof chips)[number];
export type Counts = Readonly<Record<Chip, number>>;

export interface Question {
  /** Equal for equal questions. */
  key: string;
  /** A project, or * for all. */
  project: string;
  filter: Filter;
  sort: Sort;
  /** Which tasks have which words in their prompts, as far as the server was asked. */
  isInPrompt?: Known["isInPrompt"];
}

interface Found {
  order: readonly WireTaskRow[];
  /** What each chip would show, the other terms being as they are. */
  counts: Counts;
  /** Tasks of the project, whatever the filter says. */
  total: number;
}

export interface Listed extends Found {
  /** What this answers; null before the first answer. */
  question: Question | null;
  /** Rows that would come, go or move if the list were sorted now. */
  pending: number;
  /** Made when all tasks were known: what is not listed is not there. */
  isWhole: boolean;
}

const calmMs = 500;
const firstMs = 10;
/** Tasks become ready, old and stale by time alone. */
const tickMs = 5_000;
const sliceMs = 8;

const zero: Counts = { open: 0, ready: 0, blocked: 0, working: 0, waiting: 0, failed: 0, done: 0 };

export class Listing {
  state: Listed = { question: null, order: [], counts: zero, total: 0, pending: 0, isWhole: false };

  private question: Question | null = null;
  private waitsForRelease: Found | null = null;
  private isHeld = false;
  private isStarted = false;
  private hasAll = false;
  private runs = 0;
  private isBusy = false;
  private startedAt = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly index: TaskIndex,
    private around: Omit<Surroundings, "now" | "get">,
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Follows the tasks until it is told to stop. */
  start(): () => void {
    this.isStarted = true;
    const off = this.index.subscribe(() => this.soon());
    const ticking = setInterval(() => this.soon(), tickMs);
    void this.run();
    return () => {
      this.isStarted = false;
      this.isHeld = false;
      this.runs++;
      this.isBusy = false;
      off();
      clearInterval(ticking);
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  /** Another question is answered at once, whoever holds the list. */
  ask(question: Question): void {
    if (this.question?.key === question.key) return;
    this.question = question;
    if (this.isStarted) void this.run();
  }

  surround(around: Omit<Surroundings, "now" | "get">): void {
    this.around = around;
    this.soon();
  }

  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    if (!isHeld) this.release();
  }

  /** What was held back is shown. */
  release(): void {
    if (this.waitsForRelease) this.show(this.waitsForRelease);
  }

  private soon(): void {
    if (!this.isStarted) return;
    // Who waits for the first whole list waits no longer than it takes.
    const isFirst = this.index.progress.complete && !this.hasAll;
    if (isFirst) clearTimeout(this.timer);
    else if (this.timer !== undefined) return;
    const waitMs = isFirst ? firstMs : Math.max(0, this.startedAt + calmMs - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      // A list that takes longer than the pause between two of them is never begun anew in the middle.
      if (this.isBusy) this.soon();
      else void this.run();
    }, waitMs);
  }

  private async run(): Promise<void> {
    const { question } = this;
    if (!question) return;
    const mine = ++this.runs;
    this.isBusy = true;
    this.startedAt = performance.now();
    const { complete } = this.index.progress;
    const around = this.surroundings();
    const found = await find(this.index.rows(), question, around, () => mine !== this.runs);
    if (!found) return;
    this.isBusy = false;
    this.hasAll ||= complete;
    const isAnother = this.state.question?.key !== question.key;
    if (isAnother || !this.isHeld || !this.hasAll) this.show(found);
    else this.holdBack(found, question, around);
  }

  surroundings(): Surroundings {
    return { ...this.around, now: storeNow() };
  }

  private show(found: Found): void {
    this.waitsForRelease = null;
    this.tell({ ...found, question: this.question, pending: 0, isWhole: this.hasAll });
  }

  private holdBack(found: Found, question: Question, around: Surroundings): void {
    const pending = changesBetween(this.state.order, found.order, (row) =>
      orderOf(row, question.sort, around),
    );
    if (pending === 0) {
      this.show(found);
      return;
    }
    this.waitsForRelease = found;
    const { counts, total } = found;
    this.tell({ ...this.state, counts, total, pending });
  }

  private tell(state: Listed): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

/** What the `is:` terms of chips leave to the others. */
export const isChosenState = (term: Term) => term.key === "is" && !term.negated;

/** Null: nobody waits for it any more. */
async function find(
  rows: readonly WireTaskRow[],
  { project, filter: { terms }, sort, isInPrompt }: Question,
  around: Surroundings,
  isOver: () => boolean,
): Promise<Found | null> {
  const { nameOf } = around;
  const rest = terms.filter((term) => !isChosenState(term));
  const passesRest = matcher({ terms: rest }, around.now, { nameOf, isInPrompt });
  const passesStates = matcher({ terms: terms.filter(isChosenState) }, around.now);
  const found: WireTaskRow[] = [];
  const keys: Keys = { column: sort.column && [], first: [], second: [], third: [] };
  const counts = { ...zero };
  let total = 0;
  let until = performance.now() + sliceMs;
  for (const [place, row] of rows.entries()) {
    if ((place & 127) === 0 && performance.now() > until) {
      await pause();
      if (isOver()) return null;
      until = performance.now() + sliceMs;
    }
    if (project !== "*" && row.project !== project) continue;
    total++;
    if (!passesRest(row)) continue;
    for (const chip of chipsOf[standing(row, around.now)]) counts[chip]++;
    if (!passesStates(row)) continue;
    found.push(row);
    const [first, second, third] = usualKeys(row, place, around);
    keys.first.push(first);
    keys.second.push(second);
    keys.third.push(third);
    if (sort.column) keys.column!.push(columnKey(sort.column, row, place, around));
  }
  const order = Array.from(sortedPlaces(keys, sort.isReversed), (place) => found[place]!);
  return { order, counts, total };
}

const chipsOf: Record<Standing, readonly Chip[]> = {
  claimed: ["open", "working"],
  running: ["open", "working"],
  awaiting_response: ["open", "waiting"],
  submitted: ["open"],
  ready: ["open", "ready"],
  scheduled: ["open"],
  blocked: ["open", "blocked"],
  group: ["open"],
  failed: ["failed"],
  completed: ["done"],
  cancelled: [],
};

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** How many rows come, go, or have another place for a reason of their own. */
function changesBetween(
  before: readonly WireTaskRow[],
  after: readonly WireTaskRow[],
  orderOfRow: (row: WireTaskRow) => string,
): number {
  let start = 0;
  while (start < before.length && start < after.length && isSame(before[start]!, after[start]!)) start++;
  let end = 0;
  const left = Math.min(before.length, after.length) - start;
  while (end < left && isSame(before.at(-1 - end)!, after.at(-1 - end)!)) end++;
  if (start + end === before.length && start + end === after.length) return 0;
  const known = new Map(before.slice(start, before.length - end).map((row) => [nameOf(row), row]));
  let count = 0;
  for (const row of after.slice(start, after.length - end)) {
    const old = known.get(nameOf(row));
    known.delete(nameOf(row));
    if (!old || (old !== row && orderOfRow(old) !== orderOfRow(row))) count++;
  }
  // Time alone moves rows too.
  return Math.max(1, count + known.size);
}

const isSame = (a: WireTaskRow, b: WireTaskRow) => a === b || (a.id === b.id && a.project === b.project);
const nameOf = ({ project, id }: WireTaskRow) => `${project}/${id}`;
