// Brings the rows of the log into the tables, in transactions that also move `applied` or `step` from what this applier saw: one
// that comes late fails. The rows are those at the head; a half-applied list is under the overlay of every reader, and whoever
// continues begins with a list of its own.

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { itemsOf } from "./body.js";
import { pauseAfter } from "./calls.js";
import { DynamoError, dynamoLimits, itemBytes, keyOf, type TransactWrite } from "./client.js";
import { isTransient } from "./errors.js";
import type { Write } from "./items.js";
import { type Meta, type Move, metaKey, moveMeta } from "./meta.js";
import type { OrgLog } from "./org-log.js";
import { expiryAttribute } from "./tables.js";
import { Trimmer } from "./trim.js";

/** One write of a transaction is that of META. */
const rowsMax = dynamoLimits.transactionItemsMax - 1;
/** The request is larger than its items. */
const bytesMax = dynamoLimits.transactionBytesMax * 0.75;
const failuresMax = 8;
/** After another applier was first: it is probably not done. */
const afterOtherMs = 50;

export class Applier {
  private running: Promise<void> | null = null;
  /** Why rows could not be applied the last time, for people. */
  warning: string | null = null;

  /** As this applier has left it. */
  private seen: Meta | null = null;

  private readonly trimmer: Trimmer;

  constructor(private readonly log: OrgLog) {
    this.trimmer = new Trimmer(log);
  }

  /** How many rows wait to be applied. */
  get backlog(): number {
    return this.log.overlay.size;
  }

  /** Applies everything up to the head, in the background. */
  start(): void {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
  }

  /** Resolves when what was under way is done. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    // Others in this turn of the event loop commit first.
    await delay(0);
    for (let failures = 0; failures < failuresMax && this.log.applied < this.log.head; ) {
      try {
        if (await this.applyAll()) failures = 0;
        else await delay(Math.random() * afterOtherMs * (1 + failures++));
        this.warning = null;
        await this.trimmer.trimSometimes();
      } catch (error) {
        this.warning = `Commits are not brought into the tables: ${(error as Error).message}`;
        if (!isTransient(error)) return;
        await delay(pauseAfter(failures++));
      }
    }
  }

  /** Returns whether this applier came to the end of its list. */
  private async applyAll(): Promise<boolean> {
    const { log } = this;
    const { head, generation } = log;
    const changed = log.overlay.since(log.applied);
    const isOrg = ({ table, sk }: Write) => table === "log" && sk === metaKey;
    const org = changed.find(isOrg)?.data ?? null;
    const writes = changed.filter((write) => !isOrg(write));
    let meta = this.seen ?? (await this.meta());
    this.seen = null;
    if (meta.applied >= head) return true;
    const list = stepsOf(log, writes, head);
    for (const [at, step] of list.entries()) {
      const isLast = at === list.length - 1;
      const next = isLast ? { applied: head, step: 0 } : { applied: meta.applied, step: meta.step + 1 };
      const isDone = generation === log.generation && (await this.apply(step, { from: meta, to: next, org }));
      if (!isDone) {
        await this.meta();
        return false;
      }
      meta = { ...meta, ...next };
    }
    this.seen = meta;
    log.noteApplied(head);
    return true;
  }

  private async meta(): Promise<Meta> {
    const meta = await this.log.meta();
    if (!meta) throw new TypeError("an org in the log has no META");
    this.log.noteApplied(meta.applied);
    return meta;
  }

  /** False: another applier was first, or the answer was lost; META tells. */
  private async apply(step: readonly TransactWrite[], to: Move): Promise<boolean> {
    const { calls, keys } = this.log;
    const move = moveMeta(calls.tables.log, keys, to);
    const token = randomUUID();
    try {
      await calls.once(() => calls.client.transactWriteItems([...step, move], { token }));
      return true;
    } catch (error) {
      if (!(error instanceof DynamoError)) throw error;
      if (error.kind === "lost") return false;
      if (error.kind !== "transaction-cancelled") throw error;
      const reasons = error.reasons.map(({ kind }) => kind);
      if (reasons.some((kind) => kind === "invalid" || kind === "too-large")) throw error;
      return false;
    }
  }
}

/** The rows as they are at `version`, by transactions. */
function stepsOf(log: OrgLog, writes: readonly Write[], version: number): TransactWrite[][] {
  const { tables } = log.calls;
  const steps: TransactWrite[][] = [[]];
  let bytes = 0;
  const add = (write: TransactWrite, size: number) => {
    if (steps.at(-1)!.length >= rowsMax || bytes + size > bytesMax) {
      steps.push([]);
      bytes = 0;
    }
    steps.at(-1)!.push(write);
    bytes += size;
  };
  for (const write of writes) {
    const table = tables[write.table];
    if (write.data === null) {
      add({ delete: { table, key: keyOf(write.pk, write.sk) } }, write.pk.length + write.sk.length);
      continue;
    }
    for (const item of itemsOf(write, write.data, version)) {
      if (write.expiresAt !== undefined) item[expiryAttribute] = { N: String(write.expiresAt) };
      add({ put: { table, item } }, itemBytes(item));
    }
  }
  return steps;
}
