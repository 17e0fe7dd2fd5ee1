// The suite that every store must pass. A case is a sentence about the product, told with commands and looked at through the
// port; the driver says how to make an empty store. Each case has its own store, and its own clock.

import { expect, test } from "vitest";
import type { Attempt, Claim } from "../../core/claim.js";
import type { Command, NewTask } from "../../core/command.js";
import { carryOut, type ValueOf } from "../../core/decide.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import { explainTask, type Reason } from "../../core/explain.js";
import { brokenInvariants, type Everything, everythingIn } from "../../core/invariants.js";
import type { SettingsPatch } from "../../core/project.js";
import { whoIs } from "../../core/ready.js";
import { assert, type Code, type Outcome, type Refusal } from "../../core/refusal.js";
import type { Session } from "../../core/session.js";
import { stateOf, type Task, type TaskState } from "../../core/task.js";
import type { Reads } from "../../core/view.js";
import type { Store, Transaction } from "../store.js";

export interface Driver {
  name: string;
  /** An empty store that goes by this clock, and what to do with it afterwards. */
  open(clock: TestClock): Promise<Opened>;
}

export interface Opened {
  store: Store;
  /** The same data, in a store opened anew; where anything is left after closing. */
  again?(): Promise<Store>;
  dispose?(): void | Promise<void>;
}

export class TestClock {
  constructor(private time = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.time;
  }

  advance(ms: number): void {
    this.time += ms;
  }

  set(time: number): void {
    this.time = time;
  }
}

export const project = "demo";
export const org = "default";
const everything = 1_000_000;

type Loose<C> = C extends { project: string } ? Omit<C, "project"> & { project?: string } : C;
/** A command; the project is the case's own unless it says otherwise. */
export type Told = { [T in Command["type"]]: Loose<Extract<Command, { type: T }>> }[Command["type"]];

/** A session that holds a task: what every call of a holder carries. */
export interface Hold {
  taskId: string;
  sessionId: string;
  epoch: number;
}

/** One store with its clock, and the words to tell a case. */
export class World {
  constructor(
    public store: Store,
    readonly clock: TestClock,
    private readonly again?: Opened["again"],
  ) {}

  /** Closes the store and opens it again. One that forgets everything then stays open. */
  async reopen(): Promise<void> {
    if (!this.again) return;
    await this.store.close();
    this.store = await this.again();
    await this.store.open(org, project);
  }

  /** Carries out a command, as the operations do; with a token, for its sessions only. */
  async attempt<T extends Told>(told: T, actor = "user:test", token?: string) {
    const command = { project, ...told } as unknown as Extract<Command, { type: T["type"] }>;
    const [result] = await this.store.commit(org, [
      (transaction) => carryOut(transaction, command, actor, token),
    ]);
    if (!result!.ok) throw result!.error;
    return result!.value;
  }

  /** A command that must be accepted. */
  async ok<T extends Told>(told: T, actor?: string, token?: string): Promise<ValueOf<T["type"]>> {
    const outcome = await this.attempt(told, actor, token);
    if (!outcome.ok) throw new Error(`${told.type} was refused: ${outcome.code} ${outcome.message}`);
    return outcome.value as ValueOf<T["type"]>;
  }

  /** A command that must be refused, with this code. */
  async refused<T extends Told>(code: Code, told: T, token?: string): Promise<Refusal> {
    const outcome = await this.attempt(told, undefined, token);
    if (outcome.ok) throw new Error(`${told.type} was accepted, expected ${code}`);
    expect(outcome.code).toBe(code);
    return outcome;
  }

  /** Commands in one commit, each in a job of its own. */
  async together(commands: Told[]): Promise<Outcome<unknown>[]> {
    const jobs = commands.map((told) => {
      const command = { project, ...told } as unknown as Command;
      return (transaction: Transaction) => carryOut(transaction, command, "user:test") as Outcome<unknown>;
    });
    return (await this.store.commit(org, jobs)).map((result) => {
      if (!result.ok) throw result.error;
      return result.value;
    });
  }

  async read<T>(look: (view: Reads, now: number) => T): Promise<T> {
    return this.store.read(org, look);
  }

  /** Creates one task and returns its id. */
  async task(input: Partial<Extract<Told, { type: "create" }>["tasks"][number]> = {}): Promise<string> {
    const { ids } = await this.ok({
      type: "create",
      correlationId: "corr-test",
      tasks: [{ prompt: "do it", ...input }],
    });
    return ids[0]!;
  }

  async session(id: string, more: Record<string, unknown> = {}): Promise<string> {
    await this.ok({ type: "register-session", session: { id, ...more } });
    return id;
  }

  /** Claims a task for a session (registered if need be) and returns the epoch. */
  async claim(taskId: string, sessionId: string, more: Record<string, unknown> = {}): Promise<number> {
    await this.ok({ type: "claim", taskId, sessionId, register: {}, ...more });
    return this.read((view) => view.claim(project, taskId)!.epoch);
  }

  /** A fresh task, claimed by the session. */
  async hold(sessionId: string, input: Partial<NewTask> = {}, more: object = {}): Promise<Hold> {
    const taskId = await this.task(input);
    return { taskId, sessionId, epoch: await this.claim(taskId, sessionId, { ...more }) };
  }

  /** The id of what claim-next hands to the session (registered if need be), or null. */
  async next(sessionId: string, more: object = {}): Promise<string | null> {
    const { taskId } = await this.ok({ type: "claim-next", sessionId, register: {}, ...more });
    return taskId;
  }

  async complete(hold: Hold) {
    return this.ok({ type: "complete", ...hold, result: resultOf("done") });
  }

  /** Claims and completes a task. */
  async finish(taskId: string, sessionId = "worker") {
    return this.complete({ taskId, sessionId, epoch: await this.claim(taskId, sessionId) });
  }

  async settings(settings: SettingsPatch): Promise<void> {
    await this.ok({ type: "update-project", settings });
  }

  async sweep() {
    return this.ok({ type: "sweep", limit: 1000 });
  }

  async claimOf(taskId: string): Promise<Claim> {
    const claim = await this.read((view) => view.claim(project, taskId));
    assert(claim, `task ${taskId} is held`);
    return claim;
  }

  async attemptOf({ taskId, epoch }: { taskId: string; epoch: number }): Promise<Attempt> {
    const attempt = await this.read((view) => view.attempt(project, taskId, epoch));
    assert(attempt, `attempt ${epoch} of task ${taskId} exists`);
    return attempt;
  }

  async sessionOf(id: string): Promise<Session> {
    const session = await this.read((view) => view.session(project, id));
    assert(session, `session ${id} exists`);
    return session;
  }

  async explain(taskId: string, sessionId?: string): Promise<Reason[]> {
    return this.read((view, now) => {
      const task = view.task(project, taskId);
      assert(task, `task ${taskId} exists`);
      const session = sessionId === undefined ? undefined : view.session(project, sessionId);
      return explainTask(view, task, session ? whoIs(session) : null, now);
    });
  }

  async whyNot(taskId: string, sessionId?: string): Promise<string[]> {
    return (await this.explain(taskId, sessionId)).map((reason) => reason.code);
  }

  async notifications(): Promise<Notification[]> {
    return this.read((view) => view.notifications({ project: null, unread: false, limit: everything }));
  }

  async look(taskId: string): Promise<Task & { now: TaskState }> {
    return this.read((view) => {
      const task = view.task(project, taskId);
      assert(task, `task ${taskId} exists`);
      return { ...task, now: stateOf(task, view.claim(project, taskId)) };
    });
  }

  async stateOf(taskId: string): Promise<TaskState> {
    return (await this.look(taskId)).now;
  }

  async events(after = 0): Promise<DibsEvent[]> {
    return this.read((view) => view.events({ after, limit: everything }));
  }

  async eventTypes(taskId: string): Promise<string[]> {
    return (await this.events()).filter((event) => event.taskId === taskId).map((event) => event.type);
  }

  /** Everything there is, for the invariants. */
  async everything(): Promise<Everything> {
    return this.read(everythingIn);
  }

  /** The command must leave everything as it is. */
  async unchanged(tell: () => Promise<unknown>): Promise<void> {
    const before = await this.everything();
    await tell();
    expect(await this.everything()).toEqual(before);
  }

  async checkInvariants(): Promise<void> {
    expect(brokenInvariants(await this.everything())).toEqual([]);
  }
}

/** Runs one case on a fresh store, checks the invariants after it, and cleans up. */
export function told(driver: Driver, story: (world: World) => Promise<void>): () => Promise<void> {
  return async () => {
    const clock = new TestClock();
    const { store, again, dispose } = await driver.open(clock);
    const world = new World(store, clock, again);
    try {
      await store.open(org, project);
      await story(world);
      await world.checkInvariants();
    } finally {
      await world.store.close();
      await dispose?.();
    }
  };
}

/** `it` for one driver: a sentence and its story. */
export function teller(driver: Driver) {
  return (sentence: string, story: (world: World) => Promise<void>) => test(sentence, told(driver, story));
}

export function resultOf(output: string) {
  return { output, filesCreated: [], filesModified: [] };
}

/** Every move of a holder, as it is mostly told. */
export const holderMoves = {
  start: { type: "start" },
  heartbeat: { type: "heartbeat" },
  progress: { type: "progress", note: "half way" },
  ask: { type: "ask", question: "Which one?" },
  complete: { type: "complete", result: resultOf("done") },
  fail: { type: "fail", error: "it broke", spread: 0 },
  release: { type: "release", spread: 0 },
} as const;

export type HolderMove = keyof typeof holderMoves;
export const holderMoveNames = Object.keys(holderMoves) as HolderMove[];

export const minute = 60_000;
