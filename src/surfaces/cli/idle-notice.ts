// What `dibs work` prints when it has nothing to run: why it waits, once for each idle period, and how it stops.

import type { Dibs } from "../../client/client.js";
import { type Standing, standing } from "../../client/view/words.js";
import type { Parts } from "./parts.js";
import { plain } from "./print/text.js";

/** A runner between two tasks is not idle. */
const idleMs = 1_000;
const rowsMax = 1_000;

const reasons: Partial<Record<Standing, string>> = {
  running: "running",
  claimed: "claimed",
  awaiting_response: "waiting for an answer",
  blocked: "blocked",
  scheduled: "scheduled",
  ready: "ready for other agents",
};

/** Such as `2 blocked, 1 scheduled, project paused`. */
export async function whyNothing(dibs: Dibs, project: string | undefined, now: number): Promise<string> {
  const own = project === undefined ? {} : { project };
  const [{ rows, nextCursor }, answer] = await Promise.all([
    dibs.tasks.rows({
      ...own,
      state: ["queued", "claimed", "running", "awaiting_response"],
      limit: rowsMax,
    }),
    dibs.projects.get(project === undefined ? {} : { id: project }),
  ]);
  const standings = rows.map((row) => standing(row, now));
  const counts = Object.entries(reasons).flatMap(([word, text]) => {
    const count = standings.filter((each) => each === word).length;
    return count === 0 || (word === "ready" && answer.project.paused) ? [] : [`${count} ${text}`];
  });
  const more = nextCursor === null ? [] : [`of the first ${rowsMax} open tasks`];
  const all = [...counts, ...more, ...(answer.project.paused ? ["project paused"] : [])];
  const run = answer.project.paused
    ? `dibs project resume ${plain(answer.project.id)}`
    : counts.length > 0
      ? "dibs list"
      : 'dibs add "Write the docs"';
  return `${all.length === 0 ? "no open tasks" : all.join(", ")}. Run: ${run}`;
}

interface Options {
  dibs: Dibs;
  project: string | undefined;
  /** False: the runner ends when it has nothing to run. */
  waits: boolean;
}

export class IdleNotice {
  /** Attempts that end before they start are not among them. */
  private readonly running = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: Pick<Parts, "err" | "now" | "stopping">,
    private readonly options: Options,
  ) {
    this.expect();
  }

  started(project: string, taskId: string): void {
    this.running.add(`${project}/${taskId}`);
    clearTimeout(this.timer);
  }

  ended(project: string, taskId: string): void {
    this.running.delete(`${project}/${taskId}`);
    this.expect();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  get stopText(): string {
    if (this.running.size === 0) return "stopping: nothing is running\n";
    return "stopping after the running tasks; a second signal stops and releases them\n";
  }

  private expect(): void {
    clearTimeout(this.timer);
    if (this.options.waits && this.running.size === 0)
      this.timer = setTimeout(() => void this.tell(), idleMs).unref();
  }

  private async tell(): Promise<void> {
    const { dibs, project } = this.options;
    // The runner reports a store that cannot be read.
    const why = await whyNothing(dibs, project, this.parts.now()).catch(() => null);
    if (why === null || this.running.size > 0 || this.parts.stopping.aborted) return;
    this.parts.err(`Waiting for tasks: ${why}\n`);
  }
}
