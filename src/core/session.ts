// A session is a worker, an agent or a leader that talks to us. Its current task and claim history are read from
// its claims, not stored, so that a claim need not write the session.

import type { Uses } from "./resource.js";

export interface Session {
  project: string;
  id: string;
  name: string | null;
  agentType: string | null;
  pid: number | null;
  /** Identity of the machine, boot and pid namespace in which `pid` means something. */
  host: string | null;
  processStartedAt: string | null;
  capabilities: string[];
  /** What each of its claims uses besides what the task does. */
  uses: Uses;
  capacity: number;
  heartbeats: boolean;
  contextPercent: number | null;
  score: number | null;
  startedAt: number;
  lastSeenAt: number;
  endedAt: number | null;
  /** The token that registered it and alone may act for it; null: registered without one. */
  owner: string | null;
  /** Raised when another process registers under the same id. */
  incarnation: number;
  /** What it released a moment ago: claim-next does not hand it back at once. */
  avoid: { taskId: string; until: number }[];
}

/** What a session has done: kept apart from it, because it changes with every claim that closes. */
export interface SessionRecord {
  project: string;
  id: string;
  completed: number;
  /** Its last closed claims, newest first. */
  history: readonly PastClaim[];
}

export interface PastClaim {
  taskId: string;
  claimedAt: number;
  releasedAt: number;
  releaseReason: string;
}

export interface SessionInput {
  id: string;
  name?: string | null;
  agentType?: string | null;
  pid?: number | null;
  host?: string | null;
  processStartedAt?: string | null;
  capabilities?: string[];
  uses?: Uses;
  capacity?: number;
  heartbeats?: boolean;
  owner?: string | null;
}

/** What decides which tasks fit a session. */
export type SessionTraits = Pick<Session, "id" | "name" | "agentType" | "capabilities" | "host" | "uses">;

const agentTypeDefault = "cli";

/** Somebody who says nothing but a name. */
export function newcomer(id: string): SessionTraits & { agentType: string } {
  return { id, name: null, agentType: agentTypeDefault, capabilities: [], host: null, uses: null };
}

/** What stays of a host after a reboot: its last part. Null: nothing is known about the machine. */
export function machineOf(host: string | null | undefined): string | null {
  const parts = host?.split("/") ?? [];
  // Earlier versions named boot and pid namespace only.
  return parts.length === 2 ? null : parts.at(-1) || null;
}

/** Unless both machines are known, nothing speaks against it. */
export function isSameMachine(host: string | null | undefined, other: string | null | undefined): boolean {
  const [one, two] = [machineOf(host), machineOf(other)];
  return one === null || two === null || one === two;
}

export function isLive(session: Session | undefined): session is Session {
  return session !== undefined && session.endedAt === null;
}

/** Both name a process, and not the same one. */
export function isOtherProcess(session: Session, input: SessionInput): boolean {
  if (session.pid === null || input.pid === undefined || input.pid === null) return false;
  return (
    session.pid !== input.pid ||
    session.host !== (input.host ?? null) ||
    session.processStartedAt !== (input.processStartedAt ?? null)
  );
}

/** The names under which a task can be assigned to this session. */
export function namesOf(session: SessionTraits): string[] {
  return session.name && session.name !== session.id ? [session.id, session.name] : [session.id];
}

/**
 * Whether a session counts as dead without anybody having ended it: it promised heartbeats and is silent. One that was last seen
 * in the future was not heard of since the clock was set back.
 */
export function isSilent(session: Session, orphanThresholdMs: number, now: number): boolean {
  return session.heartbeats && Math.abs(now - session.lastSeenAt) >= orphanThresholdMs;
}

/** Sessions that were not heard of for this long are no longer shown, unless asked for. */
export const sessionShownMs = 24 * 60 * 60 * 1000;
