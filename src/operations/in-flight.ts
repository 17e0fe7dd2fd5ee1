// Claimed tasks and their sessions, page by page: open claims, oldest first, then lost claims if the caller
// asks for them, latest first. The summary counts all of them.

import { isOver } from "../core/claim.js";
import { limits } from "../core/limits.js";
import { priorityLabel } from "../core/priority.js";
import { accept, type Outcome } from "../core/refusal.js";
import { stateOf } from "../core/task.js";
import type { Reads } from "../core/view.js";
import { countsOf } from "./counts.js";
import { foreignCursor } from "./cursor.js";
import { forQuery } from "./handler.js";
import { recoverTasks } from "./preparations.js";
import { wireClaim, wireLostClaim } from "./render.js";
import { scope } from "./task-queries.js";

/** The position of an entry. */
interface Spot {
  isLost: boolean;
  at: number;
  project: string;
  taskId: string;
}

type Entry = Spot & { sessionId: string; claim: () => ReturnType<typeof wireClaim> };

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function inOrder(a: Spot, b: Spot): number {
  if (a.isLost !== b.isLost) return a.isLost ? 1 : -1;
  const inTime = a.isLost ? b.at - a.at : a.at - b.at;
  return inTime || byText(a.project, b.project) || byText(a.taskId, b.taskId);
}

const cursorOf = ({ isLost, at, project, taskId }: Spot) =>
  [isLost ? "lost" : "open", at, project, taskId].join("/");

function spotOf(cursor: string | undefined): Outcome<Spot | null> {
  if (cursor === undefined) return accept(null);
  const [, kind, at, project = "", taskId = ""] =
    /^(open|lost)\/(\d{1,15})\/([^/]+)\/([^/]+)$/.exec(cursor) ?? [];
  return kind ? accept({ isLost: kind === "lost", at: Number(at), project, taskId }) : foreignCursor();
}

export const inFlightQuery = {
  "tasks.inFlight": forQuery("tasks.inFlight", {
    prepare: recoverTasks,
    // Shows expired leases.
    sweeps: false,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const after = spotOf(input.cursor);
      if (!after.ok) return after;
      const filter = { project: project.value, sessionId: input.sessionId, limit: limits.openClaimsMax };
      const all = entries(view, filter, { isWithLost: input.includeExpired === true, now });
      const from = after.value;
      const rest = from === null ? all : all.filter((each) => inOrder(from, each) < 0);
      const page = rest.slice(0, input.limit);
      return accept({
        inFlight: page.map((each) => shown(view, each)),
        summary: { total: all.length, bySession: countsOf(all.map(({ sessionId }) => sessionId)) },
        // Absent on the last page: older clients do not expect it there.
        ...(rest.length > page.length ? { nextCursor: cursorOf(page.at(-1)!) } : {}),
      });
    },
  }),
};

/** Lost claims too, ended or not: the answer does not depend on whether a sweeper has run. */
function entries(
  view: Reads,
  filter: Parameters<Reads["openClaims"]>[0],
  { isWithLost, now }: { isWithLost: boolean; now: number },
): Entry[] {
  const open = view.openClaims(filter).filter((claim) => isWithLost || !isOver(claim, now));
  const lost = isWithLost ? view.lostClaims(filter) : [];
  return [
    ...open.map((claim) => ({
      ...namesOf(claim),
      isLost: false,
      at: claim.claimedAt,
      claim: () => wireClaim(view, claim, now),
    })),
    ...lost.map((attempt) => ({
      ...namesOf(attempt),
      isLost: true,
      at: attempt.releasedAt,
      claim: () => wireLostClaim(attempt),
    })),
  ].sort(inOrder);
}

const namesOf = ({ project, taskId, sessionId }: { project: string; taskId: string; sessionId: string }) => ({
  project,
  taskId,
  sessionId,
});

function shown(view: Reads, { project, taskId, claim }: Entry) {
  const task = view.task(project, taskId)!;
  const { title, phase } = task;
  const state = stateOf(task, view.claim(project, taskId));
  return {
    taskId,
    project,
    task: { title, phase, priority: priorityLabel(task.priority), state },
    claim: claim(),
  };
}
