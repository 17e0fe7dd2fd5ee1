import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Look } from "./look.js";
import { table } from "./table.js";
import { plain } from "./text.js";
import { ago } from "./time.js";

type Summary = OutputOf<OperationNamed<"sessions.summary">>;

export function sessionTable({ sessions, totals }: Summary, look: Look): string {
  if (sessions.length === 0) return "No sessions.\n";
  const rows = table(
    sessions,
    [
      {
        head: "",
        of: ({ currentTask }) =>
          currentTask ? (currentTask.claim.healthStatus === "stale" ? "[!]" : "[*]") : "",
      },
      { head: "SESSION", of: ({ id }) => plain(id), max: 24 },
      { head: "TYPE", of: ({ agentType }) => plain(agentType), max: 12 },
      {
        head: "NOW",
        of: ({ currentTask }) =>
          currentTask ? `${plain(currentTask.taskId)} ${plain(currentTask.title)}` : "idle",
        grows: true,
      },
      {
        head: "CTX",
        of: ({ contextPercent }) => (contextPercent === null ? "" : `${contextPercent}%`),
        right: true,
      },
      { head: "DONE", of: ({ tasksDone, tasksTotal }) => `${tasksDone}/${tasksTotal}`, right: true },
      { head: "SEEN", of: ({ lastSeenAt }) => ago(lastSeenAt, look.now) },
    ],
    look,
  );
  return `${rows}${look.paint(`${totals.working} working, ${totals.idle} idle`, "dim")}\n`;
}
