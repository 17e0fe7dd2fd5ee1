// A lander as src/lander is one, with its real lease, on a repository that is a model: merges, checks, intent, move, verify, report.
// It can be stopped and killed before each step, and its git command outlives it.

import type { Dibs } from "../../../src/client/client.js";
import { DibsError } from "../../../src/contract/error.js";
import { Lease } from "../../../src/lander/lease.js";
import type { Repository } from "./repository.js";
import { project } from "./server.js";
import type { Process, World } from "./world.js";

type Queued = Awaited<ReturnType<Dibs["landings"]["list"]>>["queue"][number];
type Landing = Awaited<ReturnType<Dibs["landings"]["open"]>>["landing"];
type Entry = { queued: Queued; commit: string };

export interface LanderParts {
  world: World;
  process: Process;
  /** Where git commands run. */
  git: Process;
  dibs: Dibs;
  repository: Repository;
  /** A planted bug: it forces the target to where it wants it, with or without the lease. */
  ignoresLease: boolean;
}

export const target = "main";
const ttlMs = 3_000;

export class Lander {
  private lease!: Lease;
  private fence: Repository["fence"] = null;
  private readonly holder: string;

  constructor(private readonly parts: LanderParts) {
    this.holder = `${parts.process.name}-${parts.process.incarnation}`;
  }

  async run(): Promise<never> {
    const { dibs, world, repository } = this.parts;
    const input = { project, repository: repository.root, target, holder: this.holder, host: "fleet", ttlMs };
    const watch = { isGone: () => false, onTrouble: () => undefined };
    for (;;) {
      const lease = await Lease.take(dibs, input, watch).catch(() => null);
      if (lease instanceof Lease) {
        this.lease = lease;
        await this.work().catch(refusedOrLost);
        await lease.giveBack();
      }
      await world.pause(2_000);
    }
  }

  /** Until the lease is lost. */
  private async work(): Promise<void> {
    const { landing } = this.lease.first;
    await this.takeOver();
    if (landing?.state === "intended") await this.settle(landing);
    for (;;) {
      this.refuseLost();
      if (!(await this.round())) await this.parts.world.pause(1_300);
    }
  }

  /** Any step can be the last one. */
  private async step(): Promise<void> {
    const { world, process } = this.parts;
    await world.pause(process.random.below(process.random.chance(25) ? 2_000 : 60));
  }

  private refuseLost(): void {
    if (!this.parts.ignoresLease) this.lease.refuseLost();
  }

  /** A command of git goes on when the lander is stopped or killed, and takes its time. */
  private git<T>(command: () => T): Promise<T> {
    const { world, process, git } = this.parts;
    const { incarnation } = process;
    const ms = process.random.chance(5) ? process.random.below(5_000) : process.random.below(30);
    return new Promise((resolve) => {
      world.after(git, ms, () => {
        const result = command();
        world.after(process, 1, () => process.incarnation === incarnation && resolve(result));
      });
    });
  }

  private async takeOver(): Promise<void> {
    const { repository } = this.parts;
    const fence = { by: this.holder, epoch: this.lease.epoch };
    do {
      this.refuseLost();
      const before = await this.git(() => repository.fence);
      if (await this.git(() => repository.takeOver(before, fence))) this.fence = fence;
    } while (this.fence !== fence);
  }

  /** Finishes a recorded intent, or drops it if the target does not have it. */
  private async settle({ id, commit }: Pick<Landing, "id" | "commit">): Promise<void> {
    const { dibs, repository } = this.parts;
    const { epoch } = this.lease;
    const isThere = await this.git(() => repository.history().some((each) => each.id === commit));
    await this.step();
    if (isThere) await dibs.landings.landed({ id, epoch });
    else await dibs.landings.dropped({ id, epoch });
  }

  /** Whether anything landed or came back. */
  private async round(): Promise<boolean> {
    const { dibs, repository } = this.parts;
    const place = { repository: repository.root, target };
    const { queue } = await dibs.landings.list({ ...place, limit: 100 });
    const tip = await this.git(() => repository.target);
    const entries: Entry[] = [];
    let onto = tip;
    for (const queued of queue) {
      if (queued.commit === null || (queued.inspected && !queued.approved)) continue;
      const files = repository.merge(onto, queued.commit);
      if (!files && onto !== tip) continue;
      const of = { taskId: queued.taskId, submission: queued.number };
      const commit = files && repository.land(onto, files, of);
      const problem = commit === null ? "conflict" : repository.isGreen(commit) ? null : "check-failed";
      if (problem) {
        if (entries.length > 0) continue;
        const { id } = await this.open([], tip);
        await dibs.landings.returned({
          id,
          epoch: this.lease.epoch,
          ...of,
          reason: problem,
          detail: problem,
        });
        await dibs.landings.dropped({ id, epoch: this.lease.epoch });
        return true;
      }
      // Whoever must approve it sees what it changes first.
      if (queued.reviewNeeded !== "none" && !queued.inspected) {
        if (entries.length > 0) continue;
        await this.recordDiff(queued, tip);
        return true;
      }
      onto = commit!;
      entries.push({ queued, commit: onto });
      if (entries.length === 3) break;
    }
    if (entries.length === 0) return false;
    await this.land(entries, tip);
    return true;
  }

  private async open(entries: Entry[], base: string): Promise<Landing> {
    const { dibs, repository } = this.parts;
    await this.step();
    const { landing } = await dibs.landings.open({
      project,
      repository: repository.root,
      target,
      epoch: this.lease.epoch,
      base,
      tasks: tasksOf(entries),
    });
    return landing;
  }

  private async recordDiff({ taskId, number }: Queued, tip: string): Promise<void> {
    const { dibs } = this.parts;
    const { epoch } = this.lease;
    const { id } = await this.open([], tip);
    const files = [{ path: "file", insertions: 1, deletions: 0 }];
    const diff = {
      base: tip,
      files,
      fileCount: 1,
      insertions: 1,
      deletions: 0,
      reviewPaths: [],
      patchId: null,
    };
    await dibs.landings.diff({
      id,
      epoch,
      taskId,
      submission: number,
      diff,
      patch: { text: "+", omitted: 0 },
    });
    await dibs.landings.dropped({ id, epoch });
  }

  private async land(entries: Entry[], tip: string): Promise<void> {
    const { dibs, repository, ignoresLease } = this.parts;
    const { epoch } = this.lease;
    const { id } = await this.open(entries, tip);
    const { commit } = entries.at(-1)!;
    this.refuseLost();
    await this.step();
    await dibs.landings.intent({ id, epoch, commit, tree: commit, tasks: tasksOf(entries) });
    await this.step();
    this.refuseLost();
    await this.git(() => repository.move(tip, commit, this.fence, ignoresLease));
    await this.step();
    this.refuseLost();
    await this.settle({ id, commit });
  }
}

const tasksOf = (entries: Entry[]) =>
  entries.map(({ queued: { taskId, number }, commit }) => ({ taskId, submission: number, commit }));

/** The lease is lost, or what was to land has changed: it begins again. */
function refusedOrLost(error: unknown): void {
  if (error instanceof DibsError || (error as Error).name === "LeaseLost") return;
  throw error;
}
