// Whether two globs meet: some path matches both. Each glob is read as an automaton over the characters of paths, with the semantics
// of `glob.ts`; braces stay choices, so that a glob of many braces is not written out. Two globs meet if both automata can take the
// same steps to an end. A path is names between single slashes, none of them empty.

import { globMatcher } from "./glob.js";

/** The time of one comparison is bounded: what would take more steps counts as a meeting. */
const stepsMax = 2_000_000;

export function globsMeet(a: string, b: string): boolean {
  const budget = new Budget(stepsMax);
  return meet(automatonOf(a, budget), automatonOf(b, budget), budget);
}

/**
 * Those of `globs` that meet one of `paths`, which are files or globs themselves. On both sides a slash at the end means all that is
 * in the directory.
 */
export function globsThatMeet(globs: readonly string[], paths: readonly string[]): string[] {
  const budget = new Budget(stepsMax);
  const all = paths.map(fromRoot);
  const plain = all.filter((path) => !isGlob(path));
  const others = all.filter(isGlob);
  const automatonOfPath = remembered((path) => automatonOf(path, budget));
  return globs.filter((text) => {
    const glob = fromRoot(text);
    if (isGlob(glob) ? matchesOne(glob, plain, budget) : plain.includes(glob)) return true;
    const own = remembered((glob) => automatonOf(glob, budget));
    return others.some(
      (path) => haveOneBeginning(glob, path) && meet(own(glob), automatonOfPath(path), budget),
    );
  });
}

const isGlob = (text: string) => /[*?{]/.test(text);
const fromRoot = (text: string) => text.replace(/^(\.\/)+/, "").replace(/\/$/, "/**");

function matchesOne(glob: string, paths: readonly string[], budget: Budget): boolean {
  const alternatives = Math.min(1_000, 2 ** glob.replace(/[^,]/g, "").length);
  const isCostly = (glob.match(/\*+/g)?.length ?? 0) > 1;
  budget.spend((alternatives * glob.length) / 16);
  if (budget.isSpent) return true;
  const matches = globMatcher([glob]);
  return paths.some((path) => {
    const characters = isCostly ? glob.length * path.length : glob.length + path.length;
    budget.spend(alternatives * (1 + characters / 1_000));
    return budget.isSpent || matches(path);
  });
}

/** Up to the first special character; a shortcut for most pairs. */
function haveOneBeginning(a: string, b: string): boolean {
  const [left, right] = [a, b].map((glob) => /^[^*?{]*/.exec(glob)![0]) as [string, string];
  return left.startsWith(right) || right.startsWith(left);
}

function remembered<T>(create: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    if (!known.has(text)) known.set(text, create(text));
    return known.get(text)!;
  };
}

class Budget {
  constructor(private left: number) {}

  get isSpent(): boolean {
    return this.left <= 0;
  }

  spend(steps = 1): void {
    this.left -= steps;
  }
}

/** Looks for a path through both, breadth first, over pairs of states and whether a name begins there. */
function meet(a: Automaton, b: Automaton, budget: Budget): boolean {
  const width = b.ends.length;
  const key = (left: number, right: number, isStart: boolean) => (left * width + right) * 2 + Number(isStart);
  const seen = new Set([key(0, 0, true)]);
  for (const pair of seen) {
    const isStart = pair % 2 === 1;
    const right = Math.floor(pair / 2) % width;
    const left = Math.floor(pair / 2 / width);
    if (!isStart && a.ends[left] && b.ends[right]) return true;
    for (const [step, nextLeft] of a.steps[left]!) {
      for (const [other, nextRight] of b.steps[right]!) {
        if (budget.isSpent) return true;
        budget.spend();
        const isSlash = step === slash;
        const isSame = step === other || (!isSlash && other !== slash && (step === any || other === any));
        if (isSame && !(isSlash && isStart)) seen.add(key(nextLeft, nextRight, isSlash));
      }
    }
  }
  return false;
}

/** A step of an automaton: a slash, any character of a name, or this one. */
const slash = 0;
const any = 1;
type Step = typeof slash | typeof any | string;

interface Automaton {
  /** By state: the steps and where they lead. A path is taken from state 0. */
  steps: readonly (readonly (readonly [Step, number])[])[];
  /** States in which a path can end. */
  ends: readonly boolean[];
}

const everything: Automaton = {
  steps: [
    [
      [any, 0],
      [slash, 0],
    ],
  ],
  ends: [true],
};

/**
 * Where in a directory or file name of the glob a state is. A name of exactly two stars stands for any number of names; read as a
 * part of one name, it adds nothing to that.
 */
enum Place {
  Start,
  Within,
  /** Taken as the first of exactly two stars. */
  HalfDirectories,
  Directories,
  InDirectory,
}
const places = 5;

function automatonOf(glob: string, budget: Budget): Automaton {
  budget.spend(glob.length);
  if (budget.isSpent) return everything;
  const symbols = symbolsOf(glob);
  const numbers = new Map<number, number>();
  const found: number[] = [];
  const numberOf = (state: number) => {
    const known = numbers.get(state);
    if (known !== undefined) return known;
    found.push(state);
    numbers.set(state, found.length - 1);
    return found.length - 1;
  };
  const steps: [Step, number][][] = [];
  const ends: boolean[] = [];
  numberOf(symbols.start * places + Place.Start);
  for (let at = 0; at < found.length; at++) {
    const out: [Step, number][] = [];
    ends.push(expand(symbols, found[at]!, budget, (step, state) => out.push([step, numberOf(state)])));
    steps.push(out);
  }
  return { steps, ends };
}

/** The steps from a state, without those that read nothing; returns whether a path can end there. */
function expand(
  symbols: Symbols,
  from: number,
  budget: Budget,
  add: (step: Step, state: number) => void,
): boolean {
  let isEnd = false;
  const seen = new Set([from]);
  for (const state of seen) {
    if (budget.isSpent) return true;
    budget.spend();
    const at = Math.floor(state / places);
    const place = (state % places) as Place;
    const same = (next: number) => seen.add(next * places + place);
    for (const next of symbols.skips[at] ?? []) same(next);
    const isInName = place <= Place.Within;
    if (place === Place.Directories) add(any, at * places + Place.InDirectory);
    if (place === Place.InDirectory) {
      add(any, state);
      add(slash, at * places + Place.Directories);
    }
    if (at === symbols.end) {
      isEnd ||= place === Place.InDirectory || isInName;
      continue;
    }
    const symbol = symbols.reads[at];
    if (symbol === undefined) continue;
    const [read, next] = symbol;
    if (read === "*") {
      if (isInName) add(any, at * places + Place.Within);
      for (const after of afterStar[place]) seen.add(next * places + after);
    } else if (read !== slash) {
      if (isInName) add(read, next * places + Place.Within);
    } else if (place === Place.Directories) {
      seen.add(next * places + Place.Start);
    } else if (isInName) {
      add(slash, next * places + Place.Start);
    }
  }
  return isEnd;
}

const afterStar: Record<Place, readonly Place[]> = {
  [Place.Start]: [Place.Within, Place.HalfDirectories],
  [Place.Within]: [Place.Within],
  [Place.HalfDirectories]: [Place.Directories],
  [Place.Directories]: [],
  [Place.InDirectory]: [],
};

/** A glob as symbols in order; braces are skips past what is not chosen. */
interface Symbols {
  start: number;
  end: number;
  reads: ([Step | "*", number] | undefined)[];
  skips: number[][];
}

type Part = Step | "*" | Part[][];

function symbolsOf(glob: string): Symbols {
  const reads: Symbols["reads"] = [];
  const skips: number[][] = [];
  const newState = () => skips.push([]) - 1;
  const write = (parts: readonly Part[], from: number): number => {
    let at = from;
    for (const part of parts) {
      const next = newState();
      if (!Array.isArray(part)) reads[at] = [part, next];
      else {
        for (const choice of part) {
          const start = newState();
          skips[at]!.push(start);
          skips[write(choice, start)]!.push(next);
        }
      }
      at = next;
    }
    return at;
  };
  const start = newState();
  return { start, end: write(partsOf(glob), start), reads, skips };
}

/** Braces that have no partner are characters like any other, and so are commas outside of braces. */
function partsOf(glob: string): Part[] {
  const characters = [...glob];
  const partners = partnersIn(characters);
  let at = 0;
  const read = (end: number): Part[][] => {
    const isInBraces = end < characters.length;
    let parts: Part[] = [];
    const choices = [parts];
    for (; at < end; at++) {
      const character = characters[at]!;
      const partner = partners.get(at);
      if (partner !== undefined) {
        at++;
        parts.push(read(partner));
      } else if (character === "," && isInBraces) {
        parts = [];
        choices.push(parts);
      } else parts.push(character === "/" ? slash : character === "?" ? any : character);
    }
    return choices;
  };
  return read(characters.length)[0]!;
}

/** By an opening brace: where it is closed. */
function partnersIn(characters: readonly string[]): Map<number, number> {
  const open: number[] = [];
  const partners = new Map<number, number>();
  for (const [at, character] of characters.entries()) {
    if (character === "{") open.push(at);
    else if (character === "}" && open.length > 0) partners.set(open.pop()!, at);
  }
  return partners;
}
