// Where the agents of one connection work: who they are, what they hold, and that they live. An agent need not remember the epochs
// of its claims: they are kept here and sent with everything it does. Over stdio this process is their liveness: it registers them
// with its pid, renews what they hold while they are heard of, and ends their sessions with itself.

import type { Dibs } from "../../client/client.js";
import type { Code } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import type { WireClaim, WireSession, WireTask } from "../../contract/shapes.js";
import { Pulse } from "./pulse.js";
import { asDibsError, lostCodes } from "./refusals.js";
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
  epoch: number;
  ttlMs: number;
  /** When its lease was last known to be good. */
  renewedAt: number;
  /** The runner's, who renews it. */
  isGiven?: true;
}

interface Agent {
  id: string;
  /** Settled when its session is registered. */
  ready: Promise<void>;
  /** Its session is not ours to renew or to end; what it claimed here is. */
  isGuest: boolean;
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
  private readonly pulse = new Pulse(() => this.beat());
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
    const agent = this.agentOf(dibs, agentId);
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
      const isOver = asDibsError(error).code === "SESSION_NOT_FOUND" && !agent.isGuest && this.renews;
      if (!isOver || this.closing.signal.aborted) throw error;
      // The machine slept, or somebody ended the session: the agent goes on under its name, without what it held.
      for (const taskId of agent.held.keys()) this.lose(agent, taskId, "SESSION_NOT_FOUND");
      agent.ready = this.register(dibs, agent);
      await agent.ready;
      return await action(dibs);
    } finally {
      agent.lastCallAt = this.now();
    }
  }

  /** Two processes under one name would be handed the same task: the later one has it. */
  private async refuseReplaced(dibs: Dibs, agent: Agent): Promise<void> {
    if (agent.isGuest || (await this.isOurs(dibs, agent))) return;
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

  private agentOf(dibs: Dibs, id: string): Agent {
    const known = this.agents.get(id);
    if (known) return known;
    if (this.agents.size >= agentsMax) {
      throw new DibsError("RATE_LIMITED", `This connection has ${agentsMax} agents already.`);
    }
    const { held } = this.options;
    const agent: Agent = {
      id,
      ready: Promise.resolve(),
      isGuest: false,
      lastCallAt: this.now(),
      held: new Map(
        held?.sessionId === id
          ? [
              [
                held.taskId,
                { epoch: held.epoch, ttlMs: idleBeatMs * 3, renewedAt: this.now(), isGiven: true },
              ],
            ]
          : [],
      ),
      notices: [],
    };
    agent.ready = this.register(dibs, agent);
    this.agents.set(id, agent);
    return agent;
  }

  private async register(dibs: Dibs, agent: Agent): Promise<void> {
    const { process, agentType = "autonomous", capabilities, held } = this.options;
    // Whoever started this process for a task keeps that session alive; registering it here would take it away. Over HTTP another
    // connection may speak for the same agent.
    agent.isGuest = !process || held?.sessionId === agent.id;
    if (!process || agent.isGuest) return;
    await dibs.sessions.register({
      id: agent.id,
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      heartbeats: true,
      ...process,
    });
    // The settings tell how often to beat; the first beat learns them.
    this.pulse.within(0);
  }

  /** The fence for what an agent does with a task. */
  holder(agentId: string, taskId: string): { taskId: string; sessionId: string; epoch?: number } {
    const held = this.agents.get(agentId)?.held.get(taskId);
    return { taskId, sessionId: agentId, ...(held ? { epoch: held.epoch } : {}) };
  }

  hold(agentId: string, { taskId, epoch, ttlMs }: WireClaim): void {
    const { held: given } = this.options;
    // What the runner claimed stays the runner's, also when its agent claims it once more.
    const isGiven = given?.sessionId === agentId && given.taskId === taskId && given.epoch === epoch;
    const held = { epoch, ttlMs, renewedAt: this.now(), ...(isGiven ? { isGiven } : {}) };
    this.agents.get(agentId)?.held.set(taskId, held);
    if (this.renews) this.pulse.within(Math.max(20, ttlMs / 3));
  }

  letGo(agentId: string, taskId: string): void {
    this.agents.get(agentId)?.held.delete(taskId);
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
    const doubtful = [...agent.held].filter(
      ([, { isGiven, renewedAt, ttlMs }]) => !isGiven && this.now() - renewedAt >= ttlMs,
    );
    if (doubtful.length === 0) return;
    const dibs = await this.dibs();
    await Promise.all(doubtful.map(([taskId, { epoch }]) => this.renew(dibs, agent, taskId, epoch)));
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

  /** Sessions are heard of, leases are renewed. What fails is tried again with the next beat. */
  private async beat(): Promise<number> {
    const opening = this.dibs();
    try {
      const dibs = await opening;
      const { project } = await dibs.projects.get({});
      const { heartbeatIntervalMs, orphanThresholdMs, startTimeoutMs, maxTtlMs } = project.settings.claim;
      this.beatMs = Math.min(heartbeatIntervalMs, orphanThresholdMs / 3, startTimeoutMs / 3);
      await Promise.all([...this.agents.values()].map((agent) => this.keepAlive(dibs, agent, maxTtlMs)));
    } catch (error) {
      if (asDibsError(error).code === "STORE_UNAVAILABLE") this.reconnect(opening);
      this.trouble(error);
    }
    const leases = [...this.agents.values()].flatMap(({ held }) => [...held.values()]);
    return Math.max(20, Math.min(this.beatMs, ...leases.map(({ ttlMs }) => ttlMs / 3)));
  }

  private async keepAlive(dibs: Dibs, agent: Agent, maxTtlMs: number): Promise<void> {
    await agent.ready;
    if (!agent.isGuest) {
      if (!(await this.isOurs(dibs, agent))) return;
      await dibs.sessions.heartbeat({ sessionId: agent.id }).catch((error) => this.trouble(error));
    }
    // Of an agent that says nothing for so long, nobody knows whether it still works.
    if (this.now() - agent.lastCallAt > maxTtlMs) return;
    const own = [...agent.held].filter(([, { isGiven }]) => !isGiven);
    await Promise.all(own.map(([taskId, { epoch }]) => this.renew(dibs, agent, taskId, epoch)));
  }

  private async renew(dibs: Dibs, agent: Agent, taskId: string, epoch: number): Promise<void> {
    const held = agent.held.get(taskId);
    const renewedAt = this.now();
    try {
      await dibs.tasks.heartbeat({ taskId, sessionId: agent.id, epoch });
    } catch (error) {
      const { code } = asDibsError(error);
      // The agent may have ended it itself meanwhile, or hold it anew.
      if (lostCodes.has(code) && agent.held.get(taskId)?.epoch === epoch) this.lose(agent, taskId, code);
      // With an open question the lease clock stands still.
      if (code !== "INVALID_STATE") return lostCodes.has(code) ? undefined : this.trouble(error);
    }
    if (held) held.renewedAt = renewedAt;
  }

  private lose(agent: Agent, taskId: string, code: Code): void {
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
    this.pulse.stop();
    await Promise.allSettled(this.under);
    const leaving = [...this.agents.values()].filter(({ id }) => !isElsewhere(id));
    if (!endSessions || leaving.length === 0) return;
    const dibs = await this.store.dibs().catch(() => null);
    if (!dibs) return;
    await Promise.allSettled(leaving.map((agent) => this.goodbye(dibs, agent)));
  }

  private async goodbye(dibs: Dibs, agent: Agent): Promise<void> {
    const { id: sessionId, isGuest, held } = agent;
    if (!isGuest) {
      if (await this.isOurs(dibs, agent)) await dibs.sessions.end({ sessionId });
      return;
    }
    const own = [...held].filter(([, { isGiven }]) => !isGiven);
    if (own.length === 0) return;
    const { inFlight } = await dibs.tasks.inFlight({ sessionId });
    // With everything that its session holds, the session itself can go; unless it is a runner's, or works elsewhere, too.
    if (!this.renews && inFlight.every(({ taskId }) => own.some(([id]) => id === taskId))) {
      await dibs.sessions.end({ sessionId });
      return;
    }
    const reason = "client gone";
    await Promise.allSettled(
      own.map(([taskId, { epoch }]) => dibs.tasks.release({ taskId, sessionId, epoch, reason })),
    );
  }
}
