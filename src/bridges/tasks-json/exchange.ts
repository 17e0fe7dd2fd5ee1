// One exchange: what changed in the store is read, what changed in the file goes into the store, and what both make together is
// written. It begins again when somebody writes the file in between.

import type { Dibs } from "../../client/client.js";
import { Applier } from "./apply.js";
import { type Base, digestOf } from "./base.js";
import { idOf, isObject } from "./contents.js";
import { type Dialect, detectDialect, type Raw } from "./dialect.js";
import type { TaskFile } from "./file.js";
import { FileCache, type FileSnapshot } from "./file-cache.js";
import { FileLock, type LockOptions } from "./lock.js";
import type { Mirror } from "./mirror.js";
import { ConflictRecord, type News, needsAttention } from "./report.js";
import { takeEdits } from "./take.js";
import { writeOut } from "./write.js";

export interface ExchangeOptions {
  dibs: Dibs;
  file: TaskFile;
  mirror: Mirror;
  base: Base;
  /** Given, not found out. */
  dialect: Dialect | undefined;
  removed: "keep" | "cancel";
  lock: LockOptions;
  settleMs: number;
  tell(news: News): void;
}

const roundsMax = 5;

export class Exchange {
  /** How much there was that somebody should look at. */
  attentionCount = 0;
  /** What the last write cost. */
  writeMs = 0;
  private base: Base;
  private dialect: Dialect;
  private readonly cache: FileCache;
  private readonly applier: Applier;
  private readonly record: ConflictRecord;
  private readonly taken = new Map<string, Raw>();
  private unrecorded: News[] = [];
  /** Entries that could not become tasks, as they were told; and those of the present look. */
  private told = new Set<string>();
  private telling = new Set<string>();
  private hasEdits = false;
  private isUnfinished = true;
  private isToldBroken = false;

  constructor(private readonly options: ExchangeOptions) {
    const { dibs, mirror, file, settleMs, base, dialect } = options;
    this.base = base;
    this.dialect = dialect ?? base.dialect;
    this.cache = new FileCache(file, settleMs);
    this.record = new ConflictRecord(`${file.path}.conflicts`);
    this.applier = new Applier(dibs, mirror, file.name, (news) => this.tell(news));
  }

  get isDue(): boolean {
    return this.isUnfinished || this.options.mirror.hasNews || !this.cache.isCurrent;
  }

  get isFinished(): boolean {
    return !this.isUnfinished;
  }

  /** Why the file is left alone; null: it is whole. */
  get brokenBecause(): string | null {
    return this.cache.broken?.why ?? null;
  }

  /** There is something to write of which no event told. */
  expectMore(): void {
    this.isUnfinished = true;
  }

  async run(): Promise<void> {
    this.isUnfinished = true;
    for (let round = 0; round < roundsMax && this.isUnfinished; round++) {
      await this.options.mirror.refresh();
      const snapshot = await this.readFile();
      if (snapshot) {
        await this.take(snapshot);
        await this.write(snapshot);
      } else this.isUnfinished = false;
    }
  }

  private async readFile(): Promise<FileSnapshot | null> {
    if (this.cache.isCurrent) return this.cache.broken ? null : this.cache.snapshot;
    const before = this.brokenBecause;
    const snapshot = await this.locked(() => this.cache.read());
    const { name } = this.options.file;
    if (!snapshot && (!this.isToldBroken || before !== this.brokenBecause)) {
      this.isToldBroken = true;
      this.tell({ what: "broken", message: `${name} is left alone: ${this.brokenBecause}` });
    } else if (snapshot && this.isToldBroken) {
      this.isToldBroken = false;
      this.tell({ what: "whole", message: `${name} can be read again` });
    }
    return snapshot;
  }

  private async locked<T>(work: () => Promise<T>): Promise<T> {
    const lock = await FileLock.acquire(`${this.options.file.path}.lock`, this.options.lock);
    try {
      return await work();
    } finally {
      lock.release();
    }
  }

  private async take(snapshot: FileSnapshot): Promise<void> {
    const { mirror, removed, dialect } = this.options;
    // What was refused may be right by now: the dependency it named has come.
    const mayRetry = mirror.hasGrown && this.told.size > 0;
    mirror.hasGrown = false;
    if ((snapshot.isTaken || this.isOurs(snapshot)) && !mayRetry) return;
    const values = snapshot.contents.entries.map(({ value }) => value).filter(isObject);
    this.dialect = dialect ?? detectDialect(values) ?? this.base.dialect;
    this.telling = new Set();
    const { base, applier, taken } = this;
    const tell = (news: News) => this.tell(news);
    await takeEdits({ snapshot, base, taken, dialect: this.dialect, mirror, applier, removed, tell });
    this.told = this.telling;
    this.hasEdits = true;
    snapshot.isTaken = true;
    // What follows from the edits: groups that ended, leases that were found to be over.
    await mirror.catchUp();
    await mirror.refresh();
  }

  /** As we left it when we were here last, with nothing in it that is no task. */
  private isOurs(snapshot: FileSnapshot): boolean {
    const { text, contents } = snapshot;
    if (text === null || digestOf(text) !== this.base.digest) return false;
    const { tasks } = this.options.mirror;
    snapshot.isTaken = contents.entries.every((entry) => tasks.has(String(idOf(entry, this.dialect))));
    return snapshot.isTaken;
  }

  private async write(snapshot: FileSnapshot): Promise<void> {
    const { file, mirror } = this.options;
    const { base, dialect, hasEdits } = this;
    const startedAt = Date.now();
    // First of all: what is not taken is about to be overwritten.
    await this.record.add(this.unrecorded);
    this.unrecorded = [];
    const locked = <T>(work: () => Promise<T>) => this.locked(work);
    const written = await writeOut({ snapshot, base, dialect, mirror, file, hasEdits, locked });
    if (!written) return;
    const { text, contents, stamp, tasks, changed } = written;
    this.base = written.base;
    this.hasEdits = false;
    this.taken.clear();
    this.isUnfinished = false;
    mirror.forgetEdits();
    if (text === null) return;
    this.writeMs = Date.now() - startedAt;
    this.cache.wrote(text, contents, stamp);
    const count = tasks === 1 ? "1 task" : `${tasks} tasks`;
    this.tell({ what: "wrote", message: `${count}, ${changed} changed`, tasks, changed });
  }

  private tell(news: News): void {
    if (news.what === "refused" && news.field === "task") {
      const key = JSON.stringify(news);
      this.telling.add(key);
      if (this.told.has(key)) return;
    }
    if (needsAttention(news)) this.attentionCount++;
    if (news.what === "conflict" || news.what === "refused") this.unrecorded.push(news);
    this.options.tell(news);
  }
}
