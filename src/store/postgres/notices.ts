// Who waits learns of other processes' commits: by a notice sent after the commit, and by looking now and then. The notice only
// makes it quick; a lost one, a lost listener or a pooler that swallows them costs time, nothing else.

import { randomUUID } from "node:crypto";
import type { Driver } from "./connection.js";

const channel = "dibs";
const publishAfterMs = 3;
const probeMs = 3_000;

/** How often to look: seldom while notices arrive, often while they do not. */
const lookMs = { heard: 1_000, unheard: 50 };

interface Options {
  driver: Driver;
  /** The version that each of these orgs has now. */
  look(org: string): Promise<number>;
  /** `null`: maybe all of them. */
  onChange(org: string | null, mayFree: boolean): void;
}

interface Message {
  from: string;
  orgs?: [org: string, mayFree: boolean][];
  probe?: true;
}

export class Notices {
  private readonly id = randomUUID();
  private readonly pending = new Map<string, boolean>();
  private readonly versions = new Map<string, number>();
  private publishing: NodeJS.Timeout | null = null;
  private looking: NodeJS.Timeout | null = null;
  private probing: NodeJS.Timeout | null = null;
  private isStarted = false;
  private isClosed = false;
  private isHeard = false;
  /** Why notices do not arrive, for people. */
  warning: string | null = null;

  constructor(private readonly options: Options) {}

  /** From now on the org is watched. */
  watch(org: string): void {
    this.versions.set(org, -1);
    if (!this.isStarted) this.listen();
    this.scheduleLook();
  }

  unwatch(org: string): void {
    this.versions.delete(org);
    if (this.versions.size > 0 || !this.looking) return;
    clearTimeout(this.looking);
    this.looking = null;
  }

  /** This process has committed. */
  committed(org: string, version: number, mayFree: boolean): void {
    if (this.versions.has(org)) this.versions.set(org, version);
    if (this.isClosed) return;
    this.pending.set(org, mayFree || this.pending.get(org) === true);
    this.publishing ??= setTimeout(() => this.publish(), publishAfterMs).unref();
  }

  private publish(): void {
    this.publishing = null;
    const orgs = [...this.pending];
    this.pending.clear();
    // A payload must stay below 8000 bytes.
    for (let at = 0; at < orgs.length; at += 50)
      void this.send({ from: this.id, orgs: orgs.slice(at, at + 50) });
  }

  private async send(message: Message): Promise<void> {
    const { driver } = this.options;
    await driver
      .unsafe("SELECT pg_notify($1, $2)", [channel, JSON.stringify(message)])
      .catch(() => undefined);
  }

  private listen(): void {
    this.isStarted = true;
    const again = () => {
      this.isHeard = false;
      // Something may have been missed meanwhile.
      this.options.onChange(null, true);
      this.probe();
    };
    this.options.driver
      .listen(channel, (payload) => this.hear(payload), again)
      .catch((error: Error) => this.deaf(`the server refuses LISTEN (${error.message})`));
  }

  /** Behind a transaction pooler LISTEN succeeds, and nothing ever arrives. */
  private probe(): void {
    void this.send({ from: this.id, probe: true });
    if (this.probing) clearTimeout(this.probing);
    this.probing = setTimeout(() => this.deaf("a pooler may be in between"), probeMs).unref();
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
    if (message.from === this.id) {
      if (!message.probe) return;
      if (this.probing) clearTimeout(this.probing);
      this.isHeard = true;
      this.warning = null;
      return;
    }
    for (const [org, mayFree] of message.orgs ?? []) {
      if (this.versions.has(org)) this.options.onChange(org, mayFree);
    }
  }

  private scheduleLook(): void {
    if (this.looking || this.isClosed) return;
    const every = this.isHeard ? lookMs.heard : lookMs.unheard;
    this.looking = setTimeout(() => void this.look(), every * (0.5 + Math.random())).unref();
  }

  private async look(): Promise<void> {
    for (const [org, seen] of [...this.versions]) {
      try {
        const version = await this.options.look(org);
        if (!this.versions.has(org) || version <= (this.versions.get(org) ?? -1)) continue;
        this.versions.set(org, version);
        if (seen !== -1) this.options.onChange(org, true);
      } catch {
        // The next look may succeed.
      }
    }
    this.looking = null;
    if (this.versions.size > 0) this.scheduleLook();
  }

  close(): void {
    this.isClosed = true;
    this.versions.clear();
    for (const timer of [this.publishing, this.looking, this.probing]) if (timer) clearTimeout(timer);
  }
}
