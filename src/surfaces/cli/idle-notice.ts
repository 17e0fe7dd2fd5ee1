// What `dibs work` prints when it has nothing to run: why it waits, once for each idle period, and how it stops.

import type { WireNothing } from "../../contract/shapes.js";
import type { Parts } from "./parts.js";
import { plain } from "./print/text.js";

/** A runner between two tasks is not idle. */
const idleMs = 1_000;

/** What only waits to land mostly lands meanwhile, and that has a line of its own. */
const landingMs = 10_000;

/** `Nothing to claim: 1 running, 2 blocked. Run: dibs list`; an answer whose wait was broken off has no reason. */
export function nothingLine(why: WireNothing | undefined): string {
  return why ? plain(why.message) : "Nothing to claim.";
}

function waitingLine({ reasons, fix }: WireNothing): string {
  return `Waiting for tasks: ${reasons.map(({ message }) => plain(message)).join(", ")}. Run: ${plain(fix)}`;
}

export class IdleNotice {
  /** Attempts that end before they start are not among them. */
  private readonly running = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private isPrinted = false;
  private latest: WireNothing | undefined;
  /** Since when nothing is waited for but a lander. */
  private landingSince: number | undefined;

  constructor(
    private readonly parts: Pick<Parts, "err" | "stopping">,
    /** False: the runner ends when it has nothing to run. */
    private readonly waits: boolean,
  ) {}

  started(project: string, taskId: string): void {
    this.running.add(`${project}/${taskId}`);
    this.isPrinted = false;
    this.landingSince = undefined;
    clearTimeout(this.timer);
  }

  ended(project: string, taskId: string): void {
    this.running.delete(`${project}/${taskId}`);
  }

  /** A claim got nothing. */
  nothing(why: WireNothing): void {
    this.latest = why;
    clearTimeout(this.timer);
    const isLanding = why.reasons.every(({ code }) => code === "SUBMITTED");
    this.landingSince = isLanding ? (this.landingSince ?? performance.now()) : undefined;
    const ms =
      this.landingSince === undefined
        ? idleMs
        : Math.max(0, this.landingSince + landingMs - performance.now());
    if (this.waits && !this.isPrinted) this.timer = setTimeout(() => this.print(why), ms).unref();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  /** For a runner that ends because of it. */
  get nothingText(): string {
    return `${nothingLine(this.latest)}\n`;
  }

  get stopText(): string {
    if (this.running.size === 0) return "stopping: nothing is running\n";
    return "stopping after the running tasks; a second signal stops and releases them\n";
  }

  private print(why: WireNothing): void {
    if (this.running.size > 0 || this.parts.stopping.aborted) return;
    this.isPrinted = true;
    this.parts.err(`${waitingLine(why)}\n`);
  }
}
