// Which tasks a runner has worked on, and how each stands.

import type { Dibs } from "../../client/client.js";
import { type AttemptEnd, isSubmitted, type RunnerOptions } from "../../runner/index.js";
import { outcomeWord, type WorkedTask } from "./print/work-summary.js";

const submittedMax = 100;

export class WorkTally {
  private readonly tasks = new Map<string, WorkedTask & { project: string }>();
  private readonly submitted = new Map<string, { project: string; taskId: string }>();
  /** The agent failed at once, and has not recovered. */
  isHeldBack = false;
  private readonly begunAt = performance.now();

  /** Without a list of tasks at the end it keeps none: a runner can work for months. */
  constructor(private readonly options: { listsTasks: boolean }) {}

  /** The options, with this one counting along. */
  watching<Options extends RunnerOptions>(options: Options): Options {
    const titles = new Map<string, string>();
    return {
      ...options,
      onStart: (claim, task) => {
        titles.set(task.id, task.title);
        options.onStart?.(claim, task);
      },
      onEnd: (end) => {
        if (this.options.listsTasks) this.count(end, titles.get(end.taskId) ?? "");
        else this.remember(end);
        titles.delete(end.taskId);
        if (end.outcome !== "failed") this.isHeldBack = false;
        options.onEnd?.(end);
      },
      onBreaker: (breaker) => {
        this.isHeldBack = true;
        options.onBreaker?.(breaker);
      },
    };
  }

  private count({ project, taskId, outcome, reason }: AttemptEnd, title: string): void {
    const attempts = (this.tasks.get(taskId)?.attempts ?? 0) + 1;
    this.tasks.set(taskId, { project, taskId, title, attempts, outcome, reason });
  }

  private remember({ project, taskId, outcome, reason }: AttemptEnd): void {
    const key = `${project}/${taskId}`;
    this.submitted.delete(key);
    // A command that reported by itself may have submitted.
    if (reason !== isSubmitted && outcome !== "reported") return;
    this.submitted.set(key, { project, taskId });
    if (this.submitted.size > submittedMax) this.submitted.delete(this.submitted.keys().next().value!);
  }

  /** How many of the tasks that it submitted, the latest ones, are still on their way. */
  async notLanded(dibs: Dibs): Promise<number> {
    let count = 0;
    for (const of of this.submitted.values())
      if ((await dibs.tasks.get(of)).task.state === "submitted") count++;
    return count;
  }

  get ms(): number {
    return performance.now() - this.begunAt;
  }

  /** A command that reported by itself may have reported a failure, and what was submitted may have landed. */
  async result(dibs: Dibs): Promise<WorkedTask[]> {
    for (const task of this.tasks.values()) {
      const { project, taskId, outcome } = task;
      const isToLand = outcomeWord(task) === isSubmitted;
      if (outcome !== "reported" && !isToLand) continue;
      const found = await dibs.tasks.get({ project, taskId }).catch(() => null);
      if (!found) continue;
      const { state, error } = found.task;
      if (state === "completed") {
        if (isToLand) task.reason = null;
      } else if (state === "submitted") {
        task.outcome = "completed";
        task.reason = isSubmitted;
      } else if (error !== null) {
        task.outcome = "failed";
        task.reason = error;
      } else if (isToLand) {
        task.outcome = "released";
        task.reason = "returned";
      }
    }
    return [...this.tasks.values()].map(({ project: _, ...task }) => task);
  }
}
