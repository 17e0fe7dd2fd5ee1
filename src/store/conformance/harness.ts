// The suite that every store must pass. A case is a sentence about the product, told with commands and looked at through the
// port; the driver says how to make an empty store. Each case has its own store, and its own clock.

import { expect } from "vitest";
import type { Command } from "../../core/command.js";
import { carryOut, type ValueOf } from "../../core/decide.js";
import type { DibsEvent } from "../../core/event.js";
import { brokenInvariants, type Everything } from "../../core/invariants.js";
import { assert, type Code, type Refusal } from "../../core/refusal.js";
import { stateOf, type Task, type TaskState } from "../../core/task.js";
import type { Reads } from "../../core/view.js";
import type { Store } from "../store.js";

export interface Driver {
  name: string;
  /** An empty store that goes by this clock, and what to do with it afterwards. */
  open(clock: TestClock): Promise<{ store: Store; dispose?(): void }>;
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

/** One store with its clock, and the words to tell a case. */
export class World {
  constructor(
    readonly store: Store,
    readonly clock: TestClock,
  ) {}

  /** Carries out a command, as the operations do. */
  async attempt<T extends Told>(told: T, actor = "user:test") {
    const command = { project, ...told } as unknown as Extract<Command, { type: T["type"] }>;
    const [result] = await this.store.commit(org, [(transaction) => carryOut(transaction, command, actor)]);
    if (!result!.ok) throw result!.error;
    return result!.value;
  }

  /** A command that must be accepted. */
  async ok<T extends Told>(told: T, actor?: string): Promise<ValueOf<T["type"]>> {
    const outcome = await this.attempt(told, actor);
    if (!outcome.ok) throw new Error(`${told.type} was refused: ${outcome.code} ${outcome.message}`);
    return outcome.value as ValueOf<T["type"]>;
  }

  /** A command that must be refused, with this code. */
  async refused<T extends Told>(code: Code, told: T): Promise<Refusal> {
    const outcome = await this.attempt(told);
    if (outcome.ok) throw new Error(`${told.type} was accepted, expected ${code}`);
    expect(outcome.code).toBe(code);
    return outcome;
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
    return this.read((view) => {
      const tasks = view.tasks({ project: null, afterOrdinal: 0, limit: everything });
      return {
        org: view.org(),
        tasks,
        claims: view.openClaims({ project: null, limit: everything }),
        attempts: tasks.flatMap((task) => view.attempts(task.project, task.id, everything)),
        events: view.events({ after: 0, limit: everything }),
      };
    });
  }

  async checkInvariants(): Promise<void> {
    expect(brokenInvariants(await this.everything())).toEqual([]);
  }
}

/** Runs one case on a fresh store, checks the invariants after it, and cleans up. */
export function told(driver: Driver, story: (world: World) => Promise<void>): () => Promise<void> {
  return async () => {
    const clock = new TestClock();
    const { store, dispose } = await driver.open(clock);
    try {
      await store.open(org, project);
      const world = new World(store, clock);
      await story(world);
      await world.checkInvariants();
    } finally {
      await store.close();
      dispose?.();
    }
  };
}
