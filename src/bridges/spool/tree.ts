// The directories of a spool, and the only way to touch them. Whoever may write there, or whatever a repository brought along, must
// not lead us elsewhere: no link is followed, nothing but a regular file with a single name is read, and reading is bounded.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { DibsError } from "../../contract/error.js";
import { type Stage, stages } from "./names.js";
import { bounds } from "./options.js";

export type Kind = "file" | "directory" | "link" | "other";

export interface Entry {
  name: string;
  kind: Kind;
}

/** A file's text, or why it is not read; `isGone` if it is not there. */
export type Reading =
  | { ok: true; text: string; stats: Stats }
  | { ok: false; problem: string; isGone: boolean };

const noFollow = constants.O_NOFOLLOW ?? 0;
const noWait = constants.O_NONBLOCK ?? 0;

export class Tree {
  /** `ai_comms` itself. */
  readonly root: string;
  readonly agentDirectory: string;
  /** Our own notes: what is held, and files on their way. */
  readonly notes: string;

  private constructor(directory: string, agent: string) {
    this.root = realpathSync(directory);
    this.agentDirectory = join(this.root, agent);
    this.notes = join(this.agentDirectory, ".spool");
  }

  /** Makes what is missing. */
  static open(directory: string, agent: string): Tree {
    makeAll(resolve(directory));
    const tree = new Tree(directory, agent);
    tree.ensure();
    return tree;
  }

  private directories(): string[] {
    const { agentDirectory, notes } = this;
    const tasks = join(agentDirectory, "tasks");
    return [
      agentDirectory,
      tasks,
      ...stages.map((stage) => join(tasks, stage)),
      notes,
      join(notes, "held"),
      join(notes, "tmp"),
      join(this.root, "counters"),
      join(this.root, "locks"),
    ];
  }

  /** All of these are directories, and where they seem to be; what is missing is made. */
  ensure(): void {
    for (const path of this.directories()) {
      if (this.stats(path) === null) this.makeDirectory(path);
      if (lstatSync(path).isDirectory() && realpathSync(path) === path) continue;
      throw new DibsError("FORBIDDEN", `${path} is a link, or no directory: a spool does not go elsewhere.`, {
        hint: "Put a real directory there.",
      });
    }
  }

  stage(stage: Stage, ...more: string[]): string {
    return join(this.agentDirectory, "tasks", stage, ...more);
  }

  /** As it is told to people. */
  shown(path: string): string {
    const tasks = join(this.agentDirectory, "tasks");
    for (const base of [tasks, this.root]) {
      if (path.startsWith(`${base}${sep}`)) return path.slice(base.length + 1);
    }
    return path;
  }

  /** What lies in a directory; nothing if it is none. Names that begin with a dot are nobody's business. */
  list(path: string): Entry[] {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    const entries: Entry[] = [];
    try {
      const directory = opendirSync(path);
      try {
        for (let each = directory.readSync(); each && entries.length < bounds.entriesMax; ) {
          if (!each.name.startsWith(".")) entries.push({ name: each.name, kind: kindOf(each) });
          each = directory.readSync();
        }
      } finally {
        directory.closeSync();
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  stats(path: string): Stats | null {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  }

  read(path: string, bytesMax: number): Reading {
    let file: number;
    try {
      file = openSync(path, constants.O_RDONLY | noFollow | noWait);
    } catch (error) {
      return { ok: false, problem: openProblem(error), isGone: isGone(error) };
    }
    try {
      return readOpen(file, bytesMax);
    } catch (error) {
      return { ok: false, problem: (error as Error).message, isGone: false };
    } finally {
      closeSync(file);
    }
  }

  /** What was on its way when we were killed: it is made again. */
  clearTemporary(): void {
    const directory = join(this.notes, "tmp");
    for (const name of readdirSync(directory))
      rmSync(join(directory, name), { recursive: true, force: true });
  }

  /** A place of our own, on the same file system. */
  temporary(): string {
    return join(this.notes, "tmp", randomBytes(8).toString("hex"));
  }

  /** As a whole, over whatever was there. */
  replace(path: string, text: string): void {
    const next = this.temporary();
    writeFileSync(next, text, { flag: "wx" });
    renameSync(next, path);
  }

  /** Only if there is nothing under that name. */
  create(path: string, text: string): boolean {
    try {
      writeFileSync(path, text, { flag: "wx" });
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  }

  /** A directory with one file, complete when it appears. False: that name is taken. */
  placeDirectory(path: string, file: string, text: string): boolean {
    const next = this.temporary();
    mkdirSync(next);
    writeFileSync(join(next, file), text, { flag: "wx" });
    if (this.move(next, path) === "moved") return true;
    rmSync(next, { recursive: true });
    return false;
  }

  /** Complete when it appears. False: that name is taken. */
  placeFile(path: string, text: string): boolean {
    const next = this.temporary();
    writeFileSync(next, text, { flag: "wx" });
    if (this.move(next, path) === "moved") return true;
    unlinkSync(next);
    return false;
  }

  /** Of a file onto nothing, or of a directory onto nothing or an empty one. */
  move(from: string, to: string): "moved" | "gone" | "taken" {
    try {
      if (!lstatSync(from).isDirectory() && this.stats(to)) return "taken";
      renameSync(from, to);
      return "moved";
    } catch (error) {
      if (isGone(error)) return "gone";
      if (["ENOTEMPTY", "EEXIST", "ENOTDIR", "EISDIR"].includes(codeOf(error))) return "taken";
      throw error;
    }
  }

  /** Whether this call has removed it; whoever was quicker has it. */
  removeFile(path: string): boolean {
    const away = this.temporary();
    if (this.move(path, away) !== "moved") return false;
    rmSync(away, { recursive: true, force: true });
    return true;
  }

  forget(path: string): void {
    try {
      unlinkSync(path);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  makeDirectory(path: string): boolean {
    try {
      mkdirSync(path);
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return this.stats(path)?.isDirectory() === true;
      throw error;
    }
  }

  isEmpty(path: string): boolean {
    return this.stats(path)?.isDirectory() === true && readdirSync(path).length === 0;
  }

  removeIfEmpty(path: string): void {
    try {
      if (this.stats(path)?.isDirectory()) rmdirSync(path);
    } catch (error) {
      if (!isGone(error) && !["ENOTEMPTY", "EEXIST", "EBUSY"].includes(codeOf(error))) throw error;
    }
  }
}

function makeAll(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeAll(dirname(path));
    mkdirSync(path);
  }
}

function readOpen(file: number, bytesMax: number): Reading {
  const stats = fstatSync(file);
  const no = (problem: string): Reading => ({ ok: false, problem, isGone: false });
  if (!stats.isFile()) return no("is not a regular file");
  if (stats.nlink > 1) return no("has a second name somewhere (a hard link)");
  if (stats.size > bytesMax) return no(`has ${stats.size} bytes; at most ${bytesMax} are taken`);
  // One more than it has: whoever is still writing has not come to the end.
  const bytes = Buffer.allocUnsafe(stats.size + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length < bytes.length; length += count) {
    count = readSync(file, bytes, length, bytes.length - length, null);
  }
  if (length > stats.size) return no("is still being written");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
    return text.includes("\0") ? no("is not text: it has NUL characters") : { ok: true, text, stats };
  } catch {
    return no("is not text in UTF-8");
  }
}

function kindOf(entry: Dirent): Kind {
  if (entry.isSymbolicLink()) return "link";
  if (entry.isDirectory()) return "directory";
  return entry.isFile() ? "file" : "other";
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";
const isGone = (error: unknown): boolean => ["ENOENT", "ESTALE"].includes(codeOf(error));

function openProblem(error: unknown): string {
  const code = codeOf(error);
  if (code === "ELOOP" || code === "EMLINK") return "is a symbolic link";
  if (code === "ENXIO") return "is not a regular file";
  return (error as Error).message;
}
