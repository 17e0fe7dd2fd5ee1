// Whether the holder of a task can complete it, or hand it in.

import { limits, utf8Length } from "../limits.js";
import { type Refusal, refuse } from "../refusal.js";
import type { Task, TaskResult } from "../task.js";

export function childrenOpen(task: Task): Refusal | null {
  if (task.openChildren === 0) return null;
  const subtasks = task.openChildren === 1 ? "1 open subtask" : `${task.openChildren} open subtasks`;
  return refuse("CHILDREN_OPEN", `Task ${task.id} has ${subtasks}, so it can't be completed yet.`, {
    hint: `Run: dibs list --parent ${task.id}`,
    details: { taskId: task.id, openChildren: task.openChildren },
  });
}

export function resultProblem(result: TaskResult): Refusal | null {
  const bytes = [result.output, ...result.filesCreated, ...result.filesModified].reduce(
    (sum, text) => sum + utf8Length(text),
    0,
  );
  if (bytes <= limits.resultBytesMax) return null;
  return refuse(
    "PAYLOAD_TOO_LARGE",
    `The result has ${bytes} bytes; at most ${limits.resultBytesMax} are kept.`,
    {
      hint: "Write long output to a file and name the file in the result.",
    },
  );
}
