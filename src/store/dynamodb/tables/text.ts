import type { Task, TaskText } from "../../../core/task.js";
import type { Place, Write } from "../items.js";
import { type OrgKeys, taskName } from "../keys.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<TaskText>("task_text", { prompt: stored, description: null, metadata: null });

export const place = (keys: OrgKeys, { project, id }: Pick<Task, "project" | "id">): Place =>
  keys.at("tasks", "TEXT", `TASK#${taskName(project, id)}`);

export const write = (keys: OrgKeys, task: Task, text: TaskText): Write => ({
  ...place(keys, task),
  data: codec.encode(text),
});
