import { agentName, hasSeveralHosts } from "../../../client/view/agents.js";
import { isWeak } from "../../../client/view/health.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { WireSession } from "../../../contract/shapes.js";
import type { Display } from "./display.js";
import { type Column, table } from "./table.js";
import { plain } from "./text.js";
import { ago } from "./time.js";

type Summary = OutputOf<OperationNamed<"sessions.summary">>;

/** The id, which commands take, and the name, if any of them has one. */
function whoColumns<Session extends WireSession>(sessions: readonly Session[]): Column<Session>[] {
  const id: Column<Session> = { head: "SESSION", of: ({ id }) => plain(id), max: 24 };
  if (sessions.every(({ id, name }) => !name || name === id)) return [id];
  const withHost = hasSeveralHosts(sessions);
  const name = (session: Session) => (session.name ? plain(agentName(session, withHost)) : "");
  return [id, { head: "NAME", of: name, max: 24 }];
}

const context: Column<WireSession> = {
  head: "CTX",
  of: ({ contextPercent }) => (contextPercent === null ? "" : `${contextPercent}%`),
  right: true,
};

/** `[*]` works, `[!]` but is silent. */
export function sessionSummary({ sessions, totals }: Summary, display: Display): string {
  if (sessions.length === 0) return "No sessions.\n";
  const rows = table<Summary["sessions"][number]>(
    sessions,
    [
      {
        head: "",
        of: ({ currentTask }) =>
          currentTask ? (isWeak(currentTask.claim, display.now) ? "[!]" : "[*]") : "",
        style: ({ currentTask }) => (currentTask && isWeak(currentTask.claim, display.now) ? "red" : "cyan"),
      },
      ...whoColumns(sessions),
      { head: "TYPE", of: ({ agentType }) => plain(agentType), max: 12 },
      {
        head: "NOW",
        of: ({ currentTask, reviewing = [] }) => {
          if (currentTask) return `${plain(currentTask.taskId)} ${plain(currentTask.title)}`;
          return reviewing.length > 0 ? `reviews ${reviewing.map(plain).join(", ")}` : "idle";
        },
        grows: true,
      },
      context,
      { head: "DONE", of: ({ tasksDone, tasksTotal }) => `${tasksDone}/${tasksTotal}`, right: true },
      { head: "SEEN", of: ({ lastSeenAt }) => ago(lastSeenAt, display.now) },
    ],
    display,
  );
  return `${rows}${display.paint(`${totals.working} working, ${totals.idle} idle`, "dim")}\n`;
}

export function sessionTable(sessions: readonly WireSession[], display: Display): string {
  if (sessions.length === 0) return "No sessions.\n";
  return table(
    sessions,
    [
      ...whoColumns(sessions),
      { head: "TYPE", of: ({ agentType }) => plain(agentType), max: 12 },
      { head: "NOW", of: ({ currentTaskId }) => plain(currentTaskId), max: 16 },
      context,
      { head: "STARTED", of: ({ startedAt }) => ago(startedAt, display.now) },
      { head: "SEEN", of: ({ lastSeenAt }) => ago(lastSeenAt, display.now) },
      { head: "ENDED", of: ({ endedAt }) => ago(endedAt, display.now) },
    ],
    display,
  );
}
