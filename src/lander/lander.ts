// The lander: one program per repository and target that merges what was submitted, checks exactly the tree that would land, and
// moves the target. Everything it decides is recorded in the store under its lease; git's refs are moved under its fence.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Dibs } from "../client/client.js";
import { isTransient, untilAnswered } from "../client/holding/index.js";
import { Ending, pause } from "../common/abort.js";
import { Wake } from "../common/wake.js";
import { DibsError } from "../contract/error.js";
import { landerName, landerPid } from "../contract/host.js";
import { git } from "../runner/git.js";
import type { Machine } from "../runner/processes.js";
import {
  refuseOldGit,
  refuseOtherRepository,
  rootCommitOf,
  type Target,
  targetOf,
} from "../runner/target.js";
import { Held, LeaseLost, SettingsChanged } from "./hold.js";
import { type Busy, Lease } from "./lease.js";
import { acceptedRewind, lookAt } from "./look.js";
import { Committer, Merger } from "./merge.js";
import { type Repository, repositoryAt } from "./repository.js";
import type { Step } from "./steps.js";
import { candidateOf, fetchSubmission, isObjectId, nameOf, type Queued } from "./submissions.js";
import { missingCommit, notACommit } from "./texts.js";
import { type LanderEnd, queueMax, Work, type WorkParts } from "./work.js";
import { LandingWorktree } from "./worktree.js";

export interface LanderOptions {
  dibs: Dibs;
  /** A directory of the repository. */
  directory: string;
  machine: Machine;
  project?: string;
  /** Until nothing can land. */
  once?: boolean;
  signal: AbortSignal;
  onStep?(step: Step): void;
  /** Troubles that may pass. */
  onTrouble?(error: unknown): void;
  timings?: Partial<LanderTimings>;
  /** The guard's program; default: the built one. */
  guardFile?: string;
  /** Called before every effect, with its name: for tests that end a lander there. */
  before?(effect: string): Promise<void> | void;
}

export interface LanderTimings {
  ttlMs: number;
  /** How often a held landing is looked at again, and the queue without news. */
  lookMs: number;
  retryMs: number;
  /** How long the signer of a commit can take. */
  signMs: number;
}

const defaultTimings: LanderTimings = { ttlMs: 60_000, lookMs: 10_000, retryMs: 500, signMs: 60_000 };

export async function runLander(options: LanderOptions): Promise<LanderEnd> {
  for (;;) {
    try {
      return await (await Lander.open(options)).run();
    } catch (error) {
      if (!(error instanceof SettingsChanged)) throw error;
    }
  }
}

/** What would happen to the submissions that wait, one after the other; nothing is moved or recorded. */
export async function previewLandings(options: LanderOptions): Promise<LanderEnd> {
  return (await Lander.open(options)).preview();
}

/** A person took landed commits away from the target on purpose. */
export async function acceptRewind({ dibs, directory, project }: LanderOptions): Promise<void> {
  const { root } = await repositoryAt(directory);
  const { landings } = await dibs.landings.list({
    ...(project === undefined ? {} : { project }),
    limit: 100,
  });
  const hasChange = ({ tasks }: (typeof landings)[number]) => tasks.some(({ commit }) => commit !== null);
  const last = landings.find((each) => each.state === "landed" && hasChange(each))?.commit;
  if (last) await git(root, ["config", "--local", acceptedRewind, last]);
}

const nameOfLander = () => landerName(hostname(), process.pid, randomBytes(3).toString("hex"));

/** By the name that a lander of this machine has. */
function isGone(holder: string, machine: Machine): boolean {
  const pid = landerPid(holder);
  return pid !== null && !machine.isAlive(pid, null);
}

class Lander {
  private readonly timings: LanderTimings;
  private readonly holder = nameOfLander();
  private readonly wake = new Wake();
  private readonly end: LanderEnd = { landed: 0, returned: 0, held: [] };
  /** Submissions that are tried alone: their batch was red, or they conflict with another of it. */
  private readonly alone = new Set<string>();
  private readonly kept = new Set<string>();

  private constructor(
    private readonly options: LanderOptions,
    private readonly project: string,
    private readonly repository: Repository,
    private readonly place: Target,
    private readonly root: string,
  ) {
    this.timings = { ...defaultTimings, ...options.timings };
  }

  static async open(options: LanderOptions): Promise<Lander> {
    const { dibs, directory } = options;
    const { project } = await dibs.projects.get(options.project === undefined ? {} : { id: options.project });
    const { land } = project.settings;
    const place = targetOf(land);
    if (!place) {
      throw new DibsError("INVALID_STATE", `Landing is off in project ${project.id}.`, {
        hint: "Run: dibs init --land <branch>",
      });
    }
    const repository = await repositoryAt(directory);
    await refuseOldGit(repository.root);
    await refuseOtherRepository(repository.root, land);
    const root = land.repository ?? (await rootCommitOf(repository.root, place));
    return new Lander(options, project.id, repository, place, root);
  }

  private get dibs(): Dibs {
    return this.options.dibs;
  }

  private say(step: Step): void {
    this.options.onStep?.(step);
  }

  private trouble(error: unknown): void {
    this.options.onTrouble?.(error);
  }

  private async before(effect: string): Promise<void> {
    await this.options.before?.(effect);
  }

  /** Repeats a call while the store cannot answer it. */
  private stored<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return untilAnswered(call, {
      retryMs: this.timings.retryMs,
      isStopped: () => signal.aborted,
      onTrouble: (error) => this.trouble(error),
      signal,
    });
  }

  async run(): Promise<LanderEnd> {
    const { signal, once } = this.options;
    const stopFollowing = new AbortController();
    const following = this.follow(stopFollowing.signal);
    const onStop = () => this.wake.ring();
    signal.addEventListener("abort", onStop);
    let isWaiting = false;
    try {
      while (!signal.aborted) {
        const lease = await this.takeLease();
        if (!(lease instanceof Lease)) {
          if (once && !lease.isGone) throw anotherWorks(this.place.target);
          if (!isWaiting) this.say({ step: "waiting", for: "lease", target: this.place.target });
          isWaiting = true;
          await pause(Math.min(this.timings.lookMs, this.timings.ttlMs / 3), signal);
          continue;
        }
        isWaiting = false;
        const isDone = await this.workUnder(lease);
        if (isDone) break;
        // Lost, or the store was away.
        await pause(this.timings.retryMs, signal);
      }
      return this.end;
    } finally {
      signal.removeEventListener("abort", onStop);
      stopFollowing.abort();
      await following;
    }
  }

  private takeLease(): Promise<Lease | Busy> {
    const { machine, signal } = this.options;
    const input = {
      project: this.project,
      repository: this.root,
      target: this.place.target,
      holder: this.holder,
      host: machine.hostId,
      ttlMs: this.timings.ttlMs,
    };
    const watch = {
      isGone: (holder: string) => isGone(holder, machine),
      onTrouble: (error: unknown) => this.trouble(error),
    };
    return this.stored(() => Lease.take(this.dibs, input, watch), signal);
  }

  /** Whether the lander has ended: stopped, or with `once` nothing can land. */
  private async workUnder(lease: Lease): Promise<boolean> {
    const ending = new Ending([this.options.signal, lease.lost]);
    this.say({ step: "leased", target: this.place.target, epoch: lease.epoch });
    const work = new Work(this.parts(lease, ending.signal));
    try {
      return await this.rounds(work, lease);
    } catch (error) {
      if (this.options.signal.aborted) return true;
      if (error instanceof LeaseLost || isStale(error)) lease.lose();
      else if (isTransient(error)) this.trouble(error);
      else if (error instanceof DibsError || error instanceof SettingsChanged || this.options.once)
        throw error;
      else this.trouble(error);
      return false;
    } finally {
      await work.close();
      await lease.giveBack();
      ending.release();
    }
  }

  private async rounds(work: Work, lease: Lease): Promise<boolean> {
    const { signal, once } = this.options;
    let isIdle = false;
    while (!signal.aborted) {
      lease.refuseLost();
      this.wake.arm();
      if (await work.round()) {
        isIdle = false;
        continue;
      }
      this.end.held = work.holds;
      if (once) return true;
      if (!isIdle) this.say({ step: "idle", target: this.place.target });
      isIdle = true;
      await this.wake.wait(this.timings.lookMs);
    }
    return true;
  }

  private parts(lease: Lease, signal: AbortSignal): WorkParts {
    const { repository, place, root, options, end, alone, kept } = this;
    return {
      dibs: this.dibs,
      project: this.project,
      repository,
      place,
      root,
      holder: this.holder,
      machine: options.machine,
      guardFile: options.guardFile,
      lease,
      signal,
      end,
      alone,
      kept,
      timings: this.timings,
      say: (step) => this.say(step),
      before: (effect) => this.before(effect),
      stored: (call) => this.stored(call, signal),
    };
  }

  /** What was submitted lands at once, not at the next look. */
  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const _ of this.dibs.events.follow({
          project: "*",
          types: ["task:submitted", "project:updated"],
          signal,
        }))
          this.wake.ring();
      } catch (error) {
        if (!signal.aborted) this.trouble(error);
      }
      await pause(this.timings.retryMs, signal);
    }
  }

  private async *waiting(): AsyncGenerator<Queued> {
    const place = { repository: this.root, target: this.place.target };
    for (let offset = 0; ; offset += queueMax) {
      const { queue } = await this.dibs.landings.list({ ...place, offset, limit: queueMax });
      yield* queue;
      if (queue.length < queueMax) return;
    }
  }

  async preview(): Promise<LanderEnd> {
    try {
      return await this.previewAll();
    } catch (error) {
      if (!(error instanceof Held)) throw error;
      return { ...this.end, held: [error.hold] };
    }
  }

  private async previewAll(): Promise<LanderEnd> {
    const { machine } = this.options;
    const sight = await lookAt(this.repository, this.place, null);
    const worktree = await LandingWorktree.take(this.repository, this.place.target, machine, sight.tip);
    try {
      await worktree.show(sight.tip);
      const committer = await Committer.in(worktree.path, this.timings.signMs);
      const merger = await Merger.in(worktree.path);
      let onto = sight.tip;
      for await (const queued of this.waiting()) {
        const of = nameOf(queued);
        const { commit } = queued;
        if (commit === null) continue;
        if (!isObjectId(commit)) {
          this.end.held.push(notACommit(queued));
          continue;
        }
        await fetchSubmission(this.repository.root, this.place, { ...queued, commit }, { isKept: false });
        const merged = await merger.merge(onto, commit);
        if (merged.type === "conflict") this.say({ step: "conflict", paths: merged.paths, ...of });
        else if (merged.type === "trouble") this.end.held.push(missingCommit(queued, merged.error));
        else {
          onto = await committer.commit({ ...candidateOf(queued), tree: merged.tree, parent: onto });
          this.say({ step: "merged", commit: onto, ...of });
        }
      }
      return this.end;
    } finally {
      worktree.giveBack();
    }
  }
}

const isStale = (error: unknown) => error instanceof DibsError && error.code === "STALE_EPOCH";

function anotherWorks(target: string): DibsError {
  return new DibsError("SESSION_BUSY", `Another lander works on ${target}.`, {
    hint: "It lands what is submitted. Run: dibs list -s submitted",
  });
}
