// Sessions, claims as a whole, events, notifications and projects.

import { type Claim, healthStatus, isOver } from "../core/claim.js";
import type {
  CreateProjectCommand,
  EndSessionCommand,
  ReadNotificationCommand,
  RegisterCommand,
  SessionHeartbeatCommand,
  SweepCommand,
  UpdateProjectCommand,
} from "../core/command.js";
import { limits } from "../core/limits.js";
import { accept, assert, canRead, type Outcome } from "../core/refusal.js";
import { isLive, isSilent, type Session, sessionShownMs } from "../core/session.js";
import { sessionNotFound } from "../core/transitions/holder.js";
import { projectNotFound } from "../core/transitions/project.js";
import type { Reads, View } from "../core/view.js";
import { openBreakersIn } from "./breakers.js";
import { countsOf } from "./counts.js";
import { decodeCursor } from "./cursor.js";
import { resumeFrom } from "./event-feed.js";
import type { Executor } from "./execute.js";
import { type CallContext, type CommandCall, forCommand, forQuery } from "./handler.js";
import { noteUnattended, recoverSessions } from "./preparations.js";
import { iso, wireClaim, wireEvent, wireNotification, wireProject, wireSession, wireTask } from "./render.js";
import { currentOf, summary } from "./session-summary.js";
import { endDeadSessions, isGone } from "./sweep.js";
import { eventsOfTask } from "./task-events.js";
import { scope } from "./task-queries.js";

function findSession(
  view: View,
  input: { project?: string | undefined; sessionId: string },
  { caller }: CallContext,
): Outcome<Session> {
  const project = input.project ?? caller.project;
  if (!view.project(project)) return projectNotFound(project);
  const session = view.session(project, input.sessionId);
  return session ? accept(session) : sessionNotFound(input.sessionId);
}

function sessionAnswer(view: View, on: { project: string; sessionId: string }) {
  const session = view.session(on.project, on.sessionId);
  assert(session, `session ${on.sessionId} was just changed`);
  return { success: true as const, session: wireSession(view, session) };
}

function projectAnswer(view: View, id: string) {
  const project = view.project(id);
  assert(project, `project ${id} was just changed`);
  return { success: true as const, project: wireProject(view, project) };
}

export const sessionOperations = {
  "sessions.register": forCommand("sessions.register", {
    command: ({ project, ...input }, { caller, environment }): RegisterCommand => ({
      type: "register-session",
      project: project ?? caller.project,
      session: {
        ...input,
        id: input.id ?? environment.newSessionId(),
        owner: caller.token ?? null,
        ...(input.pid !== undefined && input.host === undefined && !caller.isElsewhere
          ? {
              host: environment.hostId,
              processStartedAt: input.processStartedAt ?? environment.processStart(input.pid),
            }
          : {}),
      },
    }),
    answer: (view, session, command) =>
      sessionAnswer(view, { project: command.project, sessionId: session.id }),
  }),
  "sessions.heartbeat": forCommand("sessions.heartbeat", {
    command: (input, { caller }): SessionHeartbeatCommand => ({
      type: "session-heartbeat",
      ...input,
      project: input.project ?? caller.project,
    }),
    answer: (view, _value, command) => sessionAnswer(view, command),
  }),
  "sessions.end": forCommand("sessions.end", {
    command: (input, { caller }): EndSessionCommand => ({
      type: "end-session",
      project: input.project ?? caller.project,
      sessionId: input.sessionId,
      reason: "session_ended",
    }),
    answer: (_view, { released }) => ({ success: true, released }),
  }),
  "sessions.get": forQuery("sessions.get", {
    query: (view, input, context) => {
      const found = findSession(view, input, context);
      return found.ok ? accept({ session: wireSession(view, found.value) }) : found;
    },
  }),
  "sessions.list": forQuery("sessions.list", {
    prepare: recoverSessions,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const sessions = view.sessions({
        project: project.value,
        live: input.all !== true,
        limit: input.limit + 1,
        ...(input.all === true ? {} : { seenSince: now - sessionShownMs }),
        ...(input.cursor === undefined ? {} : { afterId: input.cursor }),
      });
      const page = sessions.slice(0, input.limit);
      const last = page.at(-1);
      return accept({
        sessions: page.map((session) => wireSession(view, session)),
        nextCursor: last && sessions.length > page.length ? `${last.project}/${last.id}` : null,
        ...openBreakersIn(view, project.value, now),
      });
    },
  }),
  "sessions.summary": forQuery("sessions.summary", {
    prepare: recoverSessions,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const found = summary(view, project.value, input.limit, now);
      return accept({ ...found, ...openBreakersIn(view, project.value, now) });
    },
  }),
  "sessions.currentTask": forQuery("sessions.currentTask", {
    query: (view, input, context, now) => {
      const found = findSession(view, input, context);
      if (!found.ok) return found;
      return accept({ sessionId: found.value.id, currentTask: currentOf(view, found.value, now) });
    },
  }),
};

export const claimOperations = {
  "claims.cleanup": forCommand("claims.cleanup", {
    run: (executor, call) => executor.once(call, () => cleanUp(executor, call)),
    command: (): SweepCommand => ({ type: "sweep", limit: limits.sweepMax, thorough: true }),
    answer: (_view, cleaned) => ({ success: true, cleaned }),
  }),
  "claims.stats": forQuery("claims.stats", {
    // Counts expired leases.
    sweeps: false,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const claims = countable(view, project.value);
      const active = claims.filter((claim) => !isOver(claim, now));
      const health = (claim: Claim) => healthStatus(claim, view.project(claim.project)!.settings.claim, now);
      const durations = active.map((claim) => Math.max(0, now - claim.claimedAt));
      const oldest = active[0];
      return accept({
        active: active.length,
        byAgentType: countsOf(active.map(({ agentType }) => agentType ?? "unknown")),
        bySession: countsOf(active.map(({ sessionId }) => sessionId)),
        byHealth: countsOf(claims.map(health)),
        expired: claims.length - active.length,
        orphaned: claims.filter((claim) => isOrphaned(view, claim, now)).length,
        averageDurationMs:
          active.length === 0 ? 0 : durations.reduce((sum, each) => sum + each, 0) / active.length,
        oldest: oldest ? wireClaim(view, oldest, now) : null,
        ...openBreakersIn(view, project.value, now),
        ...(input.dead === true ? { dead: deadSessions(view, project.value, claims, context) } : {}),
      });
    },
  }),
};

/** In rounds, until no lease or claim is left to end. */
async function cleanUp(executor: Executor, call: CommandCall<"claims.cleanup">) {
  const cleaned = await endDeadSessions(executor, call.caller.org);
  const round = { ...call, idempotencyKey: undefined };
  for (;;) {
    const { answer } = await executor.transact(round);
    cleaned.push(...answer.cleaned);
    if (answer.cleaned.length < limits.sweepMax)
      return { success: true as const, cleaned: cleaned.slice(0, limits.sweepMax) };
  }
}

/** Figures leave out what is unreadable: `dibs doctor` names it. */
function countable(view: Reads, project: string | null): Claim[] {
  return view.openClaims({ project, limit: limits.openClaimsMax, readableOnly: true }).filter((claim) =>
    canRead(() => {
      view.project(claim.project);
      view.session(claim.project, claim.sessionId);
    }),
  );
}

/** The session is dead, and the claim is still open. */
function isOrphaned(view: Reads, { project, sessionId }: Claim, now: number): boolean {
  const session = view.session(project, sessionId);
  return !isLive(session) || isSilent(session, view.project(project)!.settings.claim.orphanThresholdMs, now);
}

function deadSessions(
  view: Reads,
  project: string | null,
  claims: readonly Claim[],
  { environment }: CallContext,
) {
  const sessions = view.sessions({ project, live: true, limit: limits.openClaimsMax, readableOnly: true });
  return sessions
    .filter((session) => isGone(session, environment))
    .slice(0, limits.pageMax)
    .map(({ project, id }) => {
      const isTheirs = (claim: Claim) => claim.project === project && claim.sessionId === id;
      return { project, sessionId: id, taskIds: claims.filter(isTheirs).map(({ taskId }) => taskId) };
    });
}

export const eventOperations = {
  "events.list": forQuery("events.list", {
    // Reads only the log.
    sweeps: false,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const { after, taskId, types, limit } = input;
      const filter = { after, types, limit };
      const events =
        taskId === undefined || project.value === null
          ? view.events({ ...filter, project: project.value, taskId })
          : eventsOfTask(view, { ...filter, project: project.value, taskId });
      const { eventSeq, eventMin } = view.org();
      // A page that is not full has read the whole log: continue at its end.
      const nextAfter = events.length === limit ? events.at(-1)!.seq : eventSeq;
      const ends = { firstAvailable: eventMin, lastSeq: eventSeq };
      const reset = resumeFrom(after, ends) !== after;
      return accept({ events: events.map(wireEvent), nextAfter, reset, ...ends, now: iso(now) });
    },
  }),
};

export const notificationOperations = {
  "notifications.read": forCommand("notifications.read", {
    command: ({ id }): ReadNotificationCommand => ({ type: "read-notification", id }),
    answer: (view, _value, { id }) => {
      const notification = view.notification(id);
      assert(notification, `notification ${id} was just read`);
      return { success: true, notification: wireNotification(notification) };
    },
  }),
  "notifications.list": forQuery("notifications.list", {
    prepare: noteUnattended,
    query: (view, input, context) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const before = decodeCursor(input.cursor);
      if (!before.ok) return before;
      const found = view.notifications({
        project: project.value,
        unread: input.unread === true,
        limit: input.limit + 1,
        ...(before.value > 0 ? { before: before.value } : {}),
      });
      const page = found.slice(0, input.limit);
      return accept({
        notifications: page.map(wireNotification),
        unread: view.unreadCount(project.value),
        nextCursor: found.length > page.length ? page.at(-1)!.id.slice(1) : null,
      });
    },
  }),
  "notifications.inbox": forQuery("notifications.inbox", {
    prepare: noteUnattended,
    query: (view, input, context, now) => {
      const project = scope(view, input.project, context);
      if (!project.ok) return project;
      const { limit } = input;
      const waiting = view.tasks({
        project: project.value,
        states: ["awaiting_response"],
        afterOrdinal: 0,
        limit,
      });
      const unread = view.notifications({ project: project.value, unread: true, limit });
      return accept({
        questions: waiting.map((task) => wireTask(view, task, now)),
        notifications: unread.map(wireNotification),
        unread: view.unreadCount(project.value),
      });
    },
  }),
};

const pausing = (paused: boolean) => ({
  command: ({ id }: { id?: string | undefined }, { caller }: CallContext): UpdateProjectCommand => ({
    type: "update-project",
    project: id ?? caller.project,
    paused,
  }),
  answer: (view: View, _value: null, command: UpdateProjectCommand) => projectAnswer(view, command.project),
});

export const projectOperations = {
  "projects.create": forCommand("projects.create", {
    command: ({ id, settings }): CreateProjectCommand => ({ type: "create-project", id, settings }),
    answer: (view, _value, { id }) => projectAnswer(view, id),
  }),
  "projects.get": forQuery("projects.get", {
    query: (view, { id }, { caller }) => {
      const project = view.project(id ?? caller.project);
      return project
        ? accept({ project: wireProject(view, project) })
        : projectNotFound(id ?? caller.project);
    },
  }),
  "projects.list": forQuery("projects.list", {
    query: (view, { limit, cursor = "" }) => {
      const rest = view.projects().filter(({ id }) => id > cursor);
      const page = rest.slice(0, limit).map((project) => wireProject(view, project));
      return accept({ projects: page, nextCursor: rest.length > limit ? page.at(-1)!.id : null });
    },
  }),
  "projects.update": forCommand("projects.update", {
    command: ({ id, settings, paused }, { caller }): UpdateProjectCommand => ({
      type: "update-project",
      project: id ?? caller.project,
      settings,
      paused,
    }),
    answer: (view, _value, command) => projectAnswer(view, command.project),
  }),
  "projects.pause": forCommand("projects.pause", pausing(true)),
  "projects.resume": forCommand("projects.resume", pausing(false)),
};
