// New tasks with references to each other: each gets its parent, depth and id, then its dependencies, and the whole graph is
// checked for cycles, before anything is put.

import { archivedAt } from "../archive.js";
import type { CreateCommand, NewTask } from "../command.js";
import { edgesFrom, findCycle, writeCycle } from "../dependency.js";
import type { Draft } from "../draft.js";
import { topLevelNumber } from "../ids.js";
import { limits } from "../limits.js";
import { type Refusal, refuse } from "../refusal.js";
import { isTerminal } from "../task.js";
import { titleFrom } from "../title.js";
import { at } from "./invalid.js";
import { allocateId } from "./new-id.js";

/** A task that is about to be: its input, its place and its resolved references. */
export interface Plan {
  input: NewTask;
  index: number;
  id: string;
  sequence: number;
  depth: number;
  parentId: string | null;
  title: string;
  dependsOn: string[];
}

export class Batch {
  readonly plans: Plan[] = [];
  private readonly byKey = new Map<string, Plan>();
  /** By ids that callers supplied: only these can be referred to. */
  private readonly byId = new Map<string, Plan>();
  private readonly byNewId = new Map<string, Plan>();
  private readonly byTitle = new Map<string, Plan[]>();
  private readonly childrenOf = new Map<string, Plan[]>();
  private readonly project: string;

  /**
   * `existing`: names of tasks that exist already, with their ids; null: nothing need wait for it any more. `indexes`: where the
   * tasks are in the caller's list, for messages.
   */
  constructor(
    private readonly draft: Draft,
    private readonly command: Pick<CreateCommand, "project" | "tasks">,
    private readonly existing: ReadonlyMap<string, string | null> = new Map(),
    private readonly indexes: readonly number[] = [],
  ) {
    this.project = command.project;
  }

  /** Gives every task its parent, depth and id, parents first. */
  place(): Refusal | null {
    for (const [place, input] of this.command.tasks.entries()) {
      const index = this.indexes[place] ?? place;
      const plan: Plan = {
        input,
        index,
        id: input.id ?? "",
        sequence: (input.id !== undefined && input.parentId === undefined && topLevelNumber(input.id)) || 0,
        depth: -1,
        parentId: null,
        title: titleOf(input),
        dependsOn: [],
      };
      this.plans.push(plan);
      const known = this.byTitle.get(plan.title);
      if (known) known.push(plan);
      else this.byTitle.set(plan.title, [plan]);
      if (input.id !== undefined) {
        const refusal = this.takenProblem(input.id);
        if (refusal) return refusal;
        this.byId.set(input.id, plan);
      }
      if (input.key !== undefined) {
        if (this.byKey.has(input.key))
          return at(index, "key", `Key '${input.key}' is used twice in this batch.`);
        this.byKey.set(input.key, plan);
      }
    }
    for (const plan of this.plans) {
      const refusal = this.placeWithParents(plan);
      if (refusal) return refusal;
    }
    return null;
  }

  private takenProblem(id: string): Refusal | null {
    const isThere = this.byId.has(id) || this.draft.task(this.project, id) !== undefined;
    const gone = isThere ? null : archivedAt(this.draft, this.project, id);
    if (!isThere && gone === null) return null;
    const message = isThere ? `Task ${id} exists already.` : `Task ${id} existed, and was archived.`;
    return refuse("ID_TAKEN", message, {
      hint: "Omit the id: one is generated.",
      details: { taskId: id, ...(gone === null ? {} : { archivedAt: gone }) },
    });
  }

  private placeWithParents(start: Plan): Refusal | null {
    const chain: Plan[] = [];
    for (let plan: Plan | undefined = start; plan && plan.depth < 0; plan = this.localParent(plan)) {
      if (chain.includes(plan)) {
        const cycle = [...chain.slice(chain.indexOf(plan)), plan].map((each) => each.input.key ?? each.title);
        return refuse("DEPENDENCY_CYCLE", `A task cannot be its own ancestor: ${writeCycle(cycle)}.`, {
          details: { cycle },
        });
      }
      chain.push(plan);
    }
    for (const plan of chain.reverse()) {
      const refusal = this.placeUnder(plan);
      if (refusal) return refusal;
    }
    return null;
  }

  private localParent(plan: Plan): Plan | undefined {
    const { parentId } = plan.input;
    return parentId === undefined ? undefined : (this.byKey.get(parentId) ?? this.byId.get(parentId));
  }

  private placeUnder(plan: Plan): Refusal | null {
    const { parentId } = plan.input;
    const local = this.localParent(plan);
    const above = parentId === undefined ? undefined : (this.existing.get(parentId) ?? parentId);
    const parent = local ?? (above === undefined ? undefined : this.draft.task(this.project, above));
    if (parentId !== undefined && !parent) {
      return refuse("TASK_NOT_FOUND", `Parent task ${parentId} not found.`, {
        details: { taskId: parentId, field: "parentId" },
      });
    }
    if (parent && "state" in parent && isTerminal(parent.state)) {
      return refuse(
        "INVALID_STATE",
        `Parent ${parent.id} is ${parent.state}; it can have no more subtasks.`,
        {
          hint: parent.state === "completed" ? "Create the task elsewhere." : `Retry ${parent.id} first.`,
          details: { taskId: parent.id, state: parent.state },
        },
      );
    }
    if (parent && "state" in parent && parent.state === "submitted") {
      return refuse("INVALID_STATE", `Parent ${parent.id} is submitted; it can have no more subtasks.`, {
        hint: `Run: dibs withdraw ${parent.id}`,
        details: { taskId: parent.id, state: parent.state },
      });
    }
    plan.parentId = parent?.id ?? null;
    plan.depth = parent ? parent.depth + 1 : 0;
    if (plan.depth > limits.depthMax) {
      return at(plan.index, "parentId", `Hierarchies are at most ${limits.depthMax} levels deep.`);
    }
    if (plan.input.id === undefined) {
      const allocated = allocateId(this.draft, this.project, parent, (id) => this.byId.has(id));
      if (!allocated.ok) return allocated;
      plan.id = allocated.value.id;
      plan.sequence = allocated.value.sequence;
      this.byNewId.set(plan.id, plan);
    }
    if (plan.parentId !== null) {
      const siblings = this.childrenOf.get(plan.parentId);
      if (siblings) siblings.push(plan);
      else this.childrenOf.set(plan.parentId, [plan]);
    }
    return null;
  }

  /** Resolves every reference to an id: a key or title of this batch, or an existing task. */
  connect(): Refusal | null {
    for (const plan of this.plans) {
      const found = this.resolveAll(plan.input.dependsOn ?? [], plan.index);
      if (!Array.isArray(found)) return found;
      plan.dependsOn = found;
    }
    return null;
  }

  resolveAll(references: readonly string[], index: number): string[] | Refusal {
    const found = new Set<string>();
    for (const reference of references) {
      const resolved = this.resolve(reference, index);
      if (typeof resolved === "string") found.add(resolved);
      else if (resolved) return resolved;
    }
    return [...found];
  }

  private resolve(reference: string, index: number): string | Refusal | null {
    const local = this.byKey.get(reference) ?? this.byId.get(reference);
    if (local) return local.id;
    const existing = this.existing.get(reference);
    if (existing !== undefined) return existing;
    const isAlone = this.plans.length === 1 && this.existing.size === 0;
    const titled = isAlone ? undefined : this.byTitle.get(reference);
    if (titled && titled.length > 1) {
      return at(index, "dependsOn", `'${reference}' names ${titled.length} tasks of this batch; use keys.`);
    }
    if (titled?.[0]) return titled[0].id;
    if (this.draft.task(this.project, reference)) return reference;
    return refuse("DEPENDENCY_NOT_FOUND", `Dependency ${reference} not found.`, {
      hint: isAlone
        ? "Run: dibs list"
        : "A dependency is the id of a task, or a key or title of this batch. Run: dibs list",
      details: { dependency: reference, index },
    });
  }

  private planned(id: string): Plan | undefined {
    return this.byId.get(id) ?? this.byNewId.get(id);
  }

  /** Only a new task under an existing parent, or an edited one, can close a cycle through existing tasks. */
  findCycle(edited: ReadonlyMap<string, readonly string[]> = new Map()): Refusal | null {
    const isUnderExisting = ({ parentId }: Plan) => parentId !== null && !this.planned(parentId);
    const throughExisting = edited.size > 0 || this.plans.some(isUnderExisting);
    const cycle = findCycle([...this.plans.map((plan) => plan.id), ...edited.keys()], (id) => {
      const plan = this.planned(id);
      const newChildren = (this.childrenOf.get(id) ?? []).map((child) => child.id);
      if (plan) return [...plan.dependsOn, ...newChildren];
      return throughExisting ? [...this.edgesOf(id, edited.get(id)), ...newChildren] : [];
    });
    return cycle ? cycleRefusal(cycle.map((id) => this.planned(id)?.input.key ?? id)) : null;
  }

  /** What an existing task waits for, once its dependencies are the edited ones. */
  private edgesOf(id: string, dependsOn: readonly string[] | undefined): readonly string[] {
    const edges = edgesFrom(this.draft.view, this.project, id);
    if (!dependsOn) return edges;
    const before = this.draft.task(this.project, id)?.dependsOn ?? [];
    return [...dependsOn, ...edges.filter((other) => !before.includes(other))];
  }

  countChildren(): void {
    for (const [parentId, children] of this.childrenOf) {
      const parent = this.draft.task(this.project, parentId);
      if (!parent) continue;
      const openChildren = parent.openChildren + children.length;
      const held = this.draft.claim(this.project, parentId) !== undefined;
      this.draft.putTask({ ...parent, openChildren, readyAt: held ? parent.readyAt : null });
    }
  }
}

export function titleOf({ title, prompt, description }: NewTask): string {
  return (title?.trim() ? title : titleFrom(prompt ?? description ?? "")) || "(untitled)";
}

export function cycleRefusal(cycle: string[]): Refusal {
  if (cycle.length === 0) {
    const message = `More than ${limits.graphWalkMax} tasks hang together here; the dependencies cannot be checked for cycles.`;
    return refuse("VALIDATION_FAILED", message, { details: { issues: [{ path: "dependsOn", message }] } });
  }
  return refuse("DEPENDENCY_CYCLE", `The tasks would wait for each other: ${writeCycle(cycle)}.`, {
    hint: "Remove one of these dependencies; a parent also waits for its subtasks.",
    details: { cycle },
  });
}
