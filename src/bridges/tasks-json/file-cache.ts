// Caches tasks.json. It is read again when its stamp differs, and while it is so new that another change could have the
// same time stamp.

import { setTimeout as sleep } from "node:timers/promises";
import { BrokenFile, type Contents, emptyContents, readContents } from "./contents.js";
import type { TaskFile } from "./file.js";

const youngMs = 100;
const triesMs = 25;

export interface FileSnapshot {
  /** Null: there is no file. */
  stamp: string | null;
  text: string | null;
  contents: Contents;
  savedAt: number;
  mode: number;
  isYoung: boolean;
  /** Its edits are applied to the store. */
  isTaken: boolean;
}

/** For a file that does not exist yet: readable only by its owner. */
const usualMode = 0o600;

export class FileCache {
  snapshot: FileSnapshot | null = null;
  /** The problem of a broken file, and its stamp. */
  broken: { why: string; stamp: string | null } | null = null;

  constructor(
    private readonly file: TaskFile,
    /** How long a broken file is read again before it is reported: it may be half written. */
    private readonly settleMs: number,
  ) {}

  get isCurrent(): boolean {
    const stamp = this.file.stamp();
    return this.broken
      ? this.broken.stamp === stamp
      : this.snapshot?.stamp === stamp && !this.snapshot.isYoung;
  }

  /** Null while it is broken. */
  async read(): Promise<FileSnapshot | null> {
    if (this.isCurrent) return this.broken ? null : this.snapshot;
    for (const deadline = Date.now() + this.settleMs; ; await sleep(triesMs)) {
      const stamp = this.file.stamp();
      // Some editors move the old file away before they create the new one.
      const mayCome = stamp === null && this.snapshot !== null && this.snapshot.stamp !== null;
      if (mayCome && Date.now() < deadline) continue;
      try {
        this.snapshot = await this.load();
        this.broken = null;
        return this.snapshot;
      } catch (error) {
        if (!(error instanceof BrokenFile)) throw error;
        this.broken = { why: error.message, stamp };
      }
      if (Date.now() >= deadline) return null;
    }
  }

  private async load(): Promise<FileSnapshot> {
    const found = await this.file.read();
    const isTaken = this.snapshot?.isTaken === true && this.snapshot.text === (found?.text ?? null);
    if (!found) {
      const nothing = { stamp: null, text: null, savedAt: 0, mode: usualMode, isYoung: false };
      return { ...nothing, contents: emptyContents(), isTaken: true };
    }
    const { text, stamp, mtimeMs, mode } = found;
    const contents = this.snapshot?.text === text ? this.snapshot.contents : readContents(text);
    return { text, stamp, contents, savedAt: mtimeMs, mode, isYoung: isYoung(mtimeMs), isTaken };
  }

  /** After our own write. */
  wrote(text: string, contents: Contents, stamp: string | null): void {
    const mode = this.snapshot?.mode ?? usualMode;
    this.snapshot = { text, contents, stamp, savedAt: Date.now(), mode, isYoung: true, isTaken: true };
  }
}

const isYoung = (mtimeMs: number) => Math.abs(Date.now() - mtimeMs) < youngMs;
