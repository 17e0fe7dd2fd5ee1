import type { AppendLogCommand } from "../core/command.js";
import { latestLogKey, logKey, logKind, toLatestLog, toLog } from "../core/log.js";
import { accept } from "../core/refusal.js";
import { forCommand, forQuery } from "./handler.js";
import { iso } from "./render.js";
import { findTask } from "./task-queries.js";

export const logOperations = {
  "tasks.appendLog": forCommand("tasks.appendLog", {
    command: (input, { caller }): AppendLogCommand => ({
      type: "append-log",
      ...input,
      project: input.project ?? caller.project,
    }),
    answer: (_view, appended, { taskId }) => ({ success: true, taskId, ...appended }),
  }),
  "tasks.log": forQuery("tasks.log", {
    query: (view, input, context) => {
      const found = findTask(view, input, context);
      if (!found.ok) return found;
      const { project, id } = found.value;
      const latest = view.document(logKind, latestLogKey(project, id));
      const epoch = input.epoch ?? (latest ? toLatestLog(latest).epoch : null);
      const value = epoch === null ? undefined : view.document(logKind, logKey(project, id, epoch));
      if (!value) return accept({ taskId: id, epoch, text: "", truncatedBytes: 0, updatedAt: null });
      const { text, truncatedBytes, updatedAt } = toLog(value);
      return accept({ taskId: id, epoch, text, truncatedBytes, updatedAt: iso(updatedAt) });
    },
  }),
};
