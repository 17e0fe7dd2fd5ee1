// Who waits learns of other processes' commits: by a notice sent after the commit, and by looking now and then. The notice only
// makes it quick; a lost one, a lost listener or a pooler that swallows them costs time, nothing else.

import { randomUUID } from "node:crypto";
import { backoffMs } from "../../common/retry.js";
import type { Database } from "./database.js";

const channel = "dibs";
const publishAfterMs = 3;
const probeMs = 3_000;

/** Before listening again on a new connection. */
const againMs = { first: 20, max: 5_000 };

/** How often to look: seldom while notices arrive, often while they do not. */
const lookMs = { heard: 1_000, unheard: 50 };

/** A payload must stay below 8000 bytes. Versions that are left out are found by a look. */
const orgsSentMax = 30;
const versionsSentMax = 5;

/** Versions that are known while one before them is missing: at most so many per org. */
const aheadMax = 1_000;

/** Which commits of an org this process knows of: a look that finds no other has nothing to report. */
class KnownVersions {
  private readonly ahead = new Set<number>();

  constructor(private last: number) {}

  add(version: number): void {
    if (version <= this.last) return;
    this.ahead.add(version);
    while (this.ahead.delete(this.last + 1)) this.last++;
    if (this.ahead.size > aheadMax) this.ahead.clear();
  }

  /** Whether a commit up to this version was not known. */
  isNews(version: number): boolean {
    return version > this.last;
  }

  addAllUpTo(version: number): void {
    this.last = Math.max(this.last, version);
    for (const each of this.ahead) if (each <= this.last) this.ahead.delete(each);
    while (this.ahead.delete(this.last + 1)) this.last++;
  }
}

interface Pending {
  mayFree: boolean;
  versions: number[];
}

interface Options {
  database: Pick<Database, "listen" | "notify">;
  /** The version that each of these orgs has now. */
  look(org: string): Promise<number>;
  /** `null`: maybe all of them. */
  onChange(org: string | null, mayFree: boolean): void;
}

interface Message {
  from: string;
  /** Earlier programs send no versions. */
  orgs?: [org: string, mayFree: boolean, versions?: number[]][];
  probe?: true;
}

export class Notices {
  private readonly id = randomUUID();
  private readonly pending = new Map<string, Pending>();
  private readonly versions = new Map<string, KnownVersions>();
  private publishing: NodeJS.Timeout | null = null;
  private looking: NodeJS.Timeout | null = null;
  private probing: NodeJS.Timeout | null = null;
  private isStarted = false;
  private isClosed = false;
  private isHeard = false;
  private listener: { destroy(): void } | null = null;
  /** Why notices do not arrive, for people. */
  warning: string | null = null;

  constructor(private readonly options: Options) {}

  /** From now on the org is watched for a version later than that. */
  watch(org: string, version: number): void {
    this.versions.set(org, new KnownVersions(version));
    if (!this.isStarted) void this.listen();
    this.scheduleLook();
  }

  unwatch(org: string): void {
    this.versions.delete(org);
  }

  /** This process has committed. */
  committed(org: string, version: number, mayFree: boolean): void {
    // If others have committed in between, their notices or the next look tell of them.
    this.versions.get(org)?.add(version);
    if (this.isClosed) return;
    const before = this.pending.get(org);
    const versions = [...(before?.versions ?? []), version].slice(-versionsSentMax);
    this.pending.set(org, { mayFree: mayFree || before?.mayFree === true, versions });
    this.publishing ??= setTimeout(() => void this.publish(), publishAfterMs).unref();
  }

  private async publish(): Promise<void> {
    if (this.publishing) clearTimeout(this.publishing);
    this.publishing = null;
    const orgs = [...this.pending].map(
      ([org, { mayFree, versions }]): NonNullable<Message["orgs"]>[number] => [org, mayFree, versions],
    );
    this.pending.clear();
    for (let at = 0; at < orgs.length; at += orgsSentMax) {
      await this.send({ from: this.id, orgs: orgs.slice(at, at + orgsSentMax) });
    }
  }

  private async send(message: Message): Promise<void> {
    await this.options.database.notify(channel, JSON.stringify(message)).catch(() => undefined);
  }

  private async listen(): Promise<void> {
    this.isStarted = true;
    for (let tries = 0, heard = 0; !this.isClosed; tries++) {
      try {
        await this.listenOnce(heard > 0);
        heard++;
        tries = 0;
      } catch (error) {
        this.deaf(`the server refuses LISTEN (${(error as Error).message})`);
      }
      this.isHeard = false;
      const pauseMs = backoffMs(againMs.first, tries, againMs.max);
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    }
  }

  /** Until the connection is lost. */
  private async listenOnce(isAgain: boolean): Promise<void> {
    let onLost = () => {};
    const lost = new Promise<void>((resolve) => {
      onLost = resolve;
    });
    const { database, onChange } = this.options;
    const listener = await database.listen(channel, (payload) => this.hear(payload), onLost);
    this.listener = listener;
    if (this.isClosed) return listener.destroy();
    // Something may have been missed while nobody listened.
    if (isAgain) onChange(null, true);
    this.probe();
    await lost;
  }

  /** Behind a transaction pooler LISTEN succeeds, and nothing ever arrives. */
  private probe(): void {
    void this.send({ from: this.id, probe: true });
    if (this.probing) clearTimeout(this.probing);
    this.probing = setTimeout(() => {
      this.deaf("a connection pooler could be in between");
      // The probe itself may have been lost.
      if (!this.isClosed) this.probe();
    }, probeMs).unref();
  }

  private deaf(reason: string): void {
    this.isHeard = false;
    this.warning = `Notices of other servers' changes do not arrive: ${reason}. Changes are found by looking every ${lookMs.unheard} ms.`;
  }

  private hear(payload: string): void {
    let message: Message;
    try {
      message = JSON.parse(payload);
    } catch {
      return; // Not ours.
    }
    if (this.probing) clearTimeout(this.probing);
    this.isHeard = true;
    this.warning = null;
    if (message.from === this.id) return;
    for (const [org, mayFree, versions = []] of message.orgs ?? []) {
      const known = this.versions.get(org);
      if (!known) continue;
      for (const version of versions) known.add(version);
      this.options.onChange(org, mayFree);
    }
  }

  private scheduleLook(): void {
    if (this.looking || this.isClosed) return;
    const every = this.isHeard ? lookMs.heard : lookMs.unheard;
    this.looking = setTimeout(() => void this.look(), every * (0.5 + Math.random())).unref();
  }

  private async look(): Promise<void> {
    for (const [org, known] of [...this.versions]) {
      try {
        const version = await this.options.look(org);
        if (!known.isNews(version) || this.versions.get(org) !== known) continue;
        known.addAllUpTo(version);
        this.options.onChange(org, true);
      } catch {
        // The next look may succeed.
      }
    }
    this.looking = null;
    if (this.versions.size > 0) this.scheduleLook();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.versions.clear();
    for (const timer of [this.looking, this.probing]) if (timer) clearTimeout(timer);
    // A short program's only commit must be heard of, too.
    if (this.pending.size > 0) await this.publish();
    this.listener?.destroy();
  }
}
