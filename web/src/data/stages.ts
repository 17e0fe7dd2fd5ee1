// In which stage submitted tasks are. Rows of lists do not have it, so it is read for the projects whose submitted tasks are shown.

import { useCallback, useSyncExternalStore } from "react";
import type { Stage } from "../../../src/client/view/words.js";
import { dibs } from "./dibs.js";
import { stream } from "./stream.js";

const calmMs = 250;
/** Stages change with leases and holds, too, which make no events of tasks. */
const againMs = 5_000;
const queueMax = 1_000;
const concerns = /^(?:task:(?:submitted|review|landed|returned|withdrawn|cancelled)|notification:)/;

const keyOf = (project: string, taskId: string) => `${project} ${taskId}`;

class Stages {
  private stages = new Map<string, Stage>();
  /** Listeners by project. */
  private readonly wanted = new Map<string, Set<() => void>>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isBusy = false;
  private stop = () => undefined as unknown;

  get = (project: string, taskId: string): Stage | null => this.stages.get(keyOf(project, taskId)) ?? null;

  subscribe(project: string, listener: () => void): () => void {
    if (this.wanted.size === 0) this.start();
    const listeners = this.wanted.get(project) ?? new Set();
    if (listeners.size === 0) this.soon();
    this.wanted.set(project, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.wanted.delete(project);
      if (this.wanted.size === 0) this.stop();
    };
  }

  private start(): void {
    const offEvent = stream.onEvent(({ type }) => concerns.test(type) && this.soon());
    const offReset = stream.onReset(() => this.soon());
    const again = setInterval(() => !document.hidden && this.soon(), againMs);
    this.stop = () => {
      offEvent();
      offReset();
      clearInterval(again);
    };
  }

  private soon(): void {
    this.timer ??= setTimeout(() => void this.load(), calmMs);
  }

  private async load(): Promise<void> {
    this.timer = undefined;
    if (this.isBusy) return this.soon();
    this.isBusy = true;
    try {
      const projects = [...this.wanted.keys()];
      const answers = await Promise.all(
        projects.map((project) => dibs.landings.list({ project, limit: queueMax })),
      );
      this.stages = new Map(
        answers.flatMap(({ queue }) =>
          queue.map(({ project, taskId, stage }) => [keyOf(project, taskId), stage]),
        ),
      );
      for (const listeners of this.wanted.values()) for (const listener of listeners) listener();
    } catch {
      // The server is away, and the page says so.
    }
    this.isBusy = false;
  }
}

const stages = new Stages();

/** Null where it is not submitted, or not known yet. */
export function useStage(task: { project: string; id: string; state: string }): Stage | null {
  const { project, id } = task;
  const isSubmitted = task.state === "submitted";
  const subscribe = useCallback(
    (listener: () => void) => (isSubmitted ? stages.subscribe(project, listener) : () => undefined),
    [project, isSubmitted],
  );
  return useSyncExternalStore(subscribe, () => (isSubmitted ? stages.get(project, id) : null));
}
