// Runs a script on the reference model and on another store side by side. The model goes first and chooses each command by what
// it sees; the other then gets the same commands. After every commit the answers must be equal, and from time to time everything.

import type { Changes } from "../../src/core/changes.js";
import type { Command } from "../../src/core/command.js";
import { reservationsOf } from "../../src/core/resource.js";
import type { Reads } from "../../src/core/view.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Clock, Job, JobResult, Store, Transaction } from "../../src/store/store.js";
import { beginning } from "./beginning.js";
import { clockAfter } from "./clock-steps.js";
import type { Coverage } from "./coverage.js";
import { firstDifference, show } from "./difference.js";
import { carry, modelView, type Plan, perform, planOf } from "./jobs.js";
import { type Deed, isStale, Ledger, unequal } from "./ledger.js";
import { snapshot, stateOf } from "./looking.js";
import { claimableBy, misorder } from "./order.js";
import { Picker } from "./picker.js";
import { all } from "./scene.js";
import type { Op, Script, Step } from "./script.js";

const org = "default";
const compareEvery = 6;
/** A job's line in the report is cut here. */
const lineMax = 3000;

/** Thrown by jobs that are to fail. */
class Planned extends Error {}

export class Rig {
  private readonly clock = new TestClock();
  private readonly memory = openMemoryStore(this.clock);
  private other: Store | null = null;
  private second: Store | null = null;
  private readonly ledger = new Ledger();
  private readonly history: Plan[] = [];
  private readonly log: string[] = [];
  private commits = 0;
  private furthest = 0;
  private broken: string | null = null;

  constructor(
    private readonly name: string,
    private readonly openOther: (clock: Clock) => Promise<Store>,
    private readonly coverage: Coverage,
  ) {}

  async run(script: Script): Promise<void> {
    try {
      await this.memory.open(org, "demo");
      this.other = await this.open();
      await this.other.open(org, "demo");
      await this.commitAll(beginning(script.world), false);
      for (const step of script.steps) await this.take(step);
      await this.reopen();
      await this.compare(snapshot);
    } finally {
      await this.second?.close();
      await this.other?.close();
    }
  }

  private open(): Promise<Store> {
    return this.openOther(this.clock);
  }

  private async take(step: Step): Promise<void> {
    switch (step.step) {
      case "commit":
        await this.commit(step.ops, step.fails, step.second);
        if (++this.commits % compareEvery === 0) await this.compare();
        return;
      case "clock": {
        const before = this.clock.now();
        this.furthest = Math.max(this.furthest, before);
        const after = await this.memory.read(org, (view) =>
          clockAfter(new Picker(step.picks), view, before, this.furthest),
        );
        this.clock.set(after);
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
    await this.other!.close();
    this.other = await this.open();
  }

  private say(line: object): void {
    const text = JSON.stringify(line);
    this.log.push(text.length > lineMax ? `${text.slice(0, lineMax)}…` : text);
  }

  private fail(what: string): never {
    const error = new Error(`${what}\n\n${this.log.join("\n")}`);
    error.stack = "";
    throw error;
  }

  private async commitAll(plans: Plan[], second: boolean): Promise<void> {
    await this.runChoices(
      plans.map((plan) => () => plan),
      null,
      second,
    );
  }

  private async commit(ops: Op[], fails: number | null, second: boolean): Promise<void> {
    const choices = ops.map(
      (op) => (transaction: Transaction) =>
        planOf(op, { view: modelView(transaction), now: transaction.now }, this.history),
    );
    await this.runChoices(choices, fails, second);
  }

  private async runChoices(
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
        const notes = { ...(index === fails ? { fails: true } : {}), ...(second ? { second } : {}) };
        this.say({ job: index, ...plan, ...notes });
        return this.performWatched(transaction, plan, index === fails);
      }),
    );
    // What is wrong on the model itself: not to be thrown inside a job, where the store would take it for the job's own.
    if (this.broken) this.fail(this.broken);
    const jobs = plans.map(
      (plan, index): Job<unknown> =>
        (transaction) => {
          const value = perform(transaction, plan);
          if (index === fails) throw new Planned();
          return value;
        },
    );
    const actual = await (second ? this.second! : this.other!).commit(org, jobs).catch((error) => {
      this.fail(`${this.name} could not commit: ${error instanceof Error ? error.stack : error}`);
    });
    this.coverage.commits++;
    this.coverage.jobs += jobs.length;
    for (const [index, result] of expected.entries()) this.compareResults(result, actual[index]!, index);
  }

  private compareResults(expected: JobResult<unknown>, actual: JobResult<unknown>, index: number): void {
    for (const [name, result] of [["memory", expected] as const, [this.name, actual] as const]) {
      if (result.ok || result.error instanceof Planned) continue;
      this.fail(`job ${index} threw in ${name}: ${(result.error as Error)?.stack ?? result.error}`);
    }
    const difference = firstDifference(expected, actual);
    if (!difference) return;
    const both = `memory: ${show(expected)}\n${this.name}: ${show(actual)}`;
    this.fail(`job ${index} was answered differently: ${difference}\n${both}`);
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
    broken.push(...this.ledger.enter(modelView(transaction), deeds, transaction.now));
    if (deeds.length > 0)
      this.say({ answers: deeds.map(({ outcome }) => (outcome.ok ? "ok" : outcome.code)) });
    if (broken.length > 0) this.broken ??= broken.join("\n");
    if (plan.do === "command") this.history.push(plan);
    else this.coverage.add(plan.do, "ok");
    for (const { command, outcome, stale } of deeds) this.coverage.note(command, outcome, stale);
    return value;
  }

  private watch(transaction: Transaction, command: Command): { deed: Deed; problem: string | null } {
    const { now } = transaction;
    const view = modelView(transaction);
    const stale = isStale(view, command, now);
    const attemptsNow = () =>
      "taskId" in command ? view.attempts(command.project, command.taskId, all) : [];
    const claimableNow = () => (command.type === "claim-next" ? claimableBy(view, command, now) : null);
    let attempts = attemptsNow();
    let claimable = claimableNow();
    // A claim that reserves units for a task keeps back what could be claimed before.
    const reservations = JSON.stringify(reservationsOf(view));
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
    const isReserved = reservations !== JSON.stringify(reservationsOf(view));
    const isJudged = command.type === "claim-next" && !isReserved;
    const problem = isJudged ? misorder(view, command, outcome, claimable, now) : null;
    return { deed: { command, outcome, changes: last, stale, attempts }, problem };
  }

  private async compare(look: (view: Reads, now: number) => unknown = stateOf): Promise<void> {
    this.coverage.comparisons++;
    const expected = await this.memory.read(org, look);
    const difference = firstDifference(expected, await this.other!.read(org, look));
    if (difference) this.fail(`the stores differ: ${difference}`);
  }
}
