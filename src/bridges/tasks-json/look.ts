// The file as it was seen last. It is read again when its stamp differs, and also while it is so young that it could have changed
// once more within the same tick of the disk's clock.

import { setTimeout as sleep } from "node:timers/promises";
import { BrokenFile, type Document, emptyDocument, readDocument } from "./document.js";
import type { TaskFile } from "./file.js";

const youngMs = 100;
const triesMs = 25;

export interface Sight {
  /** Null: there is no file. */
  stamp: string | null;
  text: string | null;
  document: Document;
  savedAt: number;
  mode: number;
  isYoung: boolean;
  /** Its edits are in the store. */
  isTaken: boolean;
}

/** For a file that there is not yet: what is in it is nobody else's business. */
const usualMode = 0o600;

export class Looking {
  sight: Sight | null = null;
  /** What is wrong with it, and with which stamp. */
  broken: { why: string; stamp: string | null } | null = null;

  constructor(
    private readonly file: TaskFile,
    /** A file that is being written is broken for a moment: so long it gets before that is worth a word. */
    private readonly settleMs: number,
  ) {}

  get isCurrent(): boolean {
    const stamp = this.file.stamp();
    return this.broken ? this.broken.stamp === stamp : this.sight?.stamp === stamp && !this.sight.isYoung;
  }

  /** Null while it is broken. */
  async look(): Promise<Sight | null> {
    if (this.isCurrent) return this.broken ? null : this.sight;
    for (const deadline = Date.now() + this.settleMs; ; await sleep(triesMs)) {
      const stamp = this.file.stamp();
      // Some editors move the old one away before they make the new one.
      const mayCome = stamp === null && this.sight !== null && this.sight.stamp !== null;
      if (mayCome && Date.now() < deadline) continue;
      try {
        this.sight = await this.read();
        this.broken = null;
        return this.sight;
      } catch (error) {
        if (!(error instanceof BrokenFile)) throw error;
        this.broken = { why: error.message, stamp };
      }
      if (Date.now() >= deadline) return null;
    }
  }

  private async read(): Promise<Sight> {
    const found = await this.file.read();
    const isTaken = this.sight?.isTaken === true && this.sight.text === (found?.text ?? null);
    if (!found) {
      const nothing = { stamp: null, text: null, savedAt: 0, mode: usualMode, isYoung: false };
      return { ...nothing, document: emptyDocument(), isTaken: true };
    }
    const { text, stamp, mtimeMs, mode } = found;
    const document = this.sight?.text === text ? this.sight.document : readDocument(text);
    return { text, stamp, document, savedAt: mtimeMs, mode, isYoung: isYoung(mtimeMs), isTaken };
  }

  /** What we have put there ourselves. */
  wrote(text: string, document: Document, stamp: string | null): void {
    const mode = this.sight?.mode ?? usualMode;
    this.sight = { text, document, stamp, savedAt: Date.now(), mode, isYoung: true, isTaken: true };
  }
}

const isYoung = (mtimeMs: number) => Math.abs(Date.now() - mtimeMs) < youngMs;
