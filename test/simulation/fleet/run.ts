// Carries out a schedule in a world of its own, and says what no correct fleet does.

import { createHash } from "node:crypto";
import { connectDibs } from "../../../src/client/connect.js";
import type { OperationName } from "../../../src/contract/registry.js";
import type { DibsEvent } from "../../../src/core/event.js";
import { brokenInvariants, type Everything, everythingIn } from "../../../src/core/invariants.js";
import { dispatch } from "../../../src/operations/dispatch.js";
import type { Executor } from "../../../src/operations/execute.js";
import { openMemoryStore } from "../../../src/store/memory/store.js";
import type { Store } from "../../../src/store/store.js";
import { type History, impossible, type Stream } from "../../proof/history.js";
import { Lander, target } from "./lander.js";
import { brokenLandings, type LandedTask } from "./landings.js";
import { Network } from "./network.js";
import { act, careless, lead, type Part, read, work } from "./people.js";
import { Repository } from "./repository.js";
import type { Decision, Role, Schedule, TaskPlan } from "./schedule.js";
import { executorOn, org, type Plant, project, Server } from "./server.js";
import { Process, startOfTime, World } from "./world.js";

export interface Plants {
  server?: Plant;
  lander?: "ignores its lease";
}

export interface Outcome {
  /** Each as a sentence. */
  broken: string[];
  /** The same for the same schedule. */
  digest: string;
  figures: Record<string, number>;
}

/** After the last fault, everything ends within this time. */
const patienceMs = 3 * 60_000;

export async function runSchedule(schedule: Schedule, plants: Plants = {}): Promise<Outcome> {
  const fleet = new Fleet(schedule, plants);
  return fleet.run();
}

const isA =
  <W extends Decision["what"]>(what: W) =>
  (decision: Decision): decision is Extract<Decision, { what: W }> =>
    decision.what === what;

/** The lease was over, and what its holder reported was accepted. */
const lateEnds = ({ attempts }: Everything) =>
  attempts
    .filter(({ end, releasedAt, expiresAt }) => /^(complete|submit)$/.test(end) && releasedAt >= expiresAt)
    .map(({ taskId, epoch }) => `I3: attempt ${epoch} of ${taskId} was completed after its lease`);

class Fleet {
  private readonly world: World;
  private readonly store: Store;
  private readonly repository: Repository;
  private readonly processes = new Map<string, { process: Process; start: () => void }>();
  private readonly servers: Server[] = [];
  private readonly streams: Stream[] = [];
  private readonly network: Network;
  private readonly plans: ReadonlyMap<string, TaskPlan>;
  private readonly land: Extract<Decision, { what: "land" }> | undefined;
  private readonly defects: string[] = [];
  /** When each event was committed. */
  private readonly log: { event: DibsEvent; tick: number }[] = [];
  private readonly examiner: Process;
  private readonly executor: Executor;
  private isDone = false;

  constructor(
    private readonly schedule: Schedule,
    private readonly plants: Plants,
  ) {
    const { number, decisions } = schedule;
    this.world = new World(number);
    this.store = openMemoryStore({ now: () => startOfTime + this.world.now });
    this.repository = new Repository(this.world);
    this.network = new Network(this.world, this.servers);
    this.plans = new Map(decisions.filter(isA("task")).map((plan) => [plan.id, plan]));
    this.land = decisions.find(isA("land"));
    this.examiner = new Process("examiner", number);
    this.executor = executorOn(this.store, "examiner");
  }

  async run(): Promise<Outcome> {
    const { world, store } = this;
    await store.open(org, project);
    store.onChange(org, () => void this.note());
    world.after(this.examiner, 0, () => void this.begin().catch(this.onDefect));
    const limitMs = this.faultsEnd + patienceMs + 60_000;
    await world.run(() => this.isDone || this.defects.length > 0 || world.now > limitMs);
    return this.outcome();
  }

  private readonly onDefect = (error: unknown): void => {
    this.defects.push(`a process failed: ${(error as Error)?.stack ?? error}`);
  };

  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own answer.
  private call(name: OperationName, input: object): Promise<any> {
    return dispatch(this.executor, name, input, { org, project, actor: "user:fleet", role: "admin" });
  }

  private async note(): Promise<void> {
    const { length } = this.log;
    const events = await this.store.read(org, (view) => view.events({ after: length, limit: 1_000 }));
    const tick = this.world.tick();
    // Another look can have been quicker.
    for (const event of events) if (event.seq === this.log.length + 1) this.log.push({ event, tick });
  }

  private async begin(): Promise<void> {
    const { world, schedule, land } = this;
    const claim = { minTtlMs: 1_000, defaultTtlMs: 4_000, startTimeoutMs: 4_000, orphanThresholdMs: 5_000 };
    const beats = { heartbeatIntervalMs: 2_000, cleanupIntervalMs: 5_000 };
    const retry = { delayMs: 500, maxDelayMs: 2_000 };
    const landing = land && { target, review: land.review, reviewPaths: [], returnsMax: 3 };
    await this.call("projects.update", {
      id: project,
      settings: {
        claim: { ...claim, ...beats },
        retry,
        maxRetries: 2,
        ...(landing ? { land: landing } : {}),
      },
    });
    await this.call("resources.set", { id: "db", capacity: 1 });
    for (const { role, name } of schedule.decisions.filter(isA("join"))) this.join(role, name);
    this.join("leader", "leader");
    for (const decision of schedule.decisions) this.plan(decision);
    for (;;) {
      await world.pause(500);
      if (world.now > this.faultsEnd && (await this.isSettled())) break;
      if (world.now > this.faultsEnd + patienceMs) return;
    }
    this.isDone = true;
  }

  private join(role: Role | "leader", name: string): void {
    const { world } = this;
    const process = new Process(name, this.schedule.number);
    if (role === "server") {
      const plant = this.plants.server ?? ((request) => request);
      const server = new Server(world, process, this.store, (what) => this.defects.push(what), plant);
      this.servers.push(server);
      this.processes.set(name, { process, start: () => server.start() });
      return;
    }
    const start = () => {
      process.isDown = false;
      world.after(
        process,
        process.random.below(500),
        () => void this.live(role, process).catch(this.onDefect),
      );
    };
    this.processes.set(name, { process, start });
    start();
  }

  private part(process: Process): Part {
    const { world, repository, plans, land } = this;
    const dibs = connectDibs({
      url: "http://fleet",
      project,
      fetch: this.network.fetchFor(process),
      timeoutMs: 1_500,
      retry: { tries: 4, baseMs: 150 },
      silenceMs: 12_000,
    });
    return { world, process, dibs, repository, plans, lands: land !== undefined };
  }

  private live(role: Exclude<Role, "server"> | "leader", process: Process): Promise<unknown> {
    const part = this.part(process);
    if (role === "worker") return work(part);
    if (role === "careless") return careless(part);
    if (role === "reader") return read(part, this.streams);
    if (role === "leader") return lead(part);
    const git = new Process(`git of ${process.name} ${process.incarnation}`, this.schedule.number);
    const ignoresLease = this.plants.lander === "ignores its lease";
    return new Lander({ ...part, git, ignoresLease }).run();
  }

  private get faultsEnd(): number {
    const ends = this.schedule.decisions.map((each) =>
      "until" in each ? each.until : "from" in each ? each.from : 0,
    );
    return Math.max(0, ...ends);
  }

  private plan(decision: Decision): void {
    const { world, examiner, network } = this;
    if (decision.what === "cut") network.cuts.push(decision);
    if (decision.what === "weather") network.weathers.push(decision);
    if (decision.what === "act") {
      const person = new Process(`person at ${decision.from}`, this.schedule.number);
      const { act: what, taskId, from } = decision;
      world.after(person, from, () => void act(this.part(person), what, taskId).catch(this.onDefect));
    }
    if (decision.what !== "stop" && decision.what !== "kill") return;
    const { name, from, until, what } = decision;
    const found = this.processes.get(name);
    if (!found) return;
    const { process, start } = found;
    if (what === "stop") {
      world.after(examiner, from, () => world.stop(process, until));
      return;
    }
    world.after(examiner, from, () => {
      if (process.isDown) return;
      this.kill(process);
      world.after(examiner, until - world.now, start);
    });
  }

  private kill(process: Process): void {
    this.world.kill(process);
    this.network.disconnect(process);
    const server = this.servers.find((each) => each.process === process);
    // Most clients learn at once that it is gone; to the others it is silent.
    for (const reset of server?.exchanges ?? []) if (process.random.chance(70)) reset();
  }

  private async isSettled(): Promise<boolean> {
    const tasks = await this.tasks();
    if (tasks.length < this.plans.size) return false;
    const byId = new Map(tasks.map((task) => [task.id, task]));
    /** It waits for a task that a person has cancelled. */
    const isStuck = (id: string): boolean => {
      const { state, dependsOn } = byId.get(id)!;
      return state === "cancelled" || (state === "queued" && dependsOn.some(isStuck));
    };
    const last = new Map(this.streams.map((stream) => [stream.reader, stream]));
    const isRead = [...last.values()].every(
      ({ after, events }) => (events.at(-1)?.seq ?? after) === this.log.length,
    );
    return isRead && tasks.every(({ id, state }) => state === "completed" || isStuck(id));
  }

  private async tasks(): Promise<LandedTask[]> {
    return (await this.call("tasks.list", { limit: 1_000 })).tasks;
  }

  private async outcome(): Promise<Outcome> {
    const broken = [...this.defects];
    const { tasks, resources = [], reasons } = await this.atEnd();
    const log = this.log.map(({ event, tick }) => ({ ...event, committedAt: tick }));
    const history: History = {
      calls: this.network.calls,
      log,
      streams: this.streams,
      tasks,
      resources,
    };
    broken.push(...impossible(history));
    const everything = await this.store.read(org, everythingIn);
    broken.push(...brokenInvariants(everything), ...lateEnds(everything));
    broken.push(...brokenLandings(this.repository, this.log, tasks));
    if (!this.isDone && this.defects.length === 0) {
      for (const { id, state } of tasks)
        if (!["completed", "cancelled"].includes(state))
          broken.push(`${id} is ${state} long after the last fault: ${reasons.get(id)}`);
      if (broken.length === 0)
        broken.push("the readers have not received all events long after the last fault");
    }
    const text = JSON.stringify([history, this.repository.moves, this.world.now]);
    const digest = createHash("sha256").update(text).digest("hex");
    return { broken: [...new Set(broken)], digest, figures: this.figures(log.length) };
  }

  private figures(events: number): Record<string, number> {
    const { calls, lost, repeated } = this.network;
    const { decisions } = this.schedule;
    const faults = ["kill", "stop", "cut", "weather"];
    return {
      kills: decisions.filter(isA("kill")).length,
      stops: decisions.filter(isA("stop")).length,
      faults: decisions.filter(({ what }) => faults.includes(what)).length,
      "lost messages": lost,
      "repeated requests": repeated,
      calls: calls.length,
      refused: calls.filter(({ refusal }) => refusal !== undefined).length,
      unknown: calls.filter(({ end }) => end === undefined).length,
      events,
      landings: this.repository.moves.length,
      "simulated seconds": Math.round(this.world.now / 1_000),
    };
  }

  private async atEnd() {
    const { world, examiner } = this;
    const reasons = new Map<string, string>();
    let found: Pick<History, "tasks" | "resources"> | undefined;
    examiner.incarnation++;
    world.after(examiner, 0, async () => {
      const tasks = await this.tasks();
      const { resources } = await this.call("resources.list", {});
      for (const { id } of tasks) {
        const explained = await this.call("tasks.explain", { taskId: id });
        reasons.set(id, explained.reasons.map((each: { message: string }) => each.message).join(" "));
      }
      found = { tasks, resources };
    });
    await world.run(() => found !== undefined);
    await this.note();
    return { ...found!, reasons };
  }
}
