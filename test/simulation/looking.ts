// Everything that a store shows, for comparing: the rows, the sets, the lists and the order of the queue.

import { archivedKind } from "../../src/core/archive.js";
import { Availability } from "../../src/core/availability.js";
import { everythingIn } from "../../src/core/invariants.js";
import { landingKind, leaseKind, patchKind, submissionKind, submittedKind } from "../../src/core/landing.js";
import type { Project } from "../../src/core/project.js";
import { listReady, pickNext, type Who, whoIs } from "../../src/core/ready.js";
import { resourceKind, resourceSpentKind, resourceUseKind } from "../../src/core/resource.js";
import { reviewersKind, reviewingKind } from "../../src/core/review.js";
import { breakerKind } from "../../src/core/transitions/breaker.js";
import type { Reads, View } from "../../src/core/view.js";
import { documentKinds, documentPages, documentPlaces } from "./documents.js";
import { all, sessionIds } from "./scene.js";

/** The state: what must be equal at any time. */
export function stateOf(view: Reads, now: number) {
  const whole = everythingIn(view);
  const projects = view.projects();
  return {
    ...whole,
    projects,
    texts: whole.tasks.map(({ project, id }) => view.text(project, id)),
    sessions: view.sessions({ project: null, live: false, limit: all }),
    notifications: view.notifications({ project: null, unread: false, limit: all }),
    documents: [...documentKinds, archivedKind, breakerKind, ...landingKinds, ...resourceKinds].map((kind) =>
      view.documents({ kind, limit: all }),
    ),
    due: view.due(now, all),
    nextDue: view.nextDue(now),
    sets: setsOf(view, whole.tasks),
    queues: projects.map((project) => queueOf(view, project, now)),
  };
}

const resourceKinds = [resourceKind, resourceUseKind, resourceSpentKind];

const landingKinds = [
  submissionKind,
  patchKind,
  landingKind,
  leaseKind,
  submittedKind,
  reviewingKind,
  reviewersKind,
];

const filters = [
  { states: ["queued"] as const },
  { states: ["claimed", "running"] as const },
  { states: ["queued", "failed"] as const },
  { states: ["completed"] as const },
  { states: ["submitted"] as const },
  { states: ["running", "submitted"] as const },
  { label: "ui" },
  { assignee: "s1" },
  { parentId: null },
  { text: "TEST" },
  { text: "%_" },
  { beforeOrdinal: 7 },
];

/** The state, and every way to list it. */
export function snapshot(view: Reads, now: number) {
  const projects = view.projects().map(({ id }) => id);
  return {
    ...stateOf(view, now),
    lists: [...filters, ...queuedAt(now)].map((filter) => {
      const tasks = view.tasks({ project: "demo", afterOrdinal: 1, limit: 50, ...filter });
      return { filter, ids: tasks.map(({ id }) => id) };
    }),
    live: view.sessions({ project: null, live: true, limit: all }),
    later: view.sessions({ project: null, live: false, afterId: "demo/s2", limit: 2 }),
    unread: view.notifications({ project: "demo", unread: true, before: 5, limit: 3 }),
    unreadCounts: [view.unreadCount(null), view.unreadCount("demo")],
    counts: [null, ...projects].map((id) => stated(view.taskCounts(id))),
    work: projects.map((id) => workOf(view, id)),
    pages: documentPages.map((page) => view.documents(page)),
    some: view.events({ after: 3, limit: 5, project: "demo", types: ["task:claimed", "task:queued"] }),
  };
}

/** A count of zero may be left out. */
function stated(counts: Record<string, number>) {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

function workOf(view: Reads, project: string) {
  return sessionIds.map((id) => ({
    record: view.record(project, id),
    held: view.claimsOf(project, id),
    open: view.openClaims({ project, sessionId: id, limit: 2 }).map(({ taskId }) => taskId),
  }));
}

function setsOf(view: View, tasks: readonly { project: string; id: string }[]) {
  return tasks.map(({ project, id }) => ({
    id,
    children: view.children(project, id),
    dependents: view.dependents(project, id),
    counter: view.counter(project, id),
    top: view.counter(project, ""),
  }));
}

/** What claim-next would hand out, for everybody, in order. */
export function queueOf(view: View, { id: project, settings }: Project, now: number) {
  const sessions = sessionIds.map((id) => view.session(project, id));
  const resources = new Availability(view, now);
  const who: (Who | null)[] = [null, ...sessions.flatMap((session) => (session ? [whoIs(session)] : []))];
  const shown = who.map((each) =>
    listReady(view, { project, settings, who: each, now, limit: all, resources }).map(({ id, level }) => [
      id,
      level,
    ]),
  );
  const picked = sessions.map((session) => {
    if (!session) return null;
    const avoid = new Map(session.avoid.map(({ taskId, until }) => [taskId, until]));
    return [undefined, ["ui", "db"]].map((labels) =>
      pickNext(view, { project, settings, who: whoIs(session), labels, avoid, now, resources }),
    );
  });
  return { project, shown, picked };
}

/** What a decision may look at. */
export function lookAtRows(view: View, now: number, ids: readonly { project: string; id: string }[]) {
  const projects = ["demo", "side", "extra"].map((id) => view.project(id));
  return {
    org: view.org(),
    projects,
    rows: ids.map(({ project, id }) => [
      view.task(project, id),
      view.claim(project, id),
      view.text(project, id),
    ]),
    sets: setsOf(view, ids),
    held: sessionIds.map((id) => [view.session("demo", id), view.claimsOf("demo", id)]),
    documents: documentPlaces.map(({ kind, key }) => view.document(kind, key)),
    queues: projects.flatMap((project) => (project ? [queueOf(view, project, now)] : [])),
  };
}

const queuedAt = (at: number) =>
  (["ready", "scheduled", "blocked"] as const).map((as) => ({ queued: { as, at } }));
