import { overlapsIn } from "../core/overlap.js";
import { accept } from "../core/refusal.js";
import { stateOf } from "../core/task.js";
import { projectNotFound } from "../core/transitions/project.js";
import type { Reads } from "../core/view.js";
import { forQuery } from "./handler.js";
import { recoverTasks } from "./preparations.js";
import { iso } from "./render.js";

export const conflictsQuery = {
  "tasks.conflicts": forQuery("tasks.conflicts", {
    prepare: recoverTasks,
    query: (view, input, { caller }) => {
      const project = input.project ?? caller.project;
      if (!view.project(project)) return projectNotFound(project);
      const conflicts = overlapsIn(view, project)
        .slice(0, input.limit)
        .map(({ tasks, at, seq: _, notice: __, ...overlap }) => ({
          tasks: tasks.map(({ taskId }) => shown(view, project, taskId)),
          ...overlap,
          at: iso(at),
        }));
      return accept({ conflicts });
    },
  }),
};

function shown(view: Reads, project: string, taskId: string) {
  const task = view.task(project, taskId);
  const claim = view.claim(project, taskId);
  const state = task ? stateOf(task, claim) : ("cancelled" as const);
  return { taskId, title: task?.title ?? "", state, sessionId: claim?.sessionId ?? null };
}
