// The agents of one MCP connection: their sessions, their claims and the epochs of these, which are added to each call.
// Over stdio the agents' sessions have the pid of this process. It renews their leases while the agents make calls, and
// ends the sessions when it ends.

import type { Dibs } from "../../client/client.js";
import { beatMsFor, claimSettings, Heartbeat, HeldClaim, HeldSession } from "../../client/holding/index.js";
import type { Code } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { WireClaim, WireSession, WireTask } from "../../contract/shapes.js";
import { asDibsError } from "./refusals.js";
import { StoreAccess, type StoreOptions } from "./store-access.js";

export interface ProcessName {
  pid: number;
  host: string;
  processStartedAt?: string;
}

interface HolderName {
  taskId: string;
  sessionId: string;
  epoch?: number;
}

/** What is handed in to land. */
export interface FoundChange {
  /** Null: nothing was changed. */
  change: { commit: string; base: string; branch?: string } | null;
  /** False: the directory is not in the project's repository. */
  isKnown: boolean;
}

export interface AgentSessionsOptions extends StoreOptions {
  /** The agent of calls without agent_id; absent: agent_id is required. */
  defaultAgent?: string;
  /** The process that sessions are registered with; absent: claims are not renewed here and expire. */
  process?: ProcessName;
  agentType?: string;
  capabilities?: string[];
  /** The claim of the runner that started this process. */
  held?: { sessionId: string; taskId: string; epoch: number };
  /** The change of a task that an agent completes, in the directory of this process. Undefined: the work does not land. */
  changeOf?(dibs: Dibs, holder: HolderName): Promise<FoundChange | undefined>;
  /** Whether a human at this client can answer questions; absent: the role in the store decides. */
  mayAnswer?: boolean;
  now?: () => number;
  onTrouble?(error: unknown): void;
}

interface Held {
  claim: HeldClaim;
  ttlMs: number;
  /** Claimed by the runner, which renews it. */
  isGiven: boolean;
  /** A review is held: of the submission with this number. */
  submission?: number | undefined;
}

interface Agent {
  id: string;
  /** Null: another process renews and ends the session; claims made here are renewed here. */
  session: HeldSession | null;
  /** Resolves when the session is registered. */
  ready: Promise<void>;
  lastCallAt: number;
  held: Map<string, Held>;
  /** Messages for the answer of its next call. */
  notices: string[];
  /** A task released because the claim_task call was cancelled before its answer; the next claim prefers it. */
  unheardOf?: string;
}

interface CloseOptions {
  endSessions?: boolean;
  isElsewhere?: (agentId: string) => boolean;
}

type Action<T> = (dibs: Dibs) => Promise<T>;

const never = () => false;
const closed = () => new DibsError("STORE_CLOSED", "The connection is closed.");
const agentsMax = 1_000;
const noticesMax = 20;
const idleBeatMs = 60_000;

export class AgentSessions {
  private readonly store: StoreAccess;
  private readonly agents = new Map<string, Agent>();
  private readonly closing = new AbortController();
  private readonly heartbeat = new Heartbeat(() => this.beat());
  private beatMs = idleBeatMs;
  private closed: Promise<void> | null = null;
  private readonly pending = new Set<Promise<unknown>>();
  private readonly now: () => number;

  constructor(readonly options: AgentSessionsOptions) {
    this.now = options.now ?? Date.now;
    this.store = new StoreAccess(options);
  }

  /** Aborted when this connection closes. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  /** Whether this process renews the leases of its agents. */
  get renews(): boolean {
    return this.options.process !== undefined;
  }

  dibs(): Promise<Dibs> {
    return this.closing.signal.aborted ? Promise.reject(closed()) : this.store.dibs();
  }

  /** Creates the store if there is none; for create_task. */
  createdDibs(): Promise<{ dibs: Dibs; created: string | null }> {
    return this.closing.signal.aborted ? Promise.reject(closed()) : this.store.createdDibs();
  }

  /** The current connection to the store. */
  get connection(): Promise<Dibs> | null {
    return this.store.connection;
  }

  /** Agents keep their claims. */
  reconnect(used: Promise<Dibs> | null): void {
    this.store.reconnect(used);
  }

  nameOf(agentId: unknown): string {
    const id = (agentId as string | undefined) ?? this.options.defaultAgent;
    if (id) return id;
    throw new DibsError("VALIDATION_FAILED", "agent_id: is required on this connection.", {
      hint: "Choose a unique name and pass it in every call.",
    });
  }

  /** Runs an agent's action: registers its session first if needed; `close` waits for it. */
  act<T>(agentId: string, action: Action<T>, isHolder = false): Promise<T> {
    const done = this.acting(agentId, action, isHolder);
    this.pending.add(done);
    const settled = () => this.pending.delete(done);
    done.then(settled, settled);
    return done;
  }

  private async acting<T>(agentId: string, action: Action<T>, isHolder: boolean): Promise<T> {
    const dibs = await this.dibs();
    // Only claims register a session. Other actions of an unknown agent are refused by the store.
    if (isHolder && !(await this.isKnown(dibs, agentId))) return action(dibs);
    const agent = this.agentOf(agentId);
    agent.lastCallAt = this.now();
    try {
      await agent.ready;
    } catch (error) {
      this.agents.delete(agentId);
      throw error;
    }
    await this.refuseReplaced(dibs, agent);
    try {
      return await action(dibs);
    } catch (error) {
      const isOver = asDibsError(error).code === "SESSION_NOT_FOUND" && agent.session !== null && this.renews;
      if (!isOver || this.closing.signal.aborted) throw error;
      // The session expired or was ended. The agent gets a new one under its name; its claims are lost.
      for (const taskId of agent.held.keys()) this.lose(agent, taskId, "SESSION_NOT_FOUND");
      agent.ready = this.register(agent);
      await agent.ready;
      return await action(dibs);
    } finally {
      agent.lastCallAt = this.now();
    }
  }

  /** Two processes under one name would get the same task: the one that registered later has the session. */
  private async refuseReplaced(dibs: Dibs, agent: Agent): Promise<void> {
    if (!agent.session || (await this.isOurs(dibs, agent))) return;
    agent.held.clear();
    throw new DibsError("SESSION_BUSY", `Another process now uses the name ${agent.id} since.`);
  }

  private async isKnown(dibs: Dibs, id: string): Promise<boolean> {
    const { process, held } = this.options;
    if (!process || held?.sessionId === id || this.agents.has(id)) return true;
    const session = await this.sessionOf(dibs, id);
    return session !== null && session.endedAt === null;
  }

  /** False if another process has registered under its name since. */
  private async isOurs(dibs: Dibs, { id }: Agent): Promise<boolean> {
    const { process } = this.options;
    const session = await this.sessionOf(dibs, id);
    if (!session || session.endedAt !== null || session.pid === null) return true;
    return session.pid === process?.pid && session.host === process?.host;
  }

  private async sessionOf(dibs: Dibs, sessionId: string): Promise<WireSession | null> {
    try {
      return (await dibs.sessions.get({ sessionId })).session;
    } catch (error) {
      if (asDibsError(error).code === "SESSION_NOT_FOUND") return null;
      throw error;
    }
  }

  private agentOf(id: string): Agent {
    const known = this.agents.get(id);
    if (known) return known;
    if (this.agents.size >= agentsMax) {
      throw new DibsError("RATE_LIMITED", `This connection has ${agentsMax} agents already.`);
    }
    const { held } = this.options;
    const agent: Agent = {
      id,
      session: this.sessionFor(id),
      ready: Promise.resolve(),
      lastCallAt: this.now(),
      held: new Map(),
      notices: [],
    };
    if (held?.sessionId === id) this.keep(agent, { ...held, ttlMs: idleBeatMs * 3 }, true);
    agent.ready = this.register(agent);
    this.agents.set(id, agent);
    return agent;
  }

  /**
   * The runner that started this process renews its own session; registering it here would take it over. Over HTTP
   * another connection can serve the same agent.
   */
  private sessionFor(id: string): HeldSession | null {
    const { process, agentType = "autonomous", capabilities, held } = this.options;
    if (!process || held?.sessionId === id) return null;
    return new HeldSession(() => this.dibs(), {
      id,
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      heartbeats: true,
      ...process,
    });
  }

  private async register({ session }: Agent): Promise<void> {
    if (!session) return;
    await session.register();
    // The first heartbeat reads the interval from the settings.
    this.heartbeat.within(0);
  }

  /** The fields that prove the claim: with the epoch, if it is known. */
  holder(agentId: string, taskId: string): { taskId: string; sessionId: string; epoch?: number } {
    const held = this.agents.get(agentId)?.held.get(taskId);
    return held?.claim.by ?? { taskId, sessionId: agentId };
  }

  /** The number of the submission that the agent reviews, if it claimed the review here. */
  reviewOf(agentId: string, taskId: string): number | undefined {
    return this.agents.get(agentId)?.held.get(taskId)?.submission;
  }

  /** `submission`: a review of it was claimed. */
  hold(agentId: string, claim: WireClaim, submission?: number): void {
    const agent = this.agents.get(agentId);
    if (!agent) return;
    const { held: given } = this.options;
    // The runner keeps renewing its claim, also if its agent claims the task again.
    const isGiven =
      given?.sessionId === agentId && given.taskId === claim.taskId && given.epoch === claim.epoch;
    this.keep(agent, claim, isGiven, submission);
    if (this.renews) this.heartbeat.within(Math.max(20, claim.ttlMs / 3));
  }

  private keep(
    agent: Agent,
    { taskId, epoch, ttlMs }: Pick<WireClaim, "taskId" | "epoch" | "ttlMs">,
    isGiven: boolean,
    submission?: number,
  ): void {
    agent.held.get(taskId)?.claim.end();
    const claim: HeldClaim = new HeldClaim({
      dibs: () => this.dibs(),
      by: { taskId, sessionId: agent.id, epoch },
      ttlMs,
      askedAt: this.now(),
      now: this.now,
      onLost: (error) => this.lose(agent, taskId, asDibsError(error).code),
      onTrouble: (error) => this.trouble(error),
    });
    agent.held.set(taskId, { claim, ttlMs, isGiven, submission });
  }

  letGo(agentId: string, taskId: string): void {
    const held = this.agents.get(agentId)?.held;
    held?.get(taskId)?.claim.end();
    held?.delete(taskId);
  }

  /** The task that the runner claimed for this agent, until it is finished. */
  givenTo(agentId: string): string | undefined {
    const held = this.agents.get(agentId)?.held ?? new Map<string, Held>();
    return [...held].find(([, { isGiven }]) => isGiven)?.[0];
  }

  keepUnheardOf(agentId: string, taskId: string): void {
    const agent = this.agents.get(agentId);
    if (agent) agent.unheardOf = taskId;
  }

  takeUnheardOf(agentId: string): string | undefined {
    const agent = this.agents.get(agentId);
    const taskId = agent?.unheardOf;
    delete agent?.unheardOf;
    return agent?.held.size === 0 ? taskId : undefined;
  }

  knows(agentId: string): boolean {
    return this.agents.has(agentId);
  }

  /** Any call counts as a sign of life. Leases that may have expired are renewed, so that the agent learns of losses. */
  async heard(agentId: string): Promise<void> {
    const agent = this.agents.get(agentId);
    if (!agent || !this.renews) return;
    agent.lastCallAt = this.now();
    const doubtful = ownClaims(agent).filter((claim) => claim.isLate);
    await Promise.all(doubtful.map((claim) => claim.renew()));
  }

  /** Messages about lost tasks; each is returned once. */
  noticesFor(agentId: string): string[] {
    return this.agents.get(agentId)?.notices.splice(0) ?? [];
  }

  /** Held tasks with an answer that the agent has not acknowledged by an action. */
  async unacknowledged(dibs: Dibs, agentId: string): Promise<WireTask[]> {
    const { inFlight } = await dibs.tasks.inFlight({ sessionId: agentId });
    const own = inFlight.filter(({ task }) => task.state === "running").slice(0, 5);
    const tasks = await Promise.all(own.map(({ taskId }) => dibs.tasks.get({ taskId })));
    return tasks.map(({ task }) => task).filter(({ responsePending }) => responsePending);
  }

  /** Failures are retried with the next heartbeat. */
  private async beat(): Promise<number> {
    const opening = this.dibs();
    try {
      const dibs = await opening;
      const settings = await claimSettings(dibs);
      this.beatMs = beatMsFor(settings, settings.maxTtlMs);
      const agents = [...this.agents.values()];
      await Promise.all(agents.map((agent) => this.keepAlive(dibs, agent, settings.maxTtlMs)));
    } catch (error) {
      if (asDibsError(error).code === "STORE_UNAVAILABLE") this.reconnect(opening);
      this.trouble(error);
    }
    const leases = [...this.agents.values()].flatMap(({ held }) => [...held.values()]);
    return Math.max(20, Math.min(this.beatMs, ...leases.map(({ ttlMs }) => ttlMs / 3)));
  }

  private async keepAlive(dibs: Dibs, agent: Agent, maxTtlMs: number): Promise<void> {
    await agent.ready;
    if (agent.session) {
      if (!(await this.isOurs(dibs, agent))) return;
      await agent.session.heartbeat().catch((error) => this.trouble(error));
    }
    // An agent that makes no calls for so long may have stopped working.
    if (this.now() - agent.lastCallAt > maxTtlMs) return;
    await Promise.all(ownClaims(agent).map((claim) => claim.renew()));
  }

  private lose(agent: Agent, taskId: string, code: Code): void {
    agent.held.get(taskId)?.claim.end();
    agent.held.delete(taskId);
    if (agent.notices.length >= noticesMax) return;
    agent.notices.push(`Task ${taskId} is no longer yours (${code}): stop working on it.`);
  }

  private trouble(error: unknown): void {
    if (!this.closing.signal.aborted) this.options.onTrouble?.(error);
  }

  /**
   * Cancels running calls and ends the agents' sessions, so that their tasks return to the queue at once, counted as lost.
   * Agents that have another connection by now keep their claims.
   */
  close({ endSessions = true, isElsewhere = never }: CloseOptions = {}): Promise<void> {
    this.closed ??= this.end({ endSessions, isElsewhere });
    return this.closed;
  }

  private async end({ endSessions, isElsewhere }: Required<CloseOptions>): Promise<void> {
    this.closing.abort();
    this.heartbeat.stop();
    await Promise.allSettled(this.pending);
    const leaving = [...this.agents.values()].filter(({ id }) => !isElsewhere(id));
    if (!endSessions || leaving.length === 0) return;
    const dibs = await this.store.dibs().catch(() => null);
    if (!dibs) return;
    await Promise.allSettled(leaving.map((agent) => this.endSession(dibs, agent)));
  }

  private async endSession(dibs: Dibs, agent: Agent): Promise<void> {
    const { id: sessionId, session } = agent;
    if (session) {
      if (await this.isOurs(dibs, agent)) await dibs.sessions.end({ sessionId });
      return;
    }
    const own = ownClaims(agent).map(({ by }) => by);
    if (own.length === 0) return;
    const { inFlight } = await dibs.tasks.inFlight({ sessionId });
    // A session whose claims are all from this connection is ended; one with other claims keeps those.
    if (!this.renews && inFlight.every((each) => own.some(({ taskId }) => each.taskId === taskId))) {
      await dibs.sessions.end({ sessionId });
      return;
    }
    const reason = "client gone";
    await Promise.allSettled(own.map((by) => dibs.tasks.release({ ...by, reason })));
  }
}

/** Claims made over this connection, not by the runner. */
const ownClaims = ({ held }: Agent): HeldClaim[] =>
  [...held.values()].filter(({ isGiven }) => !isGiven).map(({ claim }) => claim);
