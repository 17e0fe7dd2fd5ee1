// Targets whose checks are red by themselves. Nothing is returned for it; the target is checked again every 10 s, and what was
// not tried on it yet is tried at once, alone, because it can be what fixes the target.

import type { WireProject } from "../contract/shapes.js";
import type { Hold } from "./hold.js";
import { keyOf, type Queued } from "./submissions.js";

type Land = WireProject["settings"]["land"];

export interface RedTarget {
  hold: Hold;
  /** The check that is red. */
  check: string;
  tip: string;
  /** Of the checks: another command is another question. */
  settings: string;
  tried: Set<string>;
  /** When the target is checked again. */
  at: number;
}

const settingsOf = ({ checks, setup }: Land) => JSON.stringify([checks, setup]);

export class RedTargets {
  private readonly byProject = new Map<string, RedTarget>();

  constructor(private readonly lookMs: number) {}

  /** Null: nothing is known to be red with this commit and these checks. */
  of(project: string, tip: string, land: Land): RedTarget | null {
    const red = this.byProject.get(project);
    return red && red.tip === tip && red.settings === settingsOf(land) ? red : null;
  }

  add(
    project: string,
    tip: string,
    land: Land,
    found: { hold: Hold; check: string; tried: Queued; tookMs: number },
  ): RedTarget {
    const { hold, check, tried, tookMs } = found;
    const red = { hold, check, tip, settings: settingsOf(land), tried: new Set([keyOf(tried)]), at: 0 };
    this.byProject.set(project, red);
    this.lookLater(red, tookMs);
    return red;
  }

  /** A check that takes minutes must not be all that this lander does. */
  lookLater(red: RedTarget, tookMs: number): void {
    red.at = performance.now() + Math.max(this.lookMs, tookMs);
  }

  end(project: string): void {
    this.byProject.delete(project);
  }
}

export const isDue = ({ at }: RedTarget) => performance.now() >= at;

/** The first one that was not tried on it yet. */
export const untried = ({ tried }: RedTarget, queue: readonly Queued[]) =>
  queue.find((each) => !tried.has(keyOf(each)));
