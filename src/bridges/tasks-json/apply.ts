// Edits of the file, carried out through the operations that everybody uses. What the store refuses is told and recorded; the
// store's value then goes back into the file.

import { createHash } from "node:crypto";
import type { Dibs } from "../../client/client.js";
import type { DibsError } from "../../contract/error.js";
import { id as idField } from "../../contract/fields.js";
import type { WireTask } from "../../contract/shapes.js";
import { type Decision, type Holder, ownSession, type StateEdit } from "./decide.js";
import { type Dialect, type Raw, valueIn } from "./dialect.js";
import { editable, inEntry } from "./fields.js";
import type { Mirror } from "./mirror.js";
import { inOrder } from "./order.js";
import { isRefusal, type News } from "./report.js";

export interface NewEntry {
  value: Raw;
  id: string | null;
}

const batchMax = 500;
const batchLengthMax = 4 * 1024 * 1024;

type NewTask = Parameters<Dibs["tasks"]["create"]>[0];
type Update = Parameters<Dibs["tasks"]["update"]>[0];
type Result = Parameters<Dibs["tasks"]["complete"]>[0]["result"];
type Lacking = Map<NewEntry, DibsError>;
/** What is cleared away before a claim, as it is said to `tasks.update`. */
type Obstacles = { notBefore?: null; dependsOn?: string[] };
type Ending = Extract<StateEdit, { to: "completed" | "failed" }>;

export class Applier {
  constructor(
    private readonly dibs: Dibs,
    private readonly mirror: Mirror,
    private readonly fileName: string,
    private readonly tell: (news: News) => void,
  ) {}

  /** The ids that the store gave to entries without one. `copyOf`: the write whose copy they stand in; it makes repeating harmless. */
  async create(
    entries: readonly NewEntry[],
    dialect: Dialect,
    copyOf: number,
  ): Promise<Map<NewEntry, string>> {
    const references = ({ value }: NewEntry) =>
      [valueIn(value, "parentId", dialect), ...asList(inEntry(value, "dependsOn", dialect))].filter(
        (each): each is string => typeof each === "string",
      );
    const ordered = inOrder(entries, ({ id }) => id, references);
    for (const batch of batchesOf(ordered.filter(({ id }) => id !== null)))
      await this.createAll(batch, dialect);
    return this.createNameless(
      ordered.filter(({ id }) => id === null),
      dialect,
      copyOf,
    );
  }

  private async createAll(entries: readonly NewEntry[], dialect: Dialect): Promise<void> {
    if ((await this.createTogether(entries, dialect)) === null) return;
    // One by one: the good ones are not to wait for the bad.
    const lacking: Lacking = new Map();
    for (const entry of entries) {
      const answer = await this.createOne(entry, dialect);
      if (typeof answer === "string") continue;
      if (lackedBy(answer) === null) this.notCreated(entry, answer);
      else lacking.set(entry, answer);
    }
    await this.createLacking(lacking, dialect);
  }

  /** All or nothing: null, or why not. */
  private async createTogether(entries: readonly NewEntry[], dialect: Dialect): Promise<DibsError | null> {
    try {
      const tasks = entries.map(({ value, id }) => newTask(value, id, dialect));
      const answer = await this.dibs.tasks.batch({ tasks: tasks as never });
      for (const task of answer.tasks) this.added(task);
      return null;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return error;
    }
  }

  /** By itself each task of a cycle only lacks the next one; together they can be told that they wait for each other. */
  private async createLacking(lacking: Lacking, dialect: Dialect): Promise<void> {
    const names = new Set(
      [...lacking.keys()].flatMap(({ id, value }) => [id, valueIn(value, "title", dialect)]),
    );
    const together = [...lacking].filter(([, error]) => names.has(lackedBy(error))).map(([entry]) => entry);
    const refusal = together.length > 0 ? await this.createTogether(together, dialect) : null;
    if (refusal === null) for (const entry of together) lacking.delete(entry);
    const cycle = refusal?.code === "DEPENDENCY_CYCLE" ? (refusal.details.cycle as unknown[]) : [];
    const inCycle = together.filter(({ id }) => cycle.includes(id));
    for (const entry of inCycle) {
      this.notCreated(entry, refusal!);
      lacking.delete(entry);
    }
    if (inCycle.length > 0) await this.createLacking(lacking, dialect);
    else for (const [entry, error] of lacking) this.notCreated(entry, error);
  }

  /** Its id, or why there is none. */
  private async createOne(entry: NewEntry, dialect: Dialect, key?: string): Promise<string | DibsError> {
    try {
      const input = newTask(entry.value, entry.id, dialect);
      const { task } = await this.dibs.tasks.create(input, key === undefined ? {} : { idempotencyKey: key });
      this.added(task);
      return task.id;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return error;
    }
  }

  private notCreated({ id, value }: NewEntry, error: DibsError): void {
    const isTaken = error.code === "ID_TAKEN" && id !== null;
    if (isTaken) this.mirror.touch(id);
    if (!isTaken || error.details.archivedAt !== undefined) this.refused(id, "task", error, { file: value });
  }

  private async createNameless(entries: readonly NewEntry[], dialect: Dialect, copyOf: number) {
    const ids = new Map<NewEntry, string>();
    const seen = new Map<string, number>();
    for (const entry of entries) {
      const text = JSON.stringify(entry.value);
      const nth = (seen.get(text) ?? 0) + 1;
      seen.set(text, nth);
      const key = createHash("sha256").update(`${copyOf} ${nth} ${text}`).digest("hex");
      const answer = await this.createOne(entry, dialect, `tasks-json-${key}`);
      if (typeof answer === "string") ids.set(entry, answer);
      else this.notCreated(entry, answer);
    }
    return ids;
  }

  private added(task: WireTask): void {
    this.mirror.put(task);
    this.tell({ what: "added", taskId: task.id, message: task.title });
  }

  private refused(taskId: string | null, field: string, error: DibsError, more: object): void {
    const hint = error.hint === undefined ? "" : ` ${error.hint}`;
    this.tell({
      what: "refused",
      ...(taskId === null ? {} : { taskId }),
      field,
      message: `${error.message}${hint}`,
      code: error.code,
      taken: "store",
      ...more,
    });
  }

  /** All fields at once; if the store refuses that, each by itself. */
  async edit(task: WireTask, patch: Decision["patch"]): Promise<void> {
    const fields = Object.keys(patch) as (keyof Decision["patch"])[];
    if (fields.length === 0) return;
    try {
      const answer = await this.dibs.tasks.update({ taskId: task.id, ...patch } as Update);
      this.mirror.put(answer.task);
      this.tell({ what: "edited", taskId: task.id, message: fields.join(", "), fields });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const isText = (field: string) => field === "prompt" || field === "description";
      const parts = [
        fields.filter(isText),
        ...fields.filter((field) => !isText(field)).map((field) => [field]),
      ];
      const several = parts.filter((part) => part.length > 0);
      if (several.length === 1) {
        this.refused(task.id, fields.join(", "), error, { file: patch, store: valuesOf(task, fields) });
        return;
      }
      for (const part of several) {
        await this.edit(task, Object.fromEntries(part.map((field) => [field, patch[field]])));
      }
    }
  }

  async setState(task: WireTask, edit: StateEdit): Promise<void> {
    try {
      const now = await this.moved(task, edit);
      if (now) this.mirror.put(now);
      else this.mirror.touch(task.id);
      const by = "by" in edit && edit.by ? `as ${edit.by.sessionId}` : "";
      this.tell({ what: edit.to, taskId: task.id, message: by, ...(now && { state: now.state }) });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.mirror.touch(task.id);
      this.refused(task.id, "status", error, { file: edit, store: task.state });
    }
  }

  private async moved({ id: taskId, ...task }: WireTask, edit: StateEdit): Promise<WireTask | null> {
    const { tasks } = this.dibs;
    switch (edit.to) {
      case "completed":
      case "failed":
        return this.ended({ id: taskId, ...task }, edit);
      case "claimed":
        return (await this.claim(taskId, edit.by)).task;
      case "renewed": {
        const { sessionId, epoch } = edit.by;
        await tasks.heartbeat({ taskId, sessionId, ...(epoch === undefined ? {} : { epoch }) });
        return null;
      }
      case "cancelled":
        return (await tasks.cancel({ taskId, reason: `cancelled in ${this.fileName}` })).task;
      case "retried":
        return (await tasks.retry({ taskId })).task;
    }
  }

  /** Only a holder ends a task: what nobody holds is claimed first, by whom the file names, or in our own name. */
  private async ended(task: WireTask, edit: Ending): Promise<WireTask> {
    const { tasks } = this.dibs;
    const mustClaim = task.claim === null && (edit.by === null || edit.isNew);
    const held = mustClaim ? await this.claimedToEnd(task, edit) : null;
    const by = held ?? edit.by ?? { sessionId: ownSession, epoch: task.claim?.epoch };
    const holder = {
      taskId: task.id,
      sessionId: by.sessionId,
      ...(by.epoch === undefined ? {} : { epoch: by.epoch }),
    };
    try {
      if (edit.to === "failed") {
        const error = edit.error ?? `Marked as failed in ${this.fileName}.`;
        // Whoever kept the file before us has counted its retries.
        return (await tasks.fail({ ...holder, error, ...(edit.isFirst ? { retryable: false } : {}) })).task;
      }
      const result = (edit.result ?? `Marked as done in ${this.fileName}.`) as Result;
      return (await tasks.complete({ ...holder, result })).task;
    } catch (error) {
      if (held) {
        await tasks.release({ ...holder, reason: "it could not be ended" }).catch(() => undefined);
        await this.putBack(task, held.cleared);
      }
      throw error;
    }
  }

  private async claimedToEnd(task: WireTask, edit: Ending): Promise<Holder & { cleared: Obstacles }> {
    const assignee = idField().safeParse(task.assignee).success ? task.assignee : null;
    const sessionId = edit.by?.sessionId ?? assignee ?? ownSession;
    const agentType = edit.by?.agentType ?? task.agentType;
    const claim = async () =>
      (await this.claim(task.id, { sessionId, ...(agentType && { agentType }) })).claim;
    try {
      return { sessionId, epoch: (await claim()).epoch, cleared: {} };
    } catch (error) {
      const cleared = this.obstacles(task, error, edit.isFirst);
      if (!cleared) throw error;
      await this.dibs.tasks.update({ taskId: task.id, ...cleared });
      try {
        const { epoch } = await claim();
        this.tellFreed(task, cleared);
        return { sessionId, epoch, cleared };
      } catch (second) {
        await this.putBack(task, cleared);
        throw second;
      }
    }
  }

  /**
   * What keeps a task from being claimed but not from being done: that it was to begin later, and, if it was done before we came,
   * what it should have waited for. Null: there is more than that.
   */
  private obstacles(task: WireTask, error: unknown, isFirst: boolean): Obstacles | null {
    if (!isRefusal(error) || error.code !== "TASK_NOT_CLAIMABLE") return null;
    const codes = ((error.details.reasons ?? []) as { code: string }[]).map(({ code }) => code);
    const isLater = codes.includes("SCHEDULED");
    const isWaiting = isFirst && codes.includes("WAITING_ON_DEPENDENCIES");
    if (codes.length === 0 || codes.length > Number(isLater) + Number(isWaiting)) return null;
    const isDone = (id: string) => this.mirror.tasks.get(id)?.state === "completed";
    return {
      ...(isLater ? { notBefore: null } : {}),
      ...(isWaiting ? { dependsOn: task.dependsOn.filter(isDone) } : {}),
    };
  }

  private async putBack({ id: taskId, notBefore, dependsOn }: WireTask, cleared: Obstacles): Promise<void> {
    if (Object.keys(cleared).length === 0) return;
    const patch = { ...("notBefore" in cleared && { notBefore }), ...(cleared.dependsOn && { dependsOn }) };
    await this.dibs.tasks.update({ taskId, ...patch } as Update);
  }

  private tellFreed({ id: taskId, dependsOn }: WireTask, cleared: Obstacles): void {
    if (!cleared.dependsOn) return;
    const open = dependsOn.filter((id) => !cleared.dependsOn!.includes(id));
    const message = `dependsOn: it ended before ${open.join(", ")} and no longer depends on it`;
    this.tell({ what: "edited", taskId, message, fields: ["dependsOn"] });
  }

  private claim(taskId: string, { sessionId, agentType }: Holder) {
    const typed = agentType === undefined ? {} : { agentType };
    return this.dibs.tasks.claim({ taskId, sessionId, start: true, register: true, ...typed });
  }
}

/** The task that an entry refers to and that is not there; null: it is another error. */
function lackedBy({ code, details }: DibsError): unknown {
  if (code === "DEPENDENCY_NOT_FOUND") return details.dependency;
  return code === "TASK_NOT_FOUND" ? details.taskId : null;
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const valuesOf = (task: WireTask, fields: readonly (keyof Decision["patch"])[]) =>
  Object.fromEntries(fields.map((field) => [field, task[field]]));

function newTask(value: Raw, id: string | null, dialect: Dialect): NewTask {
  const told = Object.fromEntries(
    [...editable, "parentId" as const]
      .map((field) => [field, inEntry(value, field, dialect)] as const)
      .filter(([, each]) => each !== undefined && each !== null && each !== ""),
  );
  const { prompt, description, ...rest } = told;
  const isGroup = valueIn(value, "type", dialect) === "group";
  return {
    ...rest,
    ...(id === null ? {} : { id }),
    ...(isGroup ? { type: "group" } : {}),
    prompt: prompt ?? description ?? rest.title,
    ...(prompt !== undefined && description !== undefined ? { description } : {}),
  } as NewTask;
}

function batchesOf(entries: readonly NewEntry[]): NewEntry[][] {
  const batches: NewEntry[][] = [];
  let length = 0;
  for (const entry of entries) {
    const size = JSON.stringify(entry.value).length;
    const last = batches.at(-1);
    if (last && last.length < batchMax && length + size < batchLengthMax) last.push(entry);
    else batches.push([entry]);
    length = batches.at(-1)!.length === 1 ? size : length + size;
  }
  return batches;
}
