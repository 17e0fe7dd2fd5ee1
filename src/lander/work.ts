// What a lander does under one lease: settle what the lander before left, then rounds. Each round takes the queue, merges, checks,
// records the intent, moves the target, verifies and reports.

import type { Dibs } from "../client/client.js";
import { globMatcher } from "../common/glob.js";
import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireProject } from "../contract/shapes.js";
import { GitError } from "../runner/git.js";
import type { Machine } from "../runner/processes.js";
import { type Target, targetMissing } from "../runner/target.js";
import { type CheckResult, Checks, isGreen, treeOf } from "./checks.js";
import { type Diff, diffBetween, emptyDiff } from "./diff.js";
import { BeginAgain, Held, type Hold, LeaseLost, SettingsChanged, saidByGit } from "./hold.js";
import type { Lease } from "./lease.js";
import { changedPaths, DirtyPaths, isAncestor, lookAt, type Sight, tipOf } from "./look.js";
import { type Candidate, Committer, Merger, mergeBase } from "./merge.js";
import { type Move, Mover, rollBack } from "./move.js";
import { isDue, type RedTarget, RedTargets, untried } from "./red-targets.js";
import { checkoutsOf, type Repository } from "./repository.js";
import type { Step } from "./steps.js";
import {
  candidateOf,
  fetchSubmission,
  isObjectId,
  keepSubmissions,
  keyOf,
  nameOf,
  type Queued,
  type Submitted,
} from "./submissions.js";
import {
  conflictText,
  dirtyHold,
  failureText,
  gitFailed,
  holdsText,
  missingCommit,
  notACommit,
  otherRemote,
  recorded,
  refusedReport,
  reportable,
  taskName,
  tasksMax,
} from "./texts.js";
import { Tidier } from "./tidy.js";
import { notVerified, Verifier } from "./verify.js";
import { LandingWorktree } from "./worktree.js";

type WireLanding = OutputOf<OperationNamed<"landings.open">>["landing"];
type Project = Pick<WireProject, "id" | "settings" | "paused">;
type Land = Project["settings"]["land"];

/** How far a lander came. */
export interface LanderEnd {
  landed: number;
  returned: number;
  /** What cannot land now, and why. */
  held: Hold[];
}

/** A submission as it would land. */
interface Entry {
  queued: Queued;
  /** What it becomes on the target; null: it changes nothing. */
  commit: string | null;
  /** The tip of the chain with it. */
  tip: string;
  tree: string;
}

interface Chain {
  entries: Entry[];
  /** Something was returned or recorded: begin again. */
  hasReturned: boolean;
  /** The only entry needs a review: what it changes. */
  toReview?: Diff;
}

/** Of the queue, how many are looked at together. */
export const queueMax = 500;
const keptMax = 10_000;
const ofChecks = ["TARGET_RED", "CHECK_CANNOT_START"];
/** Withdrawn, cancelled or landed by hand meanwhile, or its project is paused. */
const changedMeanwhile = ["INVALID_STATE", "TASK_NOT_FOUND"];
const invalid = ["VALIDATION_FAILED", "PAYLOAD_TOO_LARGE"];
const refusedMs = 10_000;

const landingTask = ({ queued, commit }: Entry) => ({ ...nameOf(queued), commit });
const taskKey = ({ project, taskId }: { project: string; taskId: string }) => `${project}/${taskId}`;
const isRefusal = (error: unknown, codes: readonly string[]): error is DibsError =>
  error instanceof DibsError && codes.includes(error.code);

/** The lander goes on after it: begins again, or holds. */
const isPassing = (error: unknown): error is BeginAgain | Held | GitError =>
  error instanceof BeginAgain || error instanceof Held || error instanceof GitError;

export interface WorkParts {
  dibs: Dibs;
  project: string;
  repository: Repository;
  place: Target;
  /** The root commit. */
  root: string;
  holder: string;
  machine: Machine;
  guardFile: string | undefined;
  lease: Lease;
  /** The lease is lost, or the lander stops. */
  signal: AbortSignal;
  end: LanderEnd;
  alone: Set<string>;
  /** Submissions that a ref keeps. */
  kept: Set<string>;
  timings: { lookMs: number; signMs: number };
  say(step: Step): void;
  before(effect: string): Promise<void>;
  stored<T>(call: () => Promise<T>): Promise<T>;
}

/** What is done under one lease. */
export class Work {
  holds: Hold[] = [];
  private worktree: LandingWorktree | null = null;
  private committer: Committer | null = null;
  private merger: Merger | null = null;
  /** Of the commit that landed last. */
  private known: { commit: string; tree: string } | null = null;
  private checks: Checks | null = null;
  private readonly mover: Mover;
  private readonly tidier: Tidier;
  private lastLanded: string | null;
  /** The open landing: reports need one. */
  private landing: WireLanding | null = null;
  /** Its intent is recorded, by this lander or the one before, and not what became of it. */
  private unsettled: WireLanding | null;
  private isFenced = false;
  private readonly red: RedTargets;
  /** Submissions that wait for a review: the target's commit when they were last looked at. */
  private readonly reviewed = new Map<string, string>();
  /** Submissions that git did not let into a checkout, or the store did not take. */
  private readonly refused = new Map<string, { hold: Hold; until: number }>();
  /** The submission of each task in the queue. */
  private readonly numbers = new Map<string, number>();
  private reported: string;

  constructor(private readonly parts: WorkParts) {
    const { repository, place, lease } = parts;
    this.mover = new Mover(repository, place, parts.before);
    this.tidier = new Tidier(parts);
    this.red = new RedTargets(parts.timings.lookMs);
    const { landing, lastLanded } = lease.first;
    this.lastLanded = lastLanded?.commit ?? null;
    this.unsettled = landing?.state === "intended" ? landing : null;
    this.reported = holdsText(lease.first.holds);
  }

  /** The fence first: after it, nothing but this lander moves the target for Dibs. Then what is not settled. */
  private async begin(): Promise<"landed" | "dropped" | null> {
    const { lease, holder, place } = this.parts;
    if (!this.isFenced) {
      await this.parts.before("take over");
      lease.refuseLost();
      await this.mover.takeOver({ holder, epoch: lease.epoch }).catch((error) => {
        if (place.remote === null) throw error;
        throw new Held({
          reason: "REMOTE_UNREACHABLE",
          message: `Cannot push to ${place.remote}: ${saidByGit(error)}`,
          fix: `git push --dry-run ${place.remote}`,
        });
      });
      this.isFenced = true;
    }
    return this.unsettled && this.settle(this.unsettled);
  }

  async close(): Promise<void> {
    this.checks?.close();
    this.worktree?.giveBack();
  }

  /** Finishes a recorded intent, or drops it if the target does not have it. If git cannot say which, landing is held. */
  private async settle(landing: WireLanding): Promise<"landed" | "dropped"> {
    const { repository, place, say } = this.parts;
    const { id, base, commit } = landing;
    if (await this.hasLanded(landing)) {
      if (place.remote === null && base !== null && commit !== null) await this.mover.follow(base, commit);
      await this.reportLanded(landing);
      say({ step: "settled", landing: id, as: "landed" });
      return "landed";
    }
    if (place.remote === null && base !== null && commit !== null) {
      const on = `refs/heads/${place.target}`;
      for (const checkout of await checkoutsOf(repository))
        if (checkout.branch === on) await rollBack(checkout, { from: base, to: commit });
    }
    await this.parts.before("drop");
    await this.parts.stored(() => this.parts.dibs.landings.dropped({ id, epoch: this.epoch }));
    this.unsettled = null;
    say({ step: "settled", landing: id, as: "dropped" });
    return "dropped";
  }

  private async hasLanded(landing: WireLanding): Promise<boolean> {
    const { repository, place } = this.parts;
    if (landing.commit === null) return false;
    try {
      const tip = await tipOf(repository, place);
      if (!(await isAncestor(repository.root, landing.commit, tip))) return false;
      await this.verify(landing);
      return true;
    } catch (error) {
      // Without a target, nothing is on it. What is not what was submitted lands again.
      if (error instanceof Held && [targetMissing, notVerified].includes(error.hold.reason)) return false;
      throw error;
    }
  }

  private async verify(landing: WireLanding, entries: readonly Entry[] = []): Promise<void> {
    const { repository, place, machine, dibs } = this.parts;
    this.worktree ??= await LandingWorktree.take(repository, place.target, machine, landing.base!);
    this.merger ??= await Merger.in(this.worktree.path);
    const verifier = new Verifier({
      repository,
      place,
      worktree: this.worktree,
      merger: this.merger,
      treeOf: (commit) => this.tree(commit),
      submissionOf: (of) =>
        this.parts.stored(async () => (await dibs.tasks.submission(of)).submission.commit),
    });
    await verifier.verify(landing, new Map(entries.map(({ queued }) => [taskKey(queued), queued.commit])));
  }

  private async tree(commit: string): Promise<string> {
    if (this.known?.commit === commit) return this.known.tree;
    return treeOf(this.parts.repository.root, commit);
  }

  private get epoch(): number {
    return this.parts.lease.epoch;
  }

  /** Whether anything landed or was returned, so that another round makes sense at once. */
  async round(): Promise<boolean> {
    this.landing = null;
    this.holds = [];
    try {
      await this.begin();
      await this.tidier.finishLast();
      await this.mover.refuseBehind();
      const hasMoved = await this.landQueue();
      await this.reportHolds();
      return hasMoved;
    } catch (error) {
      if (!isPassing(error)) throw error;
      await this.dropOpen();
      if (error instanceof BeginAgain) return true;
      this.holds.push(error instanceof Held ? error.hold : gitFailed(error));
      await this.reportHolds();
      return false;
    }
  }

  /** Page by page: what is held at the beginning of the queue does not keep the rest from landing. */
  private async landQueue(): Promise<boolean> {
    const { dibs, repository, place, root } = this.parts;
    let sight: Sight | null = null;
    this.numbers.clear();
    for (let offset = 0; ; offset += queueMax) {
      const list = { repository: root, target: place.target, offset, limit: queueMax };
      const { queue, queueCount } = await this.parts.stored(() => dibs.landings.list(list));
      if (queue.length === 0) {
        // Without it no task can start either: nothing would ever be submitted, and nobody would hear why.
        if (place.remote === null) await tipOf(repository, place);
        return false;
      }
      for (const each of queue) this.numbers.set(taskKey(each), each.number);
      sight ??= await lookAt(repository, place, this.lastLanded);
      if (await this.landFrom(queue, sight)) return true;
      if (offset + queue.length >= queueCount) return false;
    }
  }

  /** Takes one project's submissions, in order, until one of them lands or is returned. */
  private async landFrom(queue: Queued[], sight: Sight): Promise<boolean> {
    const { machine, repository, place, holder, guardFile, signal, say } = this.parts;
    this.worktree ??= await LandingWorktree.take(repository, place.target, machine, sight.tip);
    const { worktree } = this;
    this.checks ??= new Checks({
      worktree,
      machine,
      ranBy: holder,
      guardFile,
      signal,
      onResult: ({ name, state, durationMs, tree }) => say({ step: "check", name, state, durationMs, tree }),
    });
    await worktree.show(sight.tip);
    const dirty = sight.checkout ? await DirtyPaths.of(sight.checkout) : null;
    await this.keep(queue);
    let isUnfinished = false;
    for (const project of await this.projectsOf(queue)) {
      const own = queue.filter((each) => each.project === project.id);
      const red = this.red.of(project.id, sight.tip, project.settings.land);
      const end = red
        ? await this.landOnRed(project, own, sight, dirty, red)
        : await this.landBatch(project, own, sight, dirty);
      if (end === "moved") return true;
      if (end === "unfinished") isUnfinished = true;
    }
    return isUnfinished;
  }

  /** The target itself is red. One submission that was not tried on it yet is tried, alone: it can be the fix. */
  private async landOnRed(
    project: Project,
    queue: Queued[],
    sight: Sight,
    dirty: DirtyPaths | null,
    red: RedTarget,
  ): Promise<"moved" | "unfinished" | "idle"> {
    const { land } = project.settings;
    if (isDue(red)) {
      const startedAt = performance.now();
      const hold = await this.redTarget(land, red.check, sight);
      this.checks!.forgetRed();
      if (!hold) {
        this.red.end(project.id);
        return this.landBatch(project, queue, sight, dirty);
      }
      red.hold = hold;
      this.red.lookLater(red, performance.now() - startedAt);
    }
    const fresh = untried(red, queue);
    if (fresh) {
      red.tried.add(keyOf(fresh));
      const { entries, hasReturned, toReview } = await this.chain([fresh], sight, dirty, land);
      if (hasReturned) return "moved";
      const isGreenAlone = entries.length > 0 && (await this.check(land, entries, sight)).every(isGreen);
      if (isGreenAlone) {
        await this.landOrAsk(entries, toReview, sight);
        return "moved";
      }
      await this.dropOpen();
    }
    this.holds.push({ ...red.hold, tasks: queue.slice(0, tasksMax).map(taskName) });
    return fresh ? "unfinished" : "idle";
  }

  /** Checks are a project's own: those of another one go on. */
  private async redTarget(land: Land, check: string, sight: Sight): Promise<Hold | null> {
    const base = { commit: sight.tip, tree: await this.tree(sight.tip) };
    try {
      await this.checks!.refuseRedTarget(land, check, this.parts.place.target, base);
      return null;
    } catch (error) {
      if (error instanceof Held && ofChecks.includes(error.hold.reason)) return error.hold;
      throw error;
    }
  }

  /** A ref keeps what was handed in, also what came past the runner. */
  private async keep(queue: readonly Queued[]): Promise<void> {
    const { repository, kept } = this.parts;
    const isFresh = (each: Queued): each is Queued & Submitted =>
      each.commit !== null && isObjectId(each.commit) && !kept.has(keyOf(each));
    const fresh = queue.filter(isFresh);
    await keepSubmissions(repository.root, fresh);
    for (const each of fresh) kept.add(keyOf(each));
    if (kept.size > keptMax) kept.clear();
  }

  /** In the order of their first submissions. Nothing of a paused project lands. */
  private async projectsOf(queue: Queued[]): Promise<Project[]> {
    const { place } = this.parts;
    const ids = [...new Set(queue.map(({ project }) => project))];
    const projects: Project[] = [];
    for (const id of ids) {
      const { project } = await this.parts.stored(() => this.parts.dibs.projects.get({ id }));
      const { land } = project.settings;
      const isElsewhere = land.target !== place.target || land.remote !== place.remote;
      if (isElsewhere && id === this.parts.project) throw new SettingsChanged();
      const own = queue.filter((each) => each.project === id);
      if (isElsewhere) {
        const hold = otherRemote(id, this.parts.project);
        this.holds.push({ ...hold, tasks: own.slice(0, tasksMax).map(taskName) });
      } else if (!project.paused) projects.push(project);
    }
    return projects;
  }

  private async landBatch(
    project: Project,
    queue: Queued[],
    sight: Sight,
    dirty: DirtyPaths | null,
  ): Promise<"moved" | "unfinished" | "idle"> {
    const { land } = project.settings;
    if (await this.lookAtReviewed(queue, sight)) return "moved";
    const { entries, hasReturned, toReview } = await this.chain(queue, sight, dirty, land);
    if (hasReturned) return "moved";
    if (entries.length === 0) return "idle";
    const green = await this.greenPrefix(land, entries, sight);
    const { failed } = green;
    if (!failed) {
      await this.landOrAsk(entries.slice(0, green.length), toReview, sight);
      return "moved";
    }
    const startedAt = performance.now();
    const hold = await this.redTarget(land, failed.name, sight);
    const { queued, commit } = entries[0]!;
    if (!hold) {
      const change = commit === null ? undefined : await this.changeOf(queued, land, sight.tip, commit);
      await this.giveBack(queued, sight, "check-failed", failureText(failed), change);
      return "moved";
    }
    const tookMs = performance.now() - startedAt;
    const found = { hold, check: failed.name, tried: queued, tookMs };
    const red = this.red.add(project.id, sight.tip, land, found);
    await this.dropOpen();
    this.holds.push({ ...hold, tasks: queue.slice(0, tasksMax).map(taskName) });
    return untried(red, queue) ? "unfinished" : "idle";
  }

  /**
   * Submissions that wait for a review, once per commit of the target: whether one conflicts with it by now, or was merged by
   * somebody else, which ends its review.
   */
  private async lookAtReviewed(queue: Queued[], sight: Sight): Promise<boolean> {
    for (const queued of queue) {
      if (queued.approved || queued.stage === "held") continue;
      if (!queued.inspected || queued.commit === null) continue;
      if (this.reviewed.get(keyOf(queued)) === sight.tip) continue;
      if (this.reviewed.size > keptMax) this.reviewed.clear();
      this.reviewed.set(keyOf(queued), sight.tip);
      await this.fetch({ ...queued, commit: queued.commit });
      this.merger ??= await Merger.in(this.worktree!.path);
      const merged = await this.merger.merge(sight.tip, queued.commit);
      if (merged.type === "conflict") {
        const { target } = this.parts.place;
        await this.giveBack(queued, sight, "conflict", conflictText(merged.paths, target, sight.tip));
        return true;
      }
      if (merged.type === "merged" && merged.tree === (await this.tree(sight.tip))) {
        await this.recordForReview(queued, emptyDiff(sight.tip), sight);
        return true;
      }
    }
    return false;
  }

  private async recordDiff(queued: Queued, diff: Diff, sight: Sight): Promise<void> {
    const { id } = await this.openLanding([], sight);
    const of = nameOf(queued);
    await this.parts.before("record diff");
    try {
      const record = { id, epoch: this.epoch, ...of, ...diff };
      const { approved } = await this.parts.stored(() => this.parts.dibs.landings.diff(record));
      if (!approved) this.parts.say({ step: "review", ...of });
    } catch (error) {
      if (isRefusal(error, invalid)) this.setAside([{ queued }], (refused) => refusedReport(refused, error));
      else if (!isRefusal(error, [...changedMeanwhile, "STALE_SUBMISSION"])) throw error;
      throw new BeginAgain();
    }
  }

  /** What was merged and checked alone for a review is shown to a reviewer, unless its approval is there already. */
  private async landOrAsk(entries: Entry[], toReview: Diff | undefined, sight: Sight): Promise<void> {
    if (toReview) await this.recordForReview(entries[0]!.queued, toReview, sight);
    else await this.landEntries(entries, sight);
  }

  /** Nothing lands with it. */
  private async recordForReview(queued: Queued, diff: Diff, sight: Sight): Promise<void> {
    await this.recordDiff(queued, diff, sight);
    await this.dropOpen();
  }

  /** One submission merged onto the other. Those that conflict with the target itself are returned. */
  private async chain(queue: Queued[], sight: Sight, dirty: DirtyPaths | null, land: Land): Promise<Chain> {
    const { alone, say } = this.parts;
    const { path } = this.worktree!;
    const entries: Entry[] = [];
    const found: { queued: Queued; diff: Diff }[] = [];
    this.committer ??= await Committer.in(path, this.parts.timings.signMs);
    this.merger ??= await Merger.in(path);
    const { committer, merger } = this;
    let tip = sight.tip;
    let tree = await this.tree(tip);
    for (const queued of queue) {
      if (entries.length >= land.batchMax) break;
      // It waits for a review.
      if (queued.inspected && !queued.approved) continue;
      const isToBeReviewed = !queued.inspected && land.review !== "none";
      const isSuspect = isToBeReviewed || alone.has(keyOf(queued));
      if (isSuspect && entries.length > 0) continue;
      const refused = this.refused.get(keyOf(queued));
      if (refused && refused.until > performance.now()) {
        this.holds.push(refused.hold);
        continue;
      }
      if (queued.commit === null) {
        if (isToBeReviewed && !queued.approved) {
          await this.recordForReview(queued, emptyDiff(tip), sight);
          return { entries: [], hasReturned: true };
        }
        entries.push({ queued, commit: null, tip, tree });
        continue;
      }
      if (!isObjectId(queued.commit)) {
        this.holds.push(notACommit(queued));
        continue;
      }
      await this.fetch({ ...queued, commit: queued.commit });
      const merged = await merger.merge(tip, queued.commit);
      if (merged.type === "trouble") {
        this.holds.push(missingCommit(queued, merged.error));
        continue;
      }
      if (merged.type === "conflict") {
        say({ step: "conflict", paths: merged.paths, ...nameOf(queued) });
        if (tip !== sight.tip) {
          alone.add(keyOf(queued));
          continue;
        }
        const detail = conflictText(merged.paths, this.parts.place.target, tip);
        const base = await mergeBase(path, tip, queued.commit);
        const change = base === null ? undefined : await this.changeOf(queued, land, base, queued.commit);
        await this.giveBack(queued, sight, "conflict", detail, change);
        return { entries: [], hasReturned: true };
      }
      const inTheWay = dirty?.inTheWay(await changedPaths(path, tree, merged.tree)) ?? null;
      if (inTheWay !== null) {
        this.holds.push(dirtyHold(queued, inTheWay, sight.checkout!.path));
        continue;
      }
      if (merged.tree !== tree) {
        const commit = await this.candidate(committer, {
          ...candidateOf(queued),
          tree: merged.tree,
          parent: tip,
        });
        if (typeof commit !== "string") {
          this.holds.push({ ...commit, tasks: [taskName(queued)] });
          continue;
        }
        if (!queued.inspected) {
          const diff = await diffBetween(path, { from: tip, to: commit }, land);
          if (isToBeReviewed || diff.diff.reviewPaths.length > 0) {
            // It is merged and checked alone before anybody is asked: in this round, if nothing is before it.
            if (entries.length > 0) continue;
            entries.push({ queued, commit, tip: commit, tree: merged.tree });
            return { entries, hasReturned: false, toReview: diff };
          }
          if (entries.length > 0 && (await this.isProtected(queued.commit, sight, land))) continue;
          found.push({ queued, diff });
        }
        tip = commit;
      } else if (isToBeReviewed) {
        // It changes nothing there.
        await this.recordForReview(queued, emptyDiff(tip), sight);
        return { entries: [], hasReturned: true };
      }
      tree = merged.tree;
      entries.push({ queued, commit: tip, tip, tree });
      say({ step: "merged", commit: tip, ...nameOf(queued) });
      if (isSuspect) break;
    }
    for (const { queued, diff } of found) await this.recordDiff(queued, diff, sight);
    return { entries, hasReturned: false };
  }

  /** Its branch changes a path that needs a person. What has the same change before it in the chain may never land. */
  private async isProtected(commit: string, sight: Sight, { reviewPaths }: Land): Promise<boolean> {
    const { path: cwd } = this.worktree!;
    const base = await mergeBase(cwd, sight.tip, commit);
    const changed = base === null ? [] : await changedPaths(cwd, base, commit);
    return changed.map(({ path }) => path).some(globMatcher(reviewPaths));
  }

  private async candidate(committer: Committer, candidate: Candidate): Promise<string | Hold> {
    try {
      return await committer.commit(candidate);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      return gitFailed(error);
    }
  }

  private async fetch(submitted: Submitted): Promise<void> {
    const { repository, place } = this.parts;
    if (place.remote !== null) await fetchSubmission(repository.root, place, submitted, { isKept: true });
  }

  /**
   * How many of the entries are green together. The shortest red prefix is looked for: what is before it lands, its last one is
   * tried alone on the new target, and returned only if it is red there.
   */
  private async greenPrefix(
    land: Land,
    entries: Entry[],
    sight: Sight,
  ): Promise<{ length: number; failed?: CheckResult }> {
    const firstRed = async (length: number) =>
      (await this.check(land, entries.slice(0, length), sight)).find((result) => !isGreen(result));
    let failed = await firstRed(entries.length);
    if (!failed) return { length: entries.length };
    let [green, red] = [0, entries.length];
    while (red - green > 1) {
      const middle = Math.floor((green + red) / 2);
      const found = await firstRed(middle);
      if (found) [red, failed] = [middle, found];
      else green = middle;
    }
    if (green === 0) return { length: 0, failed };
    this.parts.alone.add(keyOf(entries[red - 1]!.queued));
    return { length: green };
  }

  private async check(land: Land, entries: Entry[], sight: Sight): Promise<CheckResult[]> {
    const { tip, tree } = entries.at(-1)!;
    if (tip === sight.tip) return [];
    const results = await this.checks!.run(land, { commit: tip, tree }, sight.tip);
    if (results.length === 0) return results;
    const { id } = await this.openLanding(entries, sight);
    // Of several that are red together, nobody knows yet whose fault it is.
    const concerned = results.every(isGreen) || entries.length === 1 ? entries : [];
    const tasks = concerned.map(landingTask);
    const record = { id, epoch: this.epoch, tasks, checks: results.map(recorded) };
    await this.parts.before("record checks");
    try {
      await this.parts.stored(() => this.parts.dibs.landings.checks(record));
    } catch (error) {
      if (!isRefusal(error, invalid)) throw error;
      this.setAside(entries, (queued) => refusedReport(queued, error));
      throw new BeginAgain();
    }
    return results;
  }

  private async openLanding(entries: Entry[], sight: Sight): Promise<WireLanding> {
    if (this.landing) return this.landing;
    const { dibs, root, place, project } = this.parts;
    await this.parts.before("open");
    try {
      const { landing } = await this.parts.stored(() =>
        dibs.landings.open({
          project,
          repository: root,
          target: place.target,
          epoch: this.epoch,
          base: sight.tip,
          tasks: entries.map(landingTask),
        }),
      );
      this.landing = landing;
      return landing;
    } catch (error) {
      if (isRefusal(error, changedMeanwhile)) throw new BeginAgain();
      // The lease knows which landing is not settled.
      if (isRefusal(error, ["LANDING_NOW"])) throw new LeaseLost(error.message);
      throw error;
    }
  }

  private async dropOpen(): Promise<void> {
    const { landing } = this;
    if (!landing) return;
    this.landing = null;
    await this.parts.before("drop");
    await this.parts.stored(() => this.parts.dibs.landings.dropped({ id: landing.id, epoch: this.epoch }));
  }

  private async giveBack(
    queued: Queued,
    sight: Sight,
    reason: "conflict" | "check-failed",
    detail: string,
    change?: Diff,
  ): Promise<void> {
    const { id } = await this.openLanding([], sight);
    const of = nameOf(queued);
    await this.parts.before("return");
    const report = (more: Partial<Diff>) =>
      this.parts.stored(() =>
        this.parts.dibs.landings.returned({ id, epoch: this.epoch, ...of, reason, detail, ...more }),
      );
    try {
      await report(change ?? {}).catch((error) => {
        if (!change || !isRefusal(error, invalid)) throw error;
        // Its reason is worth more than what it changes.
        return report({});
      });
    } catch (error) {
      if (isRefusal(error, invalid)) this.setAside([{ queued }], (refused) => refusedReport(refused, error));
      else if (!isRefusal(error, [...changedMeanwhile, "LANDING_NOW"])) throw error;
      throw new BeginAgain();
    }
    this.parts.alone.delete(keyOf(queued));
    this.parts.end.returned++;
    this.parts.say({ step: "returned", reason, detail, ...of });
    await this.dropOpen();
  }

  /** For the next attempt; a submission comes back without it, too. */
  private async changeOf(queued: Queued, land: Land, from: string, to: string): Promise<Diff | undefined> {
    if (queued.inspected) return undefined;
    return diffBetween(this.worktree!.path, { from, to }, land).catch((error) => {
      if (error instanceof GitError) return undefined;
      throw error;
    });
  }

  private async landEntries(entries: Entry[], sight: Sight): Promise<void> {
    const { lease, dibs } = this.parts;
    const { tip, tree } = entries.at(-1)!;
    const { id } = await this.openLanding(entries, sight);
    lease.refuseLost();
    // Checks take their time: a person may have switched, or begun something, meanwhile.
    await this.refuseChanged(sight, tip);
    await this.parts.before("intent");
    let landing: WireLanding;
    try {
      const intent = { id, epoch: this.epoch, commit: tip, tree, tasks: entries.map(landingTask) };
      ({ landing } = await this.parts.stored(() => dibs.landings.intent(intent)));
    } catch (error) {
      // Begin again with the others.
      if (!isRefusal(error, [...changedMeanwhile, "LANDING_NOW"])) throw error;
      throw new BeginAgain();
    }
    this.landing = null;
    this.unsettled = landing;
    try {
      await this.carryOut(landing, entries, sight);
    } catch (error) {
      if (!isPassing(error)) throw error;
      throw await this.settledAfter(error);
    }
  }

  private async carryOut(landing: WireLanding, entries: Entry[], sight: Sight): Promise<void> {
    const { tip, tree } = entries.at(-1)!;
    this.parts.lease.refuseLost();
    if (tip !== sight.tip) {
      await this.parts.before("move");
      await this.move(entries, { from: sight.tip, to: tip, checkout: sight.checkout }, landing.id);
    }
    this.known = { commit: tip, tree };
    await this.parts.before("verify");
    await this.verify(landing, entries);
    await this.reportLanded(landing, entries);
  }

  /**
   * What was tried may have happened, whatever was said: only a look at the target tells. The fence is replaced before it, so that
   * a push that is still on its way comes too late. What cannot be looked at stays unsettled, and is held.
   */
  private async settledAfter(error: BeginAgain | Held | GitError): Promise<Error> {
    this.isFenced = false;
    try {
      return (await this.begin()) === "landed" ? new BeginAgain() : error;
    } catch (unknown) {
      if (isPassing(unknown)) return unknown;
      throw unknown;
    }
  }

  /** Of several, nobody knows which one it is; alone it is known, and waits. */
  private setAside(entries: readonly Pick<Entry, "queued">[], holdOf: (queued: Queued) => Hold): void {
    for (const { queued } of entries) {
      if (entries.length > 1) this.parts.alone.add(keyOf(queued));
      else this.refused.set(keyOf(queued), { hold: holdOf(queued), until: performance.now() + refusedMs });
    }
  }

  private async refuseChanged(sight: Sight, to: string): Promise<void> {
    const { repository, place } = this.parts;
    const now = await lookAt(repository, place, this.lastLanded);
    if (now.tip !== sight.tip || now.checkout?.path !== sight.checkout?.path) throw new BeginAgain();
    if (!now.checkout || to === sight.tip) return;
    const dirty = await DirtyPaths.of(now.checkout);
    if (dirty.inTheWay(await changedPaths(this.worktree!.path, sight.tip, to)) !== null)
      throw new BeginAgain();
  }

  /** Where git refuses to update a checkout, only these submissions wait: the look did not see what is in the way. */
  private async move(entries: Entry[], move: Move, landing: string): Promise<void> {
    try {
      await this.mover.move(move, { landing, epoch: this.epoch });
    } catch (error) {
      if (!(error instanceof Held) || error.hold.reason !== "CHECKOUT_REFUSED") throw error;
      const { hold } = error;
      this.setAside(entries, (queued) => ({ ...hold, tasks: [taskName(queued)] }));
      throw new BeginAgain();
    }
  }

  private async reportLanded(landing: WireLanding, entries: readonly Entry[] = []): Promise<void> {
    const { dibs, place, say, end, alone } = this.parts;
    const { id } = landing;
    await this.parts.before("report landed");
    await this.parts.stored(() => dibs.landings.landed({ id, epoch: this.epoch }));
    this.unsettled = null;
    if (landing.tasks.some(({ commit }) => commit !== null)) this.lastLanded = landing.commit;
    for (const { project, taskId, submission, commit } of landing.tasks) {
      end.landed++;
      say({ step: "landed", landing: id, target: place.target, project, taskId, submission, commit });
    }
    await this.parts.before("tidy");
    for (const { queued } of entries) alone.delete(keyOf(queued));
    for (const task of landing.tasks) {
      const entry = entries.find(({ queued }) => taskKey(queued) === taskKey(task));
      await this.tidier.tidy(task, entry?.queued);
    }
  }

  /** Says what holds, if that has changed. */
  private async reportHolds(): Promise<void> {
    const holds = reportable(this.holds);
    const text = holdsText(holds, (task) => this.numbers.get(taskKey(task)));
    if (text === this.reported) return;
    const { dibs, project } = this.parts;
    // A report needs a landing; while one is not settled, no other can be opened.
    const { id } = this.unsettled ?? (await this.openLanding([], { tip: this.parts.root, checkout: null }));
    await this.parts.before("hold");
    const report = (reported: Hold[]) =>
      this.parts.stored(() => dibs.landings.held({ project, id, epoch: this.epoch, holds: reported }));
    try {
      await report(holds);
    } catch (error) {
      if (!isRefusal(error, invalid)) throw error;
      await report([{ reason: "REPORT_REFUSED", message: `Holds cannot be recorded: ${error.code}` }]);
    }
    this.reported = text;
    if (holds.length > 0) this.parts.say({ step: "held", holds });
    await this.dropOpen();
  }
}
