// The store's side: all tasks once, and then only those that the event feed names.

import type { Dibs } from "../../client/client.js";
import { everyClaim } from "../../client/every-claim.js";
import { DibsError } from "../../contract/error.js";
import type { WireClaim, WireEvent, WireTask } from "../../contract/shapes.js";
import { isFinal } from "./report.js";

const pageMax = 1_000;
const atOnce = 16;

export class Mirror {
  readonly tasks = new Map<string, WireTask>();
  /** Tasks that the store has archived, until they are out of the file. */
  readonly archived = new Set<string>();
  /** Tasks came that were not there before. */
  hasGrown = false;
  /** The last event that was seen. */
  cursor = 0;
  private readonly changed = new Set<string>();
  /** By task and field. */
  private readonly edits = new Map<string, Map<string, number>>();
  /** The log does not reach back to when we were here last: when a field was edited is not known. */
  private isPatchy = false;
  private mustReload = false;
  /** How far the store's clock is ahead of ours. */
  private aheadMs = 0;

  constructor(
    private readonly dibs: Dibs,
    private readonly onChange: () => void,
  ) {}

  get hasNews(): boolean {
    return this.changed.size > 0 || this.mustReload;
  }

  /** By the store's clock. */
  get now(): number {
    return Date.now() + this.aheadMs;
  }

  /** From what was seen before (0: nothing was). */
  async open(cursor: number): Promise<void> {
    const { lastSeq, now } = await this.dibs.events.list({ limit: 1 });
    this.setClock(now);
    if (cursor > 0 && cursor <= lastSeq) await this.catchUp(cursor);
    else this.isPatchy = true;
    this.cursor = lastSeq;
    await this.reload();
  }

  private async reload(): Promise<void> {
    this.mustReload = false;
    const unseen = new Set([...this.changed, ...this.tasks.keys()]);
    this.changed.clear();
    let cursor: string | undefined;
    do {
      const page = await this.dibs.tasks.list({
        limit: pageMax,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const task of page.tasks) {
        this.put(task);
        unseen.delete(task.id);
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    for (const taskId of unseen) this.changed.add(taskId);
    await this.readChanged();
  }

  /** What has been committed by now. */
  async catchUp(after = this.cursor): Promise<void> {
    for (let next = after; ; ) {
      const page = await this.dibs.events.list({ after: next, limit: pageMax });
      this.setClock(page.now);
      if (page.firstAvailable > next + 1) this.lostTrack();
      for (const event of page.events) this.note(event);
      if (page.events.length < pageMax) return;
      next = page.nextAfter;
    }
  }

  private setClock(now: string): void {
    this.aheadMs = Date.parse(now) - Date.now();
  }

  /** Until the signal; troubles that pass are waited for by the client, others end it. */
  async follow(signal: AbortSignal, onTrouble: (error: unknown) => Promise<unknown>): Promise<void> {
    while (!signal.aborted) {
      try {
        const onReset = () => this.lostTrack();
        for await (const event of this.dibs.events.follow({ after: this.cursor, signal, onReset }))
          this.note(event);
      } catch (error) {
        if (signal.aborted) return;
        if (isFinal(error)) throw error;
        await onTrouble(error);
      }
    }
  }

  private lostTrack(): void {
    this.isPatchy = true;
    this.mustReload = true;
    this.onChange();
  }

  private note({ seq, taskId, type, at, data }: WireEvent): void {
    this.cursor = Math.max(this.cursor, seq);
    if (taskId === null) return;
    if (type === "task:updated" && Array.isArray(data.changed)) {
      const edits = this.edits.get(taskId) ?? new Map<string, number>();
      for (const field of data.changed as string[]) edits.set(field, Date.parse(at));
      this.edits.set(taskId, edits);
    }
    this.changed.add(taskId);
    this.onChange();
  }

  /** When one of these fields was last edited in the store, as far as anybody knows. */
  editedAt({ id, updatedAt }: WireTask, fields: readonly string[]): number {
    const known = fields.flatMap((field) => this.edits.get(id)?.get(field) ?? []);
    return known.length > 0 ? Math.max(...known) : this.isPatchy ? Date.parse(updatedAt) : 0;
  }

  /** What both sides agree on by now need not be remembered. */
  forgetEdits(): void {
    this.archived.clear();
    for (const taskId of this.edits.keys()) if (!this.changed.has(taskId)) this.edits.delete(taskId);
    this.isPatchy = false;
  }

  put(task: WireTask): void {
    if (!this.tasks.has(task.id)) this.hasGrown = true;
    this.tasks.set(task.id, task);
  }

  touch(taskId: string): void {
    this.changed.add(taskId);
  }

  /** Reads what has changed. */
  async refresh(): Promise<void> {
    if (this.mustReload || this.changed.size > Math.max(100, this.tasks.size / 5)) return this.reload();
    return this.readChanged();
  }

  private async readChanged(): Promise<void> {
    const ids = [...this.changed];
    this.changed.clear();
    try {
      for (let at = 0; at < ids.length; at += atOnce) {
        const part = ids.slice(at, at + atOnce);
        const answers = await Promise.all(part.map((taskId) => this.read(taskId)));
        for (const task of answers) if (task) this.put(task);
      }
    } catch (error) {
      for (const id of ids) this.changed.add(id);
      throw error;
    }
  }

  /** Null: it is there no more. */
  private async read(taskId: string): Promise<WireTask | null> {
    try {
      return (await this.dibs.tasks.get({ taskId })).task;
    } catch (error) {
      if (!(error instanceof DibsError && error.code === "TASK_NOT_FOUND")) throw error;
      this.tasks.delete(taskId);
      if (error.details.archivedAt !== undefined) this.archived.add(taskId);
      return null;
    }
  }

  /** When the first lease ends that was not over at `after`, by the store's clock; null: there is none. */
  firstEnd(after: number): number | null {
    let first: number | null = null;
    for (const { claim } of this.tasks.values()) {
      const end = claim === null ? Number.NaN : Date.parse(claim.expiresAt);
      if (end > after && (first === null || end < first)) first = end;
    }
    return first;
  }

  /** Heartbeats leave no events, and without a server nobody ends what is over. */
  async refreshClaims(): Promise<void> {
    const held = [...this.tasks.values()].filter(({ claim }) => claim !== null);
    if (held.length === 0) return;
    await this.dibs.claims.cleanup();
    const claims = new Map<string, WireClaim>();
    for await (const { taskId, claim } of everyClaim(this.dibs)) claims.set(taskId, claim);
    for (const task of held) {
      const claim = claims.get(task.id);
      if (claim?.epoch !== task.claim!.epoch) this.touch(task.id);
      else if (
        claim.lastHeartbeat !== task.claim!.lastHeartbeat ||
        claim.expiresAt !== task.claim!.expiresAt
      ) {
        this.put({ ...task, claim });
      }
    }
  }
}
