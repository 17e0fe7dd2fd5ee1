// load-plan: creates what is new in a plan, updates what an earlier load created and nobody has begun, lists what is gone, and
// leaves the rest alone. One transaction, so that two people who load the same plan at once create it once.

import type { LoadPlanCommand, NewTask, PlanTask } from "../command.js";
import type { Draft } from "../draft.js";
import { limits } from "../limits.js";
import { type PlanChange, type PlanDifference, type PlanEntry, planDocument, planEntries } from "../plan.js";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.js";
import { isTerminal, stateOf, type Task, type TaskState } from "../task.js";
import { Batch, titleOf } from "./batch.js";
import { inputRefusal, putAll } from "./create.js";
import { at } from "./invalid.js";
import { type Comparison, compare, printsOf, type Said, saidBy } from "./plan-fields.js";
import { prune } from "./prune.js";
import { applyPatch } from "./update.js";

export interface Loaded {
  /** Of every item, in the order of the input; null: it has no task, or a dry run would create one. */
  ids: (string | null)[];
  plan: PlanDifference;
}

/** An item of the plan, and the task that an earlier load created for it. */
interface Item {
  input: PlanTask;
  index: number;
  identity: string;
  entry: PlanEntry | undefined;
  task: Task | undefined;
  /** Null: there is none, or it was archived. */
  state: TaskState | null;
  /** It gets a task by this load. */
  isFresh: boolean;
}

/** An item whose plan says something else than before, of a task that can be edited. */
interface Edit {
  item: Item;
  comparison: Comparison;
  dependsOn: string[] | undefined;
}

type Noted = Pick<PlanChange, "change" | "taskId" | "title" | "state">;

export function loadPlan(draft: Draft, command: LoadPlanCommand): Outcome<Loaded> {
  const load = new Load(draft, command);
  const refusal = inputRefusal(draft, command) ?? load.read() ?? load.decide();
  if (refusal) return refusal;
  load.apply();
  return load.notAllowed() ?? load.keepRecord() ?? accept(load.result());
}

class Load {
  private readonly items: Item[] = [];
  private readonly byName = new Map<string, Item>();
  private readonly byTitle = new Map<string, Item>();
  private readonly before: readonly PlanEntry[] | undefined;
  private readonly record = new Map<string, PlanEntry>();
  /** With their places in the plan. */
  private readonly changes: { index: number; change: PlanChange }[] = [];
  private readonly edits: Edit[] = [];
  private unchanged = 0;
  private batch: Batch;

  constructor(
    private readonly draft: Draft,
    private readonly command: LoadPlanCommand,
  ) {
    this.batch = new Batch(draft, command);
    this.before = planEntries(draft, command.project, command.plan);
    for (const entry of this.before ?? []) this.record.set(entry.identity, entry);
  }

  /** Finds the task of every item. */
  read(): Refusal | null {
    const seen = new Map<string, number>();
    for (const [index, input] of this.command.tasks.entries()) {
      const identity = input.identity ?? input.id ?? input.key ?? titleOf(input);
      if (seen.has(identity)) {
        const other = (seen.get(identity) ?? 0) + 1;
        const message = `Tasks ${other} and ${index + 1} of this plan are both '${identity}'; give each its own key.`;
        return at(index, "identity", message);
      }
      seen.set(identity, index);
      const entry = this.record.get(identity);
      const task = entry && this.draft.task(this.command.project, entry.taskId);
      const state = task ? this.stateOf(task) : null;
      const item = { input, index, identity, entry, task, state, isFresh: !entry && !input.done };
      this.items.push(item);
      for (const name of [input.key, input.id]) if (name !== undefined) this.byName.set(name, item);
      this.byTitle.set(titleOf(input), item);
    }
    return null;
  }

  private stateOf(task: Task): TaskState {
    return stateOf(task, this.draft.claim(task.project, task.id));
  }

  private named(reference: string | undefined): Item | undefined {
    return reference === undefined ? undefined : this.byName.get(reference);
  }

  /** What a dependency names: a title will do. */
  private meant(reference: string): Item | undefined {
    return this.byName.get(reference) ?? this.byTitle.get(reference);
  }

  /** New tasks get their places, and edited ones their dependencies; nothing is put yet. */
  decide(): Refusal | null {
    const parents = new Map<Item, string | undefined>();
    // Parents that are created again are added on the way.
    const fresh = this.items.filter(({ isFresh }) => isFresh);
    for (const item of fresh) parents.set(item, this.openParent(item, fresh));
    fresh.sort((a, b) => a.index - b.index);
    const tasks = fresh.map((item) => newTask(item.input, parents.get(item)));
    const indexes = fresh.map(({ index }) => index);
    this.batch = new Batch(this.draft, { project: this.command.project, tasks }, this.existing(), indexes);
    return this.batch.place() ?? this.batch.connect() ?? this.compareAll() ?? this.findCycle();
  }

  /**
   * A new subtask of a task that ended: a group is created again; else the subtask belongs to what is above. So it does if
   * the task is held: with a new subtask, the work under way could not be completed.
   */
  private openParent(item: Item, fresh: Item[]): string | undefined {
    let reference = item.input.parentId;
    for (let levels = 0; levels <= limits.depthMax; levels++) {
      const parent = this.named(reference);
      if (!parent || parent.isFresh || parent.state === "queued") break;
      if (parent.input.type === "group" && !parent.input.done) {
        parent.isFresh = true;
        fresh.push(parent);
        break;
      }
      reference = parent.input.parentId;
    }
    return reference;
  }

  /** Names of items that have a task, or need none. Keys count before titles. */
  private existing(): Map<string, string | null> {
    const names = new Map<string, string | null>();
    const kept = this.items.filter(({ isFresh }) => !isFresh);
    for (const { input, task } of kept) names.set(titleOf(input), task?.id ?? null);
    for (const { input, task } of kept)
      for (const name of [input.id, input.key]) if (name !== undefined) names.set(name, task?.id ?? null);
    return names;
  }

  private compareAll(): Refusal | null {
    for (const item of this.items) {
      const refusal = item.isFresh ? null : this.compareOne(item);
      if (refusal) return refusal;
    }
    return null;
  }

  private compareOne(item: Item): Refusal | null {
    const { input, entry, task, state } = item;
    if (!entry) return null;
    const isOver = state === null || isTerminal(state);
    if (input.done) {
      if (isOver) this.unchanged++;
      else this.note("checked", item);
      return null;
    }
    const waitsForNew = (input.dependsOn ?? []).some((name) => this.meant(name)?.isFresh);
    const comparison = compare(entry.said, this.saidBy(item), waitsForNew);
    const { fields, fixed } = comparison;
    if (fields.length + fixed.length === 0) this.unchanged++;
    else if (!task || state !== "queued") this.note("untouched", item, { notApplied: [...fields, ...fixed] });
    else {
      const dependsOn = fields.includes("dependsOn")
        ? this.batch.resolveAll(input.dependsOn ?? [], item.index)
        : undefined;
      if (dependsOn && !Array.isArray(dependsOn)) return dependsOn;
      this.edits.push({ item, comparison, dependsOn });
    }
    return null;
  }

  private saidBy({ input }: Item): Said {
    const identityOf = (reference: string) => this.meant(reference)?.identity ?? reference;
    return saidBy(input, identityOf);
  }

  private findCycle(): Refusal | null {
    const edited = this.edits.flatMap(({ item, dependsOn }) =>
      dependsOn ? [[item.task!.id, dependsOn] as const] : [],
    );
    return this.batch.findCycle(new Map(edited));
  }

  apply(): void {
    putAll(this.draft, this.batch, this.command);
    for (const [place, item] of this.items.filter(({ isFresh }) => isFresh).entries()) {
      const { id, dependsOn } = this.batch.plans[place]!;
      const said = printsOf(this.saidBy(item), dependsOn);
      this.record.set(item.identity, { identity: item.identity, taskId: id, said });
      this.note(
        "new",
        { ...item, task: undefined, state: null },
        { taskId: this.command.dryRun ? null : id },
      );
    }
    for (const edit of this.edits) this.edit(edit);
    this.leaveOrCancelGone();
  }

  private edit({ item, comparison, dependsOn }: Edit): void {
    const { draft } = this;
    const entry = item.entry!;
    const task = draft.task(this.command.project, entry.taskId)!;
    const text = draft.text(task.project, task.id);
    const { maxRetries } = draft.project(task.project).settings;
    const { patch, edited } = comparison.patchFor({ ...task, ...text }, { maxRetries, dependsOn });
    const fields = applyPatch(draft, task, patch).sort();
    const overwritten = fields.filter((field) => edited.includes(field));
    if (fields.length + comparison.fixed.length === 0) this.unchanged++;
    else {
      const change = fields.length > 0 ? "changed" : "untouched";
      this.note(change, item, { fields, overwritten, notApplied: comparison.fixed });
    }
    this.record.set(item.identity, { ...entry, said: comparison.saidAfter(dependsOn) });
  }

  /** What is over and gone from the plan is forgotten: if it returns, it is new. */
  private leaveOrCancelGone(): void {
    const { draft, command } = this;
    const listed = new Set(this.items.map(({ identity }) => identity));
    const gone: Task[] = [];
    for (const { identity, taskId } of this.before ?? []) {
      if (listed.has(identity)) continue;
      const task = draft.task(command.project, taskId);
      const state = task ? this.stateOf(task) : "completed";
      if (task && state !== "completed" && state !== "cancelled") gone.push(task);
      else this.record.delete(identity);
    }
    const states = new Map(gone.map((task) => [task.id, this.stateOf(task)]));
    const kept = command.prune ? prune(draft, command.project, gone, `gone from plan ${command.plan}`) : null;
    const identities = new Map([...this.record.values()].map(({ identity, taskId }) => [taskId, identity]));
    for (const task of gone) {
      const { id: taskId, title } = task;
      const reason = kept?.get(taskId) ?? null;
      const isCancelled = kept !== null && reason === null;
      const change = isCancelled ? "cancelled" : "gone";
      this.add(Number.POSITIVE_INFINITY, { change, taskId, title, state: states.get(taskId)!, reason });
      if (isCancelled) this.record.delete(identities.get(taskId)!);
    }
  }

  private note(change: PlanChange["change"], item: Item, more: Partial<PlanChange> = {}): void {
    const { input, index, entry, state } = item;
    const key = input.key ?? null;
    this.add(index, { change, key, taskId: entry?.taskId ?? null, title: titleOf(input), state, ...more });
  }

  private add(index: number, change: Partial<PlanChange> & Noted): void {
    const nothing = { key: null, fields: [], overwritten: [], notApplied: [], reason: null };
    this.changes.push({ index, change: { ...nothing, ...change } });
  }

  /** To add tasks is less than to edit or cancel those of others. */
  notAllowed(): Refusal | null {
    const { mayEdit, dryRun, plan } = this.command;
    const needed = this.changes.find(
      ({ change: { change } }) => change === "changed" || change === "cancelled",
    );
    if (mayEdit || dryRun || !needed) return null;
    return refuse(
      "FORBIDDEN",
      `Loading plan ${plan} again edits or cancels tasks, which needs the role leader.`,
      {
        hint: "Use a token of that role, or load only what is new under another name.",
        details: { needed: "leader", taskId: needed.change.taskId },
      },
    );
  }

  keepRecord(): Refusal | null {
    const { project, plan: name } = this.command;
    const entries = [...this.record.values()];
    if (entries.length > limits.planTasksMax) {
      const message = `Plan ${name} has ${entries.length} tasks with those that are gone from it and open; at most ${limits.planTasksMax} are kept.`;
      return refuse("VALIDATION_FAILED", message, {
        hint: "Cancel those that are gone, for example with prune.",
        details: { issues: [{ path: "plan", message }] },
      });
    }
    const isSame = JSON.stringify(entries) === JSON.stringify(this.before ?? []);
    const { kind, key, value } = planDocument({ project, name, entries });
    if (!isSame) this.draft.putDocument(kind, key, value);
    return null;
  }

  result(): Loaded {
    const { plan: name, dryRun = false } = this.command;
    const counts = {
      new: 0,
      changed: 0,
      unchanged: this.unchanged,
      untouched: 0,
      checked: 0,
      gone: 0,
      cancelled: 0,
    };
    const changes = this.changes.sort((a, b) => a.index - b.index || 0).map(({ change }) => change);
    for (const { change } of changes) counts[change]++;
    const idOf = ({ identity, entry, isFresh }: Item) =>
      isFresh ? (dryRun ? null : this.record.get(identity)!.taskId) : (entry?.taskId ?? null);
    const plan = { name, isNew: this.before === undefined, dryRun, counts, changes };
    return { ids: this.items.map(idOf), plan };
  }
}

function newTask({ identity, done, parentId, ...input }: PlanTask, parent: string | undefined): NewTask {
  return parent === undefined ? input : { ...input, parentId: parent };
}
