// Where the agents of one connection work: who they are, what they hold, and that they live. An agent need not remember the epochs
// of its claims: they are kept here and sent with everything it does. Over stdio this process is their liveness: it registers them
// with its pid, renews what they hold while they are heard of, and ends their sessions with itself.

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

export interface DeskOptions extends StoreOptions {
  /** Who acts where no agent_id is given; absent: it must be given. */
  defaultAgent?: string;
  /** The process whose life is the agents' life; absent: their claims just expire. */
  process?: ProcessName;
  agentType?: string;
  capabilities?: string[];
  /** What the runner that started this process has claimed for it. */
  held?: { sessionId: string; taskId: string; epoch: number };
  /** Whether a human at this client may answer questions; absent: whoever keeps the store is asked. */
  mayAnswer?: boolean;
  now?: () => number;
  onTrouble?(error: unknown): void;
}

interface Held {
  claim: HeldClaim;
  ttlMs: number;
  /** Claimed by the runner, which renews it. */
  isGiven: boolean;
}

interface Agent {
  id: string;
  /** Null: its session is renewed and ended by another process; what it claimed here is renewed here. */
  session: HeldSession | null;
  /** Settled when its session is registered. */
  ready: Promise<void>;
  lastCallAt: number;
  held: Map<string, Held>;
  /** What it must hear with its next call. */
  notices: string[];
  /** Was given back because its call was broken off: it has not heard of it, and may have it again. */
  unheardOf?: string;
}

interface Leaving {
  endSessions?: boolean;
  isElsewhere?: (agentId: string) => boolean;
}

type Action<T> = (dibs: Dibs) => Promise<T>;

const nobody = () => false;
const closed = () => new DibsError("STORE_CLOSED", "The connection is closed.");
const agentsMax = 1_000;
const noticesMax = 20;
const idleBeatMs = 60_000;

export class Desk {
  private readonly store: StoreAccess;
  private readonly agents = new Map<string, Agent>();
  private readonly closing = new AbortController();
  private readonly heartbeat = new Heartbeat(() => this.beat());
  private beatMs = idleBeatMs;
  private closed: Promise<void> | null = null;
  private readonly under = new Set<Promise<unknown>>();
  private readonly now: () => number;

  constructor(readonly options: DeskOptions) {
    this.now = options.now ?? Date.now;
    this.store = new StoreAccess(options);
  }

  /** Aborted when this connection is over. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  /** The leases of what agents claim here are renewed while this process lives. */
  get renews(): boolean {
    return this.options.process !== undefined;
  }

  dibs(): Promise<Dibs> {
    return this.closing.signal.aborted ? Promise.reject(closed()) : this.store.dibs();
  }

  /** Where a first task creates the store. */
  createdDibs(): Promise<{ dibs: Dibs; created: string | null }> {
    return this.closing.signal.aborted ? Promise.reject(closed()) : this.store.createdDibs();
  }

  /** What calls go through now. */
  get connection(): Promise<Dibs> | null {
    return this.store.connection;
  }

  /** Agents keep what they hold. */
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

  /** What an agent does: its session is there, its lease lengths are known, and the end of the connection waits for it. */
  act<T>(agentId: string, action: Action<T>, isHolder = false): Promise<T> {
    const done = this.acting(agentId, action, isHolder);
    this.under.add(done);
    const settled = () => this.under.delete(done);
    done.then(settled, settled);
    return done;
  }

  private async acting<T>(agentId: string, action: Action<T>, isHolder: boolean): Promise<T> {
    const dibs = await this.dibs();
    // Only who claims is registered; who acts on a task without ever having claimed one hears so from the store.
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
      // The machine slept, or somebody ended the session: the agent goes on under its name, without what it held.
      for (const taskId of agent.held.keys()) this.lose(agent, taskId, "SESSION_NOT_FOUND");
      agent.ready = this.register(agent);
      await agent.ready;
      return await action(dibs);
    } finally {
      agent.lastCallAt = this.now();
    }
  }

  /** Two processes under one name would be handed the same task: the later one has it. */
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

  /** No other process has registered under its name since; what is unknown or over is nobody's. */
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
   * Whoever started this process for a task keeps that session alive; registering it here would take it away. Over HTTP another
   * connection can serve the same agent.
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
    // The first beat learns from the settings how often to beat.
    this.heartbeat.within(0);
  }

  /** The fence for what an agent does with a task. */
  holder(agentId: string, taskId: string): { taskId: string; sessionId: string; epoch?: number } {
    const held = this.agents.get(agentId)?.held.get(taskId);
    return held?.claim.by ?? { taskId, sessionId: agentId };
  }

  hold(agentId: string, claim: WireClaim): void {
    const agent = this.agents.get(agentId);
    if (!agent) return;
    const { held: given } = this.options;
    // What the runner claimed stays the runner's, also when its agent claims it once more.
    const isGiven =
      given?.sessionId === agentId && given.taskId === claim.taskId && given.epoch === claim.epoch;
    this.keep(agent, claim, isGiven);
    if (this.renews) this.heartbeat.within(Math.max(20, claim.ttlMs / 3));
  }

  private keep(
    agent: Agent,
    { taskId, epoch, ttlMs }: Pick<WireClaim, "taskId" | "epoch" | "ttlMs">,
    isGiven: boolean,
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
    agent.held.set(taskId, { claim, ttlMs, isGiven });
  }

  letGo(agentId: string, taskId: string): void {
    const held = this.agents.get(agentId)?.held;
    held?.get(taskId)?.claim.end();
    held?.delete(taskId);
  }

  /** The runner's task, while this agent has not ended it. */
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

  /** Any call shows that its agent lives. Whoever was silent for so long that leases may be over hears which. */
  async heard(agentId: string): Promise<void> {
    const agent = this.agents.get(agentId);
    if (!agent || !this.renews) return;
    agent.lastCallAt = this.now();
    const doubtful = ownClaims(agent).filter((claim) => claim.isLate);
    await Promise.all(doubtful.map((claim) => claim.renew()));
  }

  /** What happened to its tasks meanwhile; each is told once. */
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

  /** What fails is tried again with the next beat. */
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
    // Whether an agent that is silent for so long still works is unknown.
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
   * The client is gone: what is under way is broken off, and what its agents held goes back at once. Nobody gave it back on
   * purpose, so it counts as lost. Agents who are elsewhere by now keep what they hold.
   */
  close({ endSessions = true, isElsewhere = nobody }: Leaving = {}): Promise<void> {
    this.closed ??= this.end({ endSessions, isElsewhere });
    return this.closed;
  }

  private async end({ endSessions, isElsewhere }: Required<Leaving>): Promise<void> {
    this.closing.abort();
    this.heartbeat.stop();
    await Promise.allSettled(this.under);
    const leaving = [...this.agents.values()].filter(({ id }) => !isElsewhere(id));
    if (!endSessions || leaving.length === 0) return;
    const dibs = await this.store.dibs().catch(() => null);
    if (!dibs) return;
    await Promise.allSettled(leaving.map((agent) => this.goodbye(dibs, agent)));
  }

  private async goodbye(dibs: Dibs, agent: Agent): Promise<void> {
    const { id: sessionId, session } = agent;
    if (session) {
      if (await this.isOurs(dibs, agent)) await dibs.sessions.end({ sessionId });
      return;
    }
    const own = ownClaims(agent).map(({ by }) => by);
    if (own.length === 0) return;
    const { inFlight } = await dibs.tasks.inFlight({ sessionId });
    // With everything that its session holds, the session itself can go; unless it is a runner's, or works elsewhere, too.
    if (!this.renews && inFlight.every((each) => own.some(({ taskId }) => each.taskId === taskId))) {
      await dibs.sessions.end({ sessionId });
      return;
    }
    const reason = "client gone";
    await Promise.allSettled(own.map((by) => dibs.tasks.release({ ...by, reason })));
  }
}

/** What it claimed here. */
const ownClaims = ({ held }: Agent): HeldClaim[] =>
  [...held.values()].filter(({ isGiven }) => !isGiven).map(({ claim }) => claim);
