// Looks for a schedule that fails, and for the shortest one that still does: decisions are removed, many at once first, and what is
// left of each is simplified.

import { type Outcome, type Plants, runSchedule } from "./run.js";
import { type Decision, linesOf, needed, type Schedule, scheduleOf } from "./schedule.js";

export interface Failing {
  schedule: Schedule;
  outcome: Outcome;
}

export interface Search {
  /** Their numbers. */
  first: number;
  count: number;
  plants?: Plants;
  among?: (schedule: Schedule) => boolean;
  onOutcome?: (outcome: Outcome) => void;
}

export async function firstFailing(search: Search): Promise<Failing | null> {
  const { first, count, plants = {}, among = () => true, onOutcome } = search;
  for (let number = first; number < first + count; number++) {
    const schedule = scheduleOf(number);
    if (!among(schedule)) continue;
    const outcome = await runSchedule(schedule, plants);
    onOutcome?.(outcome);
    if (outcome.broken.length > 0) return { schedule, outcome };
  }
  return null;
}

export const textOf = ({ schedule, outcome: { broken } }: Failing) =>
  [...linesOf(schedule), ...broken.map((each) => `broken: ${each}`)].join("\n");

export interface Shrunk extends Failing {
  /** How many schedules were tried for it. */
  tries: number;
}

/** What is removed changes the delays of all that is left: each list is tried with those of several numbers. */
const lucksMax = 3;

export async function shrink(failing: Failing, plants: Plants = {}, triesMax = 300): Promise<Shrunk> {
  let best: Shrunk = { ...failing, tries: 0 };
  const { number } = failing.schedule;
  const kinds = new Set(failing.outcome.broken.map(kindOf));
  /** Whether it fails in the same way. */
  const accept = async (decisions: Decision[]): Promise<boolean> => {
    if (!isSensible(decisions)) return false;
    for (let luck = 0; luck < lucksMax && best.tries < triesMax; luck++) {
      best.tries++;
      const schedule = { number: number + luck, decisions };
      const outcome = await runSchedule(schedule, plants);
      if (!outcome.broken.some((each) => kinds.has(kindOf(each)))) continue;
      best = { ...best, schedule, outcome };
      return true;
    }
    return false;
  };
  for (let before = Number.POSITIVE_INFINITY; sizeOf(best.schedule) < before; ) {
    before = sizeOf(best.schedule);
    for (let size = Math.ceil(best.schedule.decisions.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < best.schedule.decisions.length; ) {
        const { decisions } = best.schedule;
        const isKept = (each: Decision, index: number) => index < at || index >= at + size || isNeeded(each);
        const rest = decisions.filter(isKept);
        if (rest.length === decisions.length || !(await accept(rest))) at += size;
      }
    }
    for (let at = 0; at < best.schedule.decisions.length; at++) {
      for (const simplified of simplifications) {
        for (let index = 0; ; index++) {
          const { decisions } = best.schedule;
          const simpler = simplified(decisions[at]!, index);
          if (simpler === null) break;
          if (await accept(decisions.with(at, simpler))) index--;
        }
      }
    }
  }
  return best;
}

/** Without names and numbers. */
const kindOf = (sentence: string) => sentence.replace(/[\w-]*\d[\w-]*/g, "#").slice(0, 60);

/** Where work lands and no lander is there, nothing ends. */
const isSensible = (decisions: Decision[]) =>
  !decisions.some(({ what }) => what === "land") ||
  decisions.some((each) => each.what === "join" && each.role === "lander");

const isNeeded = (decision: Decision) =>
  needed.some((each) => JSON.stringify(each) === JSON.stringify(decision));

const sizeOf = ({ decisions }: Schedule) => JSON.stringify(decisions).length;

/** Without one thing more of a task, by number; null: there are no more such things. */
const simplifications: ((decision: Decision, index: number) => Decision | null)[] = [
  (decision, index) => {
    if (decision.what !== "task" || index > 0) return null;
    const { id, after, uses, isRejected, path } = decision;
    const isPlain = after.length === 0 && !uses && !isRejected && path === id;
    return isPlain ? null : { ...decision, after: [], uses: null, isRejected: false, path: id };
  },
  (decision, index) => {
    if (decision.what !== "task" || index >= decision.attempts.length) return null;
    return { ...decision, attempts: decision.attempts.toSpliced(index, 1) };
  },
  (decision, index) => {
    if (decision.what !== "task") return null;
    const steps = decision.attempts.flatMap((attempt, at) => attempt.map((_, step) => ({ at, step })));
    const found = steps[index];
    if (!found) return null;
    const attempt = decision.attempts[found.at]!.toSpliced(found.step, 1);
    return { ...decision, attempts: decision.attempts.with(found.at, attempt) };
  },
];
