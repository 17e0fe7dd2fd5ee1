// What the store says, in the file: every task where it stood, and below them those that the file did not have yet.

import { lstatSync, renameSync, rmSync } from "node:fs";
import { DibsError } from "../../contract/error.js";
import type { WireTask } from "../../contract/shapes.js";
import { advance, type Base, digestOf, writeBase } from "./base.js";
import { type Contents, type Entry, idOf, writeDocument } from "./contents.js";
import type { Dialect, Raw } from "./dialect.js";
import { renderEntry } from "./fields.js";
import type { TaskFile } from "./file.js";
import type { FileSnapshot } from "./file-cache.js";
import type { Mirror } from "./mirror.js";
import { isOver } from "./take.js";

export interface Written {
  /** Null: there was nothing to write. */
  text: string | null;
  contents: Contents;
  stamp: string | null;
  base: Base;
  tasks: number;
  changed: number;
}

export interface Writing {
  snapshot: FileSnapshot;
  base: Base;
  dialect: Dialect;
  mirror: Mirror;
  file: TaskFile;
  /** Edits were taken, or refused: copies of the file as it is must be told from copies of what comes. */
  hasEdits: boolean;
  locked<T>(work: () => Promise<T>): Promise<T>;
}

const baseMode = 0o600;

/** Null if somebody has written the file since it was read. */
export async function writeOut(writing: Writing): Promise<Written | null> {
  const { snapshot, base, hasEdits } = writing;
  const { contents, entries, changed } = rendered(writing);
  const isBehind = contents.form.top !== null && (hasEdits || contents.rev !== base.rev);
  const counts = { tasks: entries.size, changed };
  if (changed === 0 && !isBehind && snapshot.text !== null) {
    const kept = hasEdits ? await keepBase(writing, entries) : base;
    return { text: null, contents, stamp: snapshot.stamp, base: kept, ...counts };
  }
  const rev = base.rev + 1;
  const text = writeDocument(contents, rev);
  refuseTooLarge(writing.file, text);
  const next = nextBase(writing, entries, text);
  const stamp = await put(writing, text, next);
  return stamp === null ? null : { text, contents: { ...contents, rev }, stamp, base: next, ...counts };
}

/** Tasks that did not change are rendered once. */
const rendering = new WeakMap<WireTask, { entry: Raw; dialect: Dialect }>();

function rendered({ snapshot: { contents }, base, dialect, mirror }: Writing) {
  const written = new Map<string, Raw>();
  let changed = 0;
  const shown = (task: WireTask, before: Raw, isThere: boolean) => {
    const known = rendering.get(task);
    const isKnown = known?.entry === before && known.dialect === dialect;
    const value = isKnown ? before : renderEntry(task, dialect, before);
    rendering.set(task, { entry: value, dialect });
    if (value !== before || !isThere) changed++;
    written.set(task.id, value);
    return value;
  };
  const isGone = (entry: Entry) => mirror.archived.has(String(idOf(entry, dialect)));
  const present = contents.entries.filter((entry) => !isGone(entry));
  changed += contents.entries.length - present.length;
  const entries = present.map((entry): Entry => {
    const id = idOf(entry, dialect);
    const task = typeof id === "string" && !written.has(id) ? mirror.tasks.get(id) : undefined;
    return task ? { key: entry.key ?? task.id, value: shown(task, entry.value as Raw, true) } : entry;
  });
  for (const task of mirror.tasks.values()) {
    if (written.has(task.id) || isLeftOut(base, task)) continue;
    entries.push({ key: task.id, value: shown(task, base.tasks.get(task.id)?.entry ?? {}, false) });
  }
  return { contents: { ...contents, entries }, entries: written, changed };
}

/** Until it is open again. */
function isLeftOut({ omitted }: Base, task: WireTask): boolean {
  if (!isOver(task)) omitted.delete(task.id);
  return omitted.has(task.id);
}

function refuseTooLarge({ bytesMax }: TaskFile, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return;
  const why = `The tasks of the project need ${bytes} bytes; the limit of a file is ${bytesMax}. It is not written.`;
  throw new DibsError("PAYLOAD_TOO_LARGE", why, {
    hint: "Run: dibs list",
  });
}

function nextBase({ base, dialect, mirror }: Writing, entries: ReadonlyMap<string, Raw>, text: string): Base {
  const rev = base.rev + 1;
  const tasks: Base["tasks"] = new Map();
  for (const [id, entry] of entries) {
    const { priority, state } = mirror.tasks.get(id)!;
    tasks.set(id, advance(base.tasks.get(id), { entry, priority, state }, rev));
  }
  return { ...base, rev, cursor: mirror.cursor, dialect, tasks, digest: digestOf(text) };
}

/** The file needs no change, but what it is compared with does. */
async function keepBase(writing: Writing, entries: ReadonlyMap<string, Raw>): Promise<Base> {
  const { file, snapshot } = writing;
  const base = nextBase(writing, entries, snapshot.text ?? "");
  const draft = await file.draft(writeBase(base, 2 * file.bytesMax), baseMode);
  renameSync(draft, file.beside("base"));
  return base;
}

/**
 * The stamp, or null. The new base is there before the file and counts after it: whoever finds it waiting compares its digest
 * with the file and knows how far we came.
 */
async function put({ file, snapshot, locked }: Writing, text: string, base: Base): Promise<string | null> {
  const drafts: string[] = [];
  try {
    drafts.push(await file.draft(text, snapshot.mode));
    drafts.push(await file.draft(writeBase(base, 2 * file.bytesMax), baseMode));
    const [own = "", next = ""] = drafts;
    const stamp = await locked(async () => {
      renameSync(next, file.beside("base.next"));
      await file.quiet();
      const ours = lstatSync(own, { bigint: true });
      if (!file.replace(own, snapshot.stamp)) return null;
      const now = lstatSync(file.path, { bigint: true, throwIfNoEntry: false });
      const isOurs = now?.ino === ours.ino && now.mtimeNs === ours.mtimeNs && now.size === ours.size;
      renameSync(file.beside("base.next"), file.beside("base"));
      return isOurs ? file.stamp() : "another's";
    });
    if (stamp !== null) await file.settle();
    return stamp;
  } finally {
    for (const draft of drafts) rmSync(draft, { force: true });
  }
}
