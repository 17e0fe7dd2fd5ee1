// register, heartbeat, end: a session comes, is heard of, and goes. What a dead session held is orphaned.

import type { EndSessionCommand, RegisterCommand, SessionHeartbeatCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { idProblem, reservedSessionIds } from "../ids.js";
import { ownerOf } from "../ownership.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { isSameUses, normalUses, projectUses, type Uses, usesProblem } from "../resource.js";
import { isLive, isOtherProcess, newcomer, type Session, type SessionInput } from "../session.js";
import { lose } from "./close.js";
import { sessionNotFound, touch } from "./holder.js";

export function register(draft: Draft, { project, session }: RegisterCommand): Outcome<Session> {
  return (
    sessionIdProblem(session.id, "id") ??
    sessionUsesProblem(draft, project, session.uses, "uses") ??
    accept(registerSession(draft, project, session))
  );
}

export function sessionUsesProblem(
  draft: Draft,
  project: string,
  uses: Uses | undefined,
  path: string,
): Refusal | null {
  return usesProblem(draft, path, uses, projectUses(draft.project(project)));
}

export function sessionIdProblem(id: string, path: string): Refusal | null {
  const problem = reservedSessionIds.has(id) ? "is reserved for addresses of the API" : idProblem(id);
  if (!problem) return null;
  const message = `Session id '${id.slice(0, 200)}' ${problem}.`;
  return refuse("VALIDATION_FAILED", message, { details: { issues: [{ path, message }] } });
}

/** A known id from the same process is refreshed; from another process it is a new incarnation. */
export function registerSession(draft: Draft, project: string, input: SessionInput): Session {
  const known = draft.session(project, input.id);
  const replaces = known !== undefined && isOtherProcess(known, input);
  if (replaces) orphanAll(draft, known, "session_replaced");
  const renewed = known === undefined || replaces || known.endedAt !== null;
  const session = draft.putSession({
    project,
    id: input.id,
    name: input.name ?? (renewed ? null : known.name),
    agentType: input.agentType ?? (renewed ? newcomer(input.id).agentType : known.agentType),
    pid: input.pid ?? (renewed ? null : known.pid),
    host: input.pid == null ? (renewed ? null : known.host) : (input.host ?? null),
    processStartedAt:
      input.pid == null ? (renewed ? null : known.processStartedAt) : (input.processStartedAt ?? null),
    capabilities: input.capabilities ?? (renewed ? [] : known.capabilities),
    uses: usesAfter(input, renewed ? undefined : known),
    capacity: input.capacity ?? (renewed ? 1 : known.capacity),
    heartbeats: input.heartbeats ?? (renewed ? false : known.heartbeats),
    contextPercent: renewed ? null : known.contextPercent,
    score: renewed ? null : known.score,
    startedAt: renewed ? draft.now : known.startedAt,
    lastSeenAt: draft.now,
    endedAt: null,
    owner: renewed || hasLostOwner(draft, known, input) ? (input.owner ?? null) : known.owner,
    incarnation: (known?.incarnation ?? 0) + (renewed ? 1 : 0),
    avoid: renewed ? [] : known.avoid,
  });
  const { orphanThresholdMs } = draft.project(project).settings.claim;
  if (!renewed) {
    for (const { taskId } of draft.view.claimsOf(project, session.id)) {
      const claim = draft.claim(project, taskId);
      if (claim) {
        draft.putClaim({ ...claim, silentAt: session.heartbeats ? draft.now + orphanThresholdMs : null });
      }
    }
  }
  if (renewed) {
    draft.emit("session:registered", {
      project,
      sessionId: session.id,
      data: { agentType: session.agentType, incarnation: session.incarnation },
    });
  }
  return session;
}

/** The same object if they are the same: waiting claims are woken when they change. */
function usesAfter({ uses }: SessionInput, known: Session | undefined): Uses {
  if (uses === undefined) return known?.uses ?? null;
  const normal = normalUses(uses);
  return known && isSameUses(known.uses, normal) ? known.uses : normal;
}

/** Its token is gone: whoever goes on with it is its owner from now on. */
function hasLostOwner(draft: Draft, known: Session, input: SessionInput): boolean {
  const { owner } = known;
  return owner !== null && owner !== (input.owner ?? null) && ownerOf(draft, known, draft.now) === null;
}

export function sessionHeartbeat(draft: Draft, command: SessionHeartbeatCommand): Outcome<null> {
  const session = draft.session(command.project, command.sessionId);
  if (!isLive(session)) return sessionNotFound(command.sessionId);
  const seen = touch(draft, session, { exact: true });
  draft.putSession({
    ...seen,
    contextPercent: command.contextPercent ?? seen.contextPercent,
    score: command.score ?? seen.score,
  });
  return accept(null);
}

export interface Ended {
  released: { taskId: string; sessionId: string; reason: string }[];
}

export function endSession(draft: Draft, command: EndSessionCommand): Outcome<Ended> {
  const session = draft.session(command.project, command.sessionId);
  const replaced = command.incarnation !== undefined && session?.incarnation !== command.incarnation;
  if (!isLive(session) || replaced) return sessionNotFound(command.sessionId);
  const released = orphanAll(draft, session, command.reason);
  draft.putSession({ ...session, endedAt: draft.now, lastSeenAt: draft.now });
  draft.emit("session:ended", {
    project: session.project,
    sessionId: session.id,
    data: { reason: command.reason },
  });
  return accept({ released });
}

function orphanAll(draft: Draft, session: Session, reason: string): Ended["released"] {
  const released: Ended["released"] = [];
  for (const { taskId } of draft.view.claimsOf(session.project, session.id)) {
    const claim = draft.claim(session.project, taskId);
    const task = draft.task(session.project, taskId);
    if (!claim || !task) continue;
    lose(draft, task, claim, { end: "orphan", reason });
    released.push({ taskId, sessionId: session.id, reason });
  }
  return released;
}
