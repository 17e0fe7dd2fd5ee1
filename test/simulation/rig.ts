// Runs a script on the reference model and on SQLite side by side. The model goes first and chooses each command by what it
// sees; SQLite then gets the same commands. After every commit the answers must be equal, and from time to time everything.

import { join } from "node:path";
import type { Changes } from "../../src/core/changes.js";
import type { Command } from "../../src/core/command.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { Job, JobResult, Store, Transaction } from "../../src/store/store.js";
import { clockAfter } from "./clock-steps.js";
import type { Coverage } from "./coverage.js";
import { firstDifference } from "./difference.js";
import { carry, type Plan, perform, planOf } from "./jobs.js";
import { type Deed, isSilent, isStale, Ledger } from "./ledger.js";
import { snapshot } from "./looking.js";
import { claimableBy, misorder } from "./order.js";
import { Picker } from "./picker.js";
import { all } from "./scene.js";
import type { Op, Script, Step } from "./script.js";
import { projectSettings } from "./settings.js";

const org = "default";
const compareEvery = 6;

/** Thrown by jobs that are to fail. */
class Planned extends Error {}

export class Rig {
  private readonly clock = new TestClock();
  private readonly memory = openMemoryStore(this.clock);
  private sqlite: Store | null = null;
  private second: Store | null = null;
  private readonly ledger = new Ledger();
  private readonly history: Plan[] = [];
  private readonly log: string[] = [];
  private commits = 0;
  private steppedBack = false;

  constructor(
    private readonly directory: string,
    private readonly coverage: Coverage,
  ) {}

  async run(script: Script): Promise<void> {
    try {
      await this.memory.open(org, "demo");
      this.sqlite = await this.open();
      await this.sqlite.open(org, "demo");
      await this.commitAll(beginning(script.world), false);
      for (const step of script.steps) await this.take(step);
      await this.compare();
      await this.reopen();
      await this.compare();
    } finally {
      await this.second?.close();
      await this.sqlite?.close();
    }
  }

  private open(): Promise<Store> {
    return openSqliteStore(join(this.directory, "dibs.db"), this.clock);
  }

  private async take(step: Step): Promise<void> {
    switch (step.step) {
      case "commit":
        await this.commit(step.ops, step.fails, step.second);
        if (++this.commits % compareEvery === 0) await this.compare();
        return;
      case "clock": {
        const before = this.clock.now();
        const after = await this.memory.read(org, (view) => clockAfter(new Picker(step.picks), view, before));
        this.clock.set(after);
        if (before - after > 60_000) this.steppedBack = true;
        this.say({ clock: after - before, now: after });
        return;
      }
      case "reopen":
        return this.reopen();
      case "compare":
        return this.compare();
    }
  }

  private async reopen(): Promise<void> {
    this.say({ reopen: true });
    await this.sqlite!.close();
    this.sqlite = await this.open();
  }

  private say(line: object): void {
    this.log.push(JSON.stringify(line));
  }

  private fail(what: string): never {
    const error = new Error(`${what}\n\n${this.log.join("\n")}`);
    error.stack = "";
    throw error;
  }

  private async commitAll(plans: Plan[], second: boolean): Promise<void> {
    await this.run2(
      plans.map((plan) => () => plan),
      null,
      second,
    );
  }

  private async commit(ops: Op[], fails: number | null, second: boolean): Promise<void> {
    const choices = ops.map((op) => (transaction: Transaction) => planOf(op, transaction, this.history));
    await this.run2(choices, fails, second);
  }

  private async run2(
    choices: ((transaction: Transaction) => Plan)[],
    fails: number | null,
    second: boolean,
  ): Promise<void> {
    if (second) this.second ??= await this.open();
    const plans: Plan[] = [];
    const expected = await this.memory.commit(
      org,
      choices.map((choose, index) => (transaction) => {
        const plan = choose(transaction);
        plans.push(plan);
        this.say({
          job: index,
          ...plan,
          ...(index === fails ? { fails: true } : {}),
          ...(second ? { second } : {}),
        });
        return this.performWatched(transaction, plan, index === fails);
      }),
    );
    const jobs = plans.map(
      (plan, index): Job<unknown> =>
        (transaction) => {
          const value = perform(transaction, plan);
          if (index === fails) throw new Planned();
          return value;
        },
    );
    const actual = await (second ? this.second! : this.sqlite!).commit(org, jobs).catch((error) => {
      this.fail(`sqlite could not commit: ${error instanceof Error ? error.stack : error}`);
    });
    this.coverage.commits++;
    this.coverage.jobs += jobs.length;
    for (const [index, result] of expected.entries()) this.compareResults(result, actual[index]!, index);
  }

  private compareResults(expected: JobResult<unknown>, actual: JobResult<unknown>, index: number): void {
    for (const [name, result] of [["memory", expected] as const, ["sqlite", actual] as const]) {
      if (result.ok || result.error instanceof Planned) continue;
      this.fail(`job ${index} threw in ${name}: ${(result.error as Error)?.stack ?? result.error}`);
    }
    const difference = firstDifference(expected, actual);
    if (difference) this.fail(`job ${index} was answered differently: ${difference}`);
  }

  /** Carries out a plan on the model with the ledger looking on. */
  private performWatched(transaction: Transaction, plan: Plan, fails: boolean): unknown {
    const deeds: Deed[] = [];
    const broken: string[] = [];
    const value = perform(transaction, plan, (open, command) => {
      const { deed, problem } = this.watch(open, command);
      deeds.push(deed);
      if (problem) broken.push(problem);
      return deed.outcome;
    });
    const [first, again] = deeds;
    if (plan.do === "command" && plan.twice && first?.outcome.ok && again)
      broken.push(...unequal(first, again));
    if (fails) throw new Planned();
    broken.push(...this.ledger.enter(transaction.view, deeds));
    if (broken.length > 0) this.fail(broken.join("\n"));
    if (plan.do === "command") this.history.push(plan);
    for (const { command, outcome, stale } of deeds) this.coverage.note(command, outcome, stale);
    return value;
  }

  private watch(transaction: Transaction, command: Command): { deed: Deed; problem: string | null } {
    const { view, now } = transaction;
    const stale = isStale(view, command, now);
    const attemptsNow = () =>
      "taskId" in command ? view.attempts(command.project, command.taskId, all) : [];
    const claimableNow = () => (command.type === "claim-next" ? claimableBy(view, command, now) : null);
    let attempts = attemptsNow();
    let claimable = claimableNow();
    let last: Changes | null = null;
    const apply = (changes: Changes) => {
      // The one before was the settling: the command itself was decided after it.
      if (last) {
        attempts = attemptsNow();
        claimable = claimableNow();
      }
      last = changes;
      transaction.apply(changes);
    };
    const outcome = carry({ view, now, apply }, command);
    const problem =
      command.type === "claim-next" && !this.steppedBack ? misorder(view, command, outcome, claimable) : null;
    return { deed: { command, outcome, changes: last, stale, attempts }, problem };
  }

  private async compare(): Promise<void> {
    this.coverage.comparisons++;
    const expected = await this.memory.read(org, snapshot);
    for (const store of [this.sqlite, this.second]) {
      if (!store) continue;
      const difference = firstDifference(expected, await store.read(org, snapshot));
      if (difference) this.fail(`the stores differ: ${difference}`);
    }
  }
}

/** The second of two equal calls must answer alike and change nothing. */
function unequal(first: Deed, again: Deed): string[] {
  const { command } = first;
  if (command.type === "release" && command.force) return [];
  const broken: string[] = [];
  const difference = firstDifference(first.outcome, again.outcome);
  if (difference) broken.push(`I13: ${command.type} repeated answers otherwise: ${difference}`);
  const silent = isSilent(again.changes, again.attempts);
  if (silent) broken.push(`I13: ${command.type} repeated ${silent}`);
  return broken;
}

/** Two projects and some sessions. */
function beginning(numbers: number[]): Plan[] {
  const pick = new Picker(numbers);
  const commands: Command[] = [
    { type: "create-project", id: "side", settings: { order: pick.of(["depth-first", "priority"]) } },
    { type: "update-project", project: "demo", settings: pick.chance(70) ? projectSettings(pick) : {} },
    { type: "register-session", project: "demo", session: { id: "s1" } },
    { type: "register-session", project: "demo", session: { id: "s2", heartbeats: true, capacity: 2 } },
    { type: "register-session", project: "side", session: { id: "s1", capabilities: ["gpu"] } },
  ];
  return commands.map((command) => ({ do: "command", command }));
}
