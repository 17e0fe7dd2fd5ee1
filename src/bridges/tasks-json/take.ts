// What the file says that the store does not know yet: entries that became tasks, edits, ends, and what is missing.

import { id as idField } from "../../contract/fields.js";
import type { WireTask } from "../../contract/shapes.js";
import type { Applier, NewEntry } from "./apply.js";
import { type Base, entryAt, recognised } from "./base.js";
import { type Entry, idOf, isObject } from "./contents.js";
import { type Decision, decide } from "./decide.js";
import { type Dialect, keyIn, nameOf, type Raw } from "./dialect.js";
import type { FileSnapshot } from "./file-cache.js";
import type { Mirror } from "./mirror.js";
import { inOrder } from "./order.js";
import type { News } from "./report.js";

export interface EditImport {
  snapshot: FileSnapshot;
  base: Base;
  /** Entries that were taken since the last write, by their ids: a file that was edited twice does not contradict itself. */
  taken: Map<string, Raw>;
  dialect: Dialect;
  mirror: Mirror;
  applier: Applier;
  removed: "keep" | "cancel";
  tell(news: News): void;
}

interface Fresh extends NewEntry {
  entry: Entry;
}

interface Sorted {
  /** Of tasks that the store has. */
  known: Map<string, Raw>;
  fresh: Fresh[];
}

interface Decided {
  id: string;
  decision: Decision;
}

const shownMax = 20;

export const isOver = ({ state }: WireTask): boolean =>
  state === "completed" || state === "failed" || state === "cancelled";

export async function takeEdits(taking: EditImport): Promise<void> {
  const { snapshot, base } = taking;
  /** The write of ours that the file is a copy of. */
  const copyOf = Math.min(snapshot.contents.rev ?? base.rev, base.rev);
  const { known, fresh } = sorted(taking);
  const added = await add(taking, fresh, copyOf);
  const edited = [...known]
    .filter(([id, value]) => value !== entryAt(base.tasks.get(id), copyOf))
    .map(([id, value]) => ({ id, decision: decided(taking, id, value, copyOf) }));
  await apply(taking, [
    ...edited,
    ...added.map(({ id, value }) => ({ id, decision: decidedNew(taking, id, value) })),
  ]);
  await handleMissing(taking, known, copyOf);
  for (const [id, value] of known) taking.taken.set(id, value);
  for (const { id, value } of added) taking.taken.set(id, value);
}

function sorted({ snapshot, base, mirror, dialect, tell }: EditImport): Sorted {
  const known = new Map<string, Raw>();
  const fresh: Fresh[] = [];
  const ids = new Set<string>();
  for (const entry of snapshot.contents.entries) {
    const { id, problem } = judged(entry, dialect, ids, mirror);
    if (problem !== undefined) {
      const taskId = id === null ? {} : { taskId: id };
      tell({
        what: "refused",
        ...taskId,
        field: "task",
        message: problem,
        file: entry.value,
        taken: "store",
      });
      continue;
    }
    if (id !== null) ids.add(id);
    if (id !== null && mirror.archived.has(id)) {
      // It goes out of the file, too; an edit that comes so late is recorded.
      const before = base.tasks.get(id);
      const isEdited = recognised(before, entry.value as Raw) !== before?.entry;
      const message = "The store has archived it: it goes out of the file.";
      if (isEdited)
        tell({ what: "refused", taskId: id, field: "task", message, file: entry.value, taken: "store" });
      continue;
    }
    if (id !== null && mirror.tasks.has(id)) {
      entry.value = recognised(base.tasks.get(id), entry.value as Raw);
      known.set(id, entry.value as Raw);
    } else fresh.push({ entry, value: entry.value as Raw, id });
  }
  return { known, fresh };
}

/** Its id (null: it has none yet), or what is wrong with it. */
function judged(
  entry: Entry,
  dialect: Dialect,
  ids: ReadonlySet<string>,
  mirror: Mirror,
): { id: string | null; problem?: string } {
  if (!isObject(entry.value)) return { id: null, problem: "An entry is no task: it must be an object." };
  const id = idOf(entry, dialect);
  if (id === null) return { id };
  if (typeof id !== "string") return { id: null, problem: `The id ${JSON.stringify(id)} must be a text.` };
  const { error } = mirror.tasks.has(id) ? {} : idField().safeParse(id);
  if (error) return { id: null, problem: `The id '${id.slice(0, 100)}' ${error.issues[0]!.message}.` };
  return ids.has(id) ? { id, problem: `The id '${id}' is in the file twice; the first one counts.` } : { id };
}

/** What has become tasks. Entries without an id get it where they stand. */
async function add({ applier, mirror, dialect }: EditImport, fresh: Fresh[], copyOf: number) {
  const ids = await applier.create(fresh, dialect, copyOf);
  return fresh.flatMap((each) => {
    const id = each.id ?? ids.get(each);
    if (id === undefined || !mirror.tasks.has(id)) return [];
    if (each.id === null) {
      const key = keyIn(each.value, "id", dialect) ?? nameOf("id", dialect);
      each.entry.value = { [key]: id, ...each.value, [key]: id };
    }
    return [{ id, value: each.entry.value as Raw }];
  });
}

/** The one text of a file is both of the store's. */
const texts = ["prompt", "description"];
const isText = (field: string) => texts.includes(field);

function decided(taking: EditImport, id: string, entry: Raw, copyOf: number): Decision {
  const { snapshot, base, mirror, dialect } = taking;
  const task = mirror.tasks.get(id)!;
  const before = base.tasks.get(id);
  const taken = taking.taken.get(id);
  return decide({
    task,
    entry,
    origin: entryAt(before, copyOf) ?? taken ?? null,
    base: before,
    taken,
    dialect,
    now: mirror.now,
    savedAt: snapshot.savedAt,
    editedAt: (field) => mirror.editedAt(task, isText(field) ? texts : [field]),
  });
}

function decidedNew({ mirror, dialect, snapshot }: EditImport, id: string, entry: Raw): Decision {
  const nothing = { origin: null, base: undefined, taken: undefined };
  const sides = { ...nothing, entry, dialect, isNew: true, now: mirror.now, savedAt: snapshot.savedAt };
  return decide({ ...sides, task: mirror.tasks.get(id)!, editedAt: () => 0 });
}

async function apply({ mirror, applier, tell }: EditImport, all: readonly Decided[]): Promise<void> {
  const task = (id: string) => mirror.tasks.get(id)!;
  for (const { id, decision } of all) {
    for (const conflict of decision.conflicts) {
      const message = `${conflict.field} was changed on both sides; the ${conflict.taken}'s, being later, is taken`;
      tell({ what: "conflict", taskId: id, message, ...conflict });
    }
    for (const { message, ...more } of decision.refusals) {
      tell({ what: "refused", taskId: id, message, ...more, taken: "store" });
    }
    // What is over can be edited only after it was opened again.
    if (decision.state?.to === "retried") await applier.setState(task(id), decision.state);
    await applier.edit(task(id), decision.patch);
  }
  const moving = all.filter(({ decision }) => decision.state && decision.state.to !== "retried");
  for (const { id, decision } of dependenciesFirst(moving, task)) {
    await applier.setState(task(id), decision.state!);
  }
}

/** And children before their parents: a task can end only after them. */
function dependenciesFirst(all: readonly Decided[], task: (id: string) => WireTask): Decided[] {
  const children = new Map<string, string[]>();
  for (const { id } of all) {
    const { parentId } = task(id);
    if (parentId !== null) children.set(parentId, [...(children.get(parentId) ?? []), id]);
  }
  return inOrder(
    all,
    ({ id }) => id,
    ({ id }) => [...task(id).dependsOn, ...(children.get(id) ?? [])],
  );
}

/** Nothing is deleted because it was removed from a list. */
async function handleMissing(
  { snapshot, base, mirror, applier, removed, tell }: EditImport,
  known: ReadonlyMap<string, Raw>,
  copyOf: number,
): Promise<void> {
  if (snapshot.text === null) return;
  for (const id of known.keys()) base.omitted.delete(id);
  const missing = [...base.tasks]
    .filter(([id, task]) => !known.has(id) && mirror.tasks.has(id) && entryAt(task, copyOf) !== null)
    .map(([id]) => id)
    .filter((id) => !base.omitted.has(id));
  if (missing.length === 0) return;
  const shown = missing.slice(0, shownMax);
  const list = shown.length < missing.length ? `${shown.join(", ")}, …` : shown.join(", ");
  const count = missing.length === 1 ? "" : ` (${missing.length} tasks)`;
  const message = `${list}${count}: not in the file any more${removed === "keep" ? "; written back" : ""}`;
  tell({ what: "removed", message, taskIds: shown, count: missing.length });
  if (removed === "keep") return;
  for (const id of missing) {
    const task = mirror.tasks.get(id)!;
    if (!isOver(task)) await applier.setState(task, { to: "cancelled" });
    base.omitted.add(id);
  }
}
