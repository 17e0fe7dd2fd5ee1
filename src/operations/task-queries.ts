import type { WireTask } from "../contract/shapes.js";
import { Availability } from "../core/availability.js";
import { reachable } from "../core/dependency.js";
import { explainTask, type Reason } from "../core/explain.js";
import { idProblem } from "../core/ids.js";
import { limits } from "../core/limits.js";
import { countProject, whyNothing } from "../core/nothing.js";
import { overlapReasons } from "../core/overlap.js";
import { lackedByAll, listReady, misfits, usesOfClaim, type Who, wantsOf, whoIs } from "../core/ready.js";
import { accept, type Outcome } from "../core/refusal.js";
import { ownUses, sumOfUses } from "../core/resource.js";
import { isLive, newcomer, type SessionTraits } from "../core/session.js";
import { isTerminal, stateOf, type Task, type TaskState, taskStates } from "../core/task.js";
import { type OpenBreaker, openBreakers } from "../core/transitions/breaker.js";
import { noSuchTask, sessionNotFound } from "../core/transitions/holder.js";
import { projectNotFound } from "../core/transitions/project.js";
import type { Reads } from "../core/view.js";
import { activeFirst } from "./active-first.js";
import { decodeCursor } from "./cursor.js";
import { type CallContext, forQuery } from "./handler.js";
import { liveWorkers } from "./live-workers.js";
import { recoverTasks, recoverToExplain } from "./preparations.js";
import {
  maybeIso,
  wireAttempt,
  wireEvent,
  wireOpenAttempt,
  wireReason,
  wireTask,
  wireTaskRow,
} from "./render.js";
import { eventsOfTask } from "./task-events.js";

/** A page of tasks is cut at this much text, so that no page of long prompts has a hundred megabytes. */
const pageTextMax = 4 * 1024 * 1024;

/** The project to read, null for all of the org, or the refusal. */
export function scope(
  view: Reads,
  project: string | undefined,
  { caller }: CallContext,
): Outcome<string | null> {
  if (project === "*") return accept(null);
  const name = project ?? caller.project;
  return view.project(name) ? accept(name) : projectNotFound(name);
}

export function findTask(
  view: Reads,
  input: { project?: string | undefined; taskId: string },
  { caller }: CallContext,
): Outcome<Task> {
  const project = input.project ?? caller.project;
  if (!view.project(project)) return projectNotFound(project);
  const task = view.task(project, input.taskId);
  return task ? accept(task) : noSuchTask(view, project, input.taskId);
}

function findSession(
  view: Reads,
  project: string,
  { sessionId, asNew }: { sessionId?: string | undefined; asNew?: boolean | undefined },
): Outcome<SessionTraits | null> {
  if (sessionId === undefined) return accept(null);
  const session = view.session(project, sessionId);
  if (isLive(session)) return accept(session);
  return asNew ? accept(newcomer(sessionId)) : sessionNotFound(sessionId);
}

/** The first tasks whose texts fit a page, and where the next page starts. */
function pageOf(
  view: Reads,
  tasks: Task[],
  { limit, now, isShown, cursorOf }: Paging,
): { tasks: WireTask[]; nextCursor: string | null } {
  const page = [];
  let read = 0;
  let length = 0;
  for (const task of tasks.slice(0, limit)) {
    const wire = isShown(task) ? wireTask(view, task, now) : null;
    length += wire
      ? wire.prompt.length + (wire.description?.length ?? 0) + (wire.result?.output.length ?? 0)
      : 0;
    if (length > pageTextMax && page.length > 0) break;
    if (wire) page.push(wire);
    read++;
  }
  const last = tasks[read - 1];
  return { tasks: page, nextCursor: last && read < tasks.length ? cursorOf(last) : null };
}

interface Paging {
  limit: number;
  now: number;
  isShown: (task: Task) => boolean;
  cursorOf: (task: Task) => string;
}

const inCreationOrder = ({ ordinal }: Task) => String(ordinal);

/** How many there are in these states. */
function countOf(view: Reads, project: string | null, states: readonly TaskState[] = taskStates): number {
  const counts = view.taskCounts(project);
  return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

export const taskQueries = {
  "tasks.get": forQuery("tasks.get", {
    query: (view, input, context, now) => {
      const found = findTask(view, input, context);
      return found.ok ? accept({ task: wireTask(view, found.value, now) }) : found;
    },
  }),
  "tasks.list": forQuery("tasks.list", {
    prepare: recoverTasks,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const { label, assignee, parent, q, limit, cursor } = input;
      const onlyReady = input.claimable === true;
      const states = typeof input.state === "string" ? [input.state] : input.state;
      const parentId = parent === "" ? null : parent;
      const where = { project: project.value, states, label, assignee, parentId, text: q, limit: limit + 1 };
      const isShown = (task: Task) => !onlyReady || !view.project(task.project)?.paused;
      if (input.order === "active") {
        const found = activeFirst(view, where, { cursor, onlyReady, now });
        if (!found.ok) return found;
        const page = pageOf(view, found.value.tasks, { ...found.value, limit, now, isShown });
        const isCounted = !onlyReady && [label, assignee, parent, q].every((each) => each === undefined);
        const isCut = page.nextCursor !== null && isCounted;
        return accept({ ...page, ...(isCut && { total: countOf(view, project.value, states) }) });
      }
      const after = decodeCursor(cursor);
      if (!after.ok) return after;
      const queued = onlyReady ? { as: "ready" as const, at: now } : undefined;
      const tasks = view.tasks({ ...where, queued, afterOrdinal: after.value });
      return accept(pageOf(view, tasks, { limit, now, isShown, cursorOf: inCreationOrder }));
    },
  }),
  "tasks.rows": forQuery("tasks.rows", {
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      if (input.taskIds) {
        const found = input.taskIds.map((id) => view.task(project.value!, id));
        const tasks = found.filter((task) => task !== undefined);
        return accept({ rows: tasks.map((task) => wireTaskRow(view, task, now)), nextCursor: null });
      }
      const after = decodeCursor(input.cursor);
      if (!after.ok) return after;
      const tasks = view.tasks({
        project: project.value,
        states: typeof input.state === "string" ? [input.state] : input.state,
        afterOrdinal: after.value,
        limit: input.limit + 1,
      });
      const page = tasks.slice(0, input.limit);
      const nextCursor = tasks.length > page.length ? String(page.at(-1)!.ordinal) : null;
      return accept({ rows: page.map((task) => wireTaskRow(view, task, now)), nextCursor });
    },
  }),
  "tasks.explain": forQuery("tasks.explain", {
    prepare: recoverToExplain,
    query: (view, input, context, now) => {
      const found = findTask(view, input, context);
      if (!found.ok) return found;
      const task = found.value;
      const session = findSession(view, task.project, input);
      if (!session.ok) return session;
      const who = session.value && whoIs(session.value);
      const reasons = explainTask(view, task, who, now);
      const claimable = reasons.length === 0;
      const advice = claimable && !who ? noSessionFits(view, task, now) : null;
      const held = claimable ? heldBack(view, task, input.sessionId, now) : [];
      return accept({
        taskId: task.id,
        claimable,
        reasons: [...reasons, ...held, ...(advice ? [advice] : []), ...overlapReasons(view, task)].map(
          wireReason,
        ),
      });
    },
  }),
  "tasks.blockedBy": forQuery("tasks.blockedBy", {
    query: (view, input, context) => {
      const found = findTask(view, input, context);
      if (!found.ok) return found;
      const { project, id, state } = found.value;
      // A parent waits for its children as a task waits for its dependencies.
      const waiting = (on: string) => {
        const parent = view.task(project, on)?.parentId ?? null;
        const ids =
          parent === null ? view.dependents(project, on) : [...view.dependents(project, on), parent];
        return ids.filter((other) => {
          const task = view.task(project, other);
          return task && !isTerminal(task.state);
        });
      };
      if (state === "completed") return accept({ taskId: id, direct: [], transitive: [], count: 0 });
      const direct = new Set(waiting(id));
      const bounds = { max: direct.size + limits.transitiveMax, walkMax: limits.graphWalkMax };
      const all = reachable([id], waiting, bounds);
      const transitive = all.ids.filter((other) => !direct.has(other)).slice(0, limits.transitiveMax);
      return accept({
        taskId: id,
        direct: [...direct].slice(0, limits.transitiveMax),
        transitive,
        count: all.count,
      });
    },
  }),
  "tasks.claimable": forQuery("tasks.claimable", {
    query: (view, input, context, now) => {
      const name = input.project ?? context.caller.project;
      if (name !== "*" && !view.project(name)) return projectNotFound(name);
      const session = name === "*" ? accept(undefined) : findSession(view, name, input);
      if (!session.ok) return session;
      const tasks: WireTask[] = [];
      // A claim is for one project: projects have no order among them.
      for (const project of name === "*" ? view.projects() : [view.project(name)!]) {
        const found = findSession(view, project.id, input);
        if (project.paused || !found.ok) continue;
        const who = found.value && whoIs(found.value);
        const limit = input.limit - tasks.length;
        for (const { id } of listReady(view, {
          project: project.id,
          settings: project.settings,
          who,
          now,
          limit,
          resources: new Availability(view, now),
        })) {
          tasks.push(wireTask(view, view.task(project.id, id)!, now));
        }
        if (tasks.length >= input.limit) break;
      }
      const only = tasks.length === 0 && name !== "*" ? view.project(name)! : null;
      if (!only || !session.ok) return accept({ tasks });
      const who = session.value ? whoIs(session.value) : null;
      return accept({
        tasks,
        why: whyNothing(view, { project: only, counts: countProject(view, name, now), who, now }),
      });
    },
  }),
  "tasks.attempts": forQuery("tasks.attempts", {
    query: (view, input, context, now) => {
      const found = findTask(view, input, context);
      if (!found.ok) return found;
      const { project, id } = found.value;
      const open = view.claim(project, id);
      const closed = view.attempts(project, id, input.limit).map(wireAttempt);
      return accept({ attempts: open ? [wireOpenAttempt(view, open, now), ...closed] : closed });
    },
  }),
  "tasks.events": forQuery("tasks.events", {
    query: (view, input, context) => {
      const found = findTask(view, input, context);
      if (!found.ok) return found;
      const { project, id } = found.value;
      const events = eventsOfTask(view, { project, taskId: id, after: input.after, limit: input.limit });
      // A position beyond the end, as after a restored backup, would miss the next events.
      const nextAfter = events.at(-1)?.seq ?? Math.min(input.after, view.org().eventSeq);
      return accept({ events: events.map(wireEvent), nextAfter });
    },
  }),
  "tasks.graph": forQuery("tasks.graph", {
    query: (view, input, context) => {
      const name = input.project ?? context.caller.project;
      if (!view.project(name)) return projectNotFound(name);
      const after = decodeCursor(input.cursor);
      if (!after.ok) return after;
      const tasks = view.tasks({ project: name, afterOrdinal: after.value, limit: input.limit + 1 });
      const page = tasks.slice(0, input.limit);
      const nodes = page.map((task) => ({
        id: task.id,
        title: task.title,
        type: task.type,
        state: stateOf(task, view.claim(name, task.id)),
        priority: task.priority,
        parentId: task.parentId,
        notBefore: maybeIso(task.notBefore),
      }));
      const edges = page.flatMap((task) => task.dependsOn.map((to) => ({ from: task.id, to })));
      const nextCursor = tasks.length > page.length ? String(page.at(-1)!.ordinal) : null;
      return accept({ nodes, edges, nextCursor });
    },
  }),
};

/**
 * Advice, not a blocker: runners of an agent type that fails at once get one task at a time. A claim by hand
 * gets it.
 */
function heldBack(view: Reads, task: Task, sessionId: string | undefined, now: number): Reason[] {
  const session = sessionId === undefined ? undefined : view.session(task.project, sessionId);
  if (sessionId !== undefined && !session) return [];
  const isMeant = ({ agentType }: OpenBreaker) => task.agentType === null || task.agentType === agentType;
  return openBreakers(view, task.project, now, session)
    .filter(isMeant)
    .map(({ agentType, failures, probeAt }) => ({
      code: "AGENT_HELD_BACK",
      message: `Agent type ${agentType ?? "unknown"} is held back after ${failures} quick failures in a row: one task at a time until it works.`,
      until: probeAt,
      fix: `dibs work --once${agentType === null ? "" : ` --agent-type ${quoted(agentType)}`} -- <command>`,
    }));
}

/** Advice, not a blocker: the task is claimable, but no live session fits it. */
function noSessionFits(view: Reads, task: Task, now: number): Reason | null {
  const { settings } = view.project(task.project)!;
  const fitting = liveWorkers(view, task.project, now).filter(
    (who) => misfits(wantsOf(task), who, settings).length === 0,
  );
  if (fitting.length > 0) return lackOfAll(view, task, fitting, now);
  const wants = [
    task.assignee === null ? null : `assignee ${task.assignee}`,
    task.agentType === null ? null : `agent type ${task.agentType}`,
    task.requires.length === 0 ? null : task.requires.join(", "),
    wantsOf(task).machine === null || settings.land.remote !== null ? null : "the machine of its submission",
  ].filter((each) => each !== null);
  return {
    code: "NO_LIVE_SESSION_FITS",
    message:
      wants.length === 0
        ? "No session is running."
        : `No live session fits: it asks for ${wants.join("; ")}.`,
    fix: workerFor(task),
  };
}

/** Every session that fits uses a resource that it does not get now, such as a held account. */
function lackOfAll(view: Reads, task: Task, fitting: readonly Who[], now: number): Reason | null {
  const resources = new Availability(view, now);
  const { settings } = view.project(task.project)!;
  const key = `${task.project}/${task.id}`;
  const lackedBy = (who: Who) =>
    resources.obstacles(sumOfUses(ownUses(task), usesOfClaim(who, settings)), key);
  if (lackedByAll(fitting, lackedBy).length === 0) return null;
  return explainTask(view, task, fitting[0]!, now).find(({ resource }) => resource !== undefined) ?? null;
}

/** The command that starts a worker which fits the task. */
function workerFor({ id, assignee, agentType, requires }: Task): string {
  if (assignee !== null && idProblem(assignee)) return `dibs edit ${id} --assignee ""`;
  const flags = [
    ...(assignee === null ? [] : ["--session", assignee]),
    ...(agentType === null ? [] : ["--agent-type", quoted(agentType)]),
    ...requires.flatMap((each) => ["--capability", quoted(each)]),
  ];
  return ["dibs work", ...flags, "-- <command>"].join(" ");
}

const quoted = (word: string) => (/^[\w.:/@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
