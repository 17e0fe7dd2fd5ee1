// Listeners learn of other processes' commits by reading the log: often while something happens, seldom while the org is quiet.

/** How often the log is read. */
const everyMs = { busy: 500, quiet: 2_000 };
/** An org is quiet when another process has committed nothing, and no listener has come, for this long. */
const quietAfterMs = 30_000;

interface Watched {
  timer: NodeJS.Timeout | null;
  busyUntil: number;
}

export class Watch {
  private readonly orgs = new Map<string, Watched>();

  constructor(private readonly poll: (org: string) => Promise<void>) {}

  start(org: string): void {
    const watched = { timer: null, busyUntil: performance.now() + quietAfterMs };
    this.orgs.set(org, watched);
    this.schedule(org, watched);
  }

  stop(org: string): void {
    const watched = this.orgs.get(org);
    if (watched?.timer) clearTimeout(watched.timer);
    this.orgs.delete(org);
  }

  noteForeign(org: string): void {
    const watched = this.orgs.get(org);
    if (watched) watched.busyUntil = performance.now() + quietAfterMs;
  }

  private schedule(org: string, watched: Watched): void {
    const every = performance.now() < watched.busyUntil ? everyMs.busy : everyMs.quiet;
    watched.timer = setTimeout(() => void this.look(org, watched), every).unref();
  }

  private async look(org: string, watched: Watched): Promise<void> {
    // The next poll may succeed.
    await this.poll(org).catch(() => undefined);
    if (this.orgs.get(org) === watched) this.schedule(org, watched);
  }

  close(): void {
    for (const org of [...this.orgs.keys()]) this.stop(org);
  }
}
