// A task and why it is not running, as they are now.

import { useEffect } from "react";
import { storeNow } from "../../data/clock.js";
import { type DibsEvent, dibs, type Task } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";

export type Explanation = Awaited<ReturnType<typeof dibs.tasks.explain>>;

export interface Seen {
  task: Task;
  explanation: Explanation;
}

/** Heartbeats make no events. */
const heartbeatMs = 5_000;

export function useTask(project: string | undefined, taskId: string): Live<Seen> {
  const on = project === undefined ? { taskId } : { project, taskId };
  const live: Live<Seen> = useLive(
    `task ${project} ${taskId}`,
    async () => {
      const [{ task }, explanation] = await Promise.all([dibs.tasks.get(on), dibs.tasks.explain(on)]);
      return { task, explanation };
    },
    // One that is not there may come.
    { on: (event) => (live.data ? concerns(live.data, event) : event.taskId === taskId), calmMs: 200 },
  );
  const isHeld = live.data?.task.claim != null;
  const until = nextMoment(live.data?.explanation);
  const { reload } = live;
  useEffect(() => {
    if (!isHeld) return;
    const timer = setInterval(() => !document.hidden && reload(), heartbeatMs);
    return () => clearInterval(timer);
  }, [isHeld, reload]);
  useEffect(() => {
    const ms = until - storeNow();
    if (!(ms > 0 && ms < 2 ** 31)) return;
    const timer = setTimeout(reload, ms + 100);
    return () => clearTimeout(timer);
  }, [until, reload]);
  return live;
}

/** When an explanation is over by itself. */
function nextMoment(explanation: Explanation | undefined): number {
  const times = explanation?.reasons.map(({ until }) => Date.parse(until ?? "")) ?? [];
  return Math.min(...times.filter((time) => !Number.isNaN(time)));
}

/** What others do counts too: those it waits for, its parts, the project, who is there to take it. */
function concerns({ task, explanation }: Seen, { project, taskId, data }: DibsEvent): boolean {
  if (project !== task.project) return false;
  if (taskId === null || taskId === task.id || data.parentId === task.id) return true;
  return (
    task.dependsOn.includes(taskId) || explanation.reasons.some(({ taskIds }) => taskIds?.includes(taskId))
  );
}
