// What must hold between a store and its repository (L1 to L9 of landing), for `dibs doctor` and for tests.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../client/client.js";
import { shellWord } from "../client/view/shell.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireProject, WireTask } from "../contract/shapes.js";
import { git, gitOr } from "../runner/git.js";
import { fenceRef, submissionRef, type Target, targetOf, targetRef, targetTip } from "../runner/target.js";
import { applies } from "./checks.js";
import { saidByGit, shortSha } from "./hold.js";
import { checkoutsOf, type Repository, repositoryAt } from "./repository.js";

export interface LandingProblem {
  /** L1 to L9; or `lock` for a lock file that was left behind. */
  rule: string;
  message: string;
  /** What to run. */
  fix: string;
}

export interface LandingReport {
  target: string;
  /** How many landed changes were looked for on the target. */
  landed: number;
  problems: LandingProblem[];
  /** What was not examined because there is too much of it. */
  unchecked?: string[];
}

const pageSize = 200;
const tasksMax = 5_000;
/** So many commits of the target are read at once; those before them are asked for one by one. */
const commitsMax = 20_000;
const landingsMax = 100;
const lockMs = 10_000;

/** Null: landing is off. */
export async function examineLandings(
  dibs: Dibs,
  directory: string,
  projectId?: string,
  options: { commitsMax?: number } = {},
): Promise<LandingReport | null> {
  const { project } = await dibs.projects.get(projectId === undefined ? {} : { id: projectId });
  const place = targetOf(project.settings.land);
  if (!place) return null;
  const repository = await repositoryAt(directory);
  return new Examination(dibs, project, repository, place, options.commitsMax ?? commitsMax).run();
}

type WireLanding = OutputOf<OperationNamed<"landings.list">>["landings"][number];

interface LandedCommit {
  commit: string;
  task: string;
  submission: string;
}

class Examination {
  private readonly problems: LandingProblem[] = [];
  private readonly unchecked: string[] = [];
  private readonly project: string;
  /** The newest commits of the target. */
  private newest: ReadonlySet<string> = new Set();

  constructor(
    private readonly dibs: Dibs,
    private readonly settled: WireProject,
    private readonly repository: Repository,
    private readonly place: Target,
    private readonly commitsMax: number,
  ) {
    this.project = settled.id;
  }

  private get root(): string {
    return this.repository.root;
  }

  private found(rule: string, message: string, fix: string): void {
    this.problems.push({ rule, message, fix });
  }

  async run(): Promise<LandingReport> {
    const { target, remote } = this.place;
    const tip = await targetTip(this.root, this.place).catch((error) => {
      this.found("L6", `Cannot fetch ${target} from ${remote}: ${saidByGit(error)}`, `git fetch ${remote}`);
      return undefined;
    });
    if (tip === null) this.found("L6", `There is no branch ${target}.`, `git branch ${target} <commit>`);
    let landed = 0;
    if (tip) {
      const newest = await git(this.root, ["rev-list", `--max-count=${this.commitsMax}`, tip]);
      this.newest = new Set(newest.split("\n"));
      const completed = await this.tasks("completed");
      landed = await this.missing(completed, tip);
      await this.landings(tip);
      await this.commits(tip, completed);
    }
    await this.waiting();
    await this.locks();
    const { problems, unchecked } = this;
    return { target, landed, problems, ...(unchecked.length > 0 ? { unchecked } : {}) };
  }

  private async isOn(tip: string, commit: string): Promise<boolean> {
    if (this.newest.has(commit)) return true;
    if (this.newest.size < this.commitsMax) return false;
    return (await gitOr(this.root, ["merge-base", "--is-ancestor", commit, tip])) !== null;
  }

  private async tasks(state: "completed" | "submitted"): Promise<Map<string, WireTask>> {
    const found = new Map<string, WireTask>();
    let cursor: string | undefined;
    do {
      const input = { project: this.project, state, limit: pageSize, ...(cursor ? { cursor } : {}) };
      const page = await this.dibs.tasks.list(input as never);
      for (const task of page.tasks) found.set(task.id, task as WireTask);
      cursor = page.nextCursor ?? undefined;
    } while (cursor && found.size < tasksMax);
    if (cursor) this.unchecked.push(`${state} tasks after the first ${found.size}`);
    return found;
  }

  /** L1: what is completed is on the target. */
  private async missing(completed: Map<string, WireTask>, tip: string): Promise<number> {
    let landed = 0;
    for (const { id, landed: at } of completed.values()) {
      if (!at) continue;
      landed++;
      if (await this.isOn(tip, at.commit)) continue;
      const message = `Task ${id} is completed, but its commit ${shortSha(at.commit)} is not on ${at.target}.`;
      this.found("L1", message, `git cherry-pick ${at.commit}`);
    }
    return landed;
  }

  /** L3: the target moves forward only, to what was checked. */
  private async landings(tip: string): Promise<void> {
    const { landings, lease } = await this.dibs.landings.list({ project: this.project, limit: landingsMax });
    const { target } = this.place;
    const landed = landings.filter(({ state }) => state === "landed");
    // One without a change moved nothing.
    const last = landed.find(({ base, commit }) => commit !== base);
    if (last?.commit && !(await this.isOn(tip, last.commit))) {
      const message = `${target} no longer contains ${shortSha(last.commit)}, which landed last.`;
      this.found("L3", message, `git merge ${shortSha(last.commit)}, or: dibs land --accept-rewind`);
    }
    for (const { id, tree, checks } of landed) {
      const red = checks.find((check) => check.tree === tree && !["passed", "flaky"].includes(check.state));
      if (red)
        this.found("L3", `Landing ${id} landed although check ${red.name} ${red.state}.`, "dibs check run");
    }
    for (const landing of landed) await this.missingChecks(landing);
    await this.stagedReverts(landed);
    const intended = landings.find(({ state }) => state === "intended");
    if (intended && !lease) {
      this.found("L6", `Landing ${intended.id} was begun and not finished.`, "dibs land --once");
    }
    const fence = await gitOr(this.root, ["cat-file", "blob", fenceRef(target)]);
    const epoch = fence === null ? 0 : epochIn(fence);
    if (lease && epoch > lease.epoch) {
      const message = `The fence of ${target} is of a lander (epoch ${epoch}) that the store does not know.`;
      this.found("L8", message, "dibs land --once");
    }
  }

  /** Of landings under the settings as they are now: which checks were set before is not known. */
  private async missingChecks({
    id,
    base,
    commit,
    tree,
    tasks,
    checks,
    openedAt,
  }: WireLanding): Promise<void> {
    const { settings, updatedAt } = this.settled;
    const isOwn = tasks.every(({ project }) => project === this.project);
    if (!isOwn || !base || !commit || !tree || Date.parse(openedAt) < Date.parse(updatedAt)) return;
    for (const { name, paths } of settings.land.checks) {
      if (checks.some((check) => check.name === name && check.tree === tree)) continue;
      if (await applies(this.root, paths, base, commit).catch(() => false))
        this.found("L3", `Landing ${id} landed without check ${name} on its tree.`, "dibs check run");
    }
  }

  /** L7: no checkout of the target has something staged that takes a landed change back. */
  private async stagedReverts(landed: readonly WireLanding[]): Promise<void> {
    if (this.place.remote !== null) return;
    const on = `refs/heads/${this.place.target}`;
    for (const { path, branch } of await checkoutsOf(this.repository)) {
      if (branch !== on) continue;
      const staged = await pathsOf(path, ["diff", "--cached"]);
      if (staged.size === 0) continue;
      for (const { id, base, commit } of landed.slice(0, revertsMax)) {
        if (!base || !commit) continue;
        const changed = await pathsOf(path, ["diff", base, commit]);
        const differs = await pathsOf(path, ["diff", "--cached", base]);
        const back = [...staged].find((file) => changed.has(file) && !differs.has(file));
        if (back === undefined) continue;
        const message = `${back} is staged in ${path} as it was before landing ${id}: a commit would take the landed change back.`;
        // The file may have changes that are not staged.
        const isUnchanged = (await gitOr(path, ["diff", "--quiet", "--", `:(literal,top)${back}`])) !== null;
        const where = isUnchanged ? "--staged --worktree" : "--staged";
        this.found("L7", message, `git -C ${shellWord(path)} restore ${where} -- ${shellWord(back)}`);
        break;
      }
    }
  }

  /** L4 and L5: what is on the target is of a task that landed there, once. */
  private async commits(tip: string, completed: Map<string, WireTask>): Promise<void> {
    const seen = new Map<string, string>();
    for (const { commit, task, submission } of await this.landedCommits(tip)) {
      const [, id = ""] = /^[^/]+\/([^#]+)#/.exec(task) ?? [];
      const before = seen.get(`${task} ${submission}`);
      if (before) {
        const message = `Submission ${shortSha(submission)} of task ${id} is on the target twice: ${shortSha(before)} and ${shortSha(commit)}.`;
        this.found("L5", message, `git revert ${commit}`);
      }
      seen.set(`${task} ${submission}`, commit);
      const known = completed.get(id) ?? (await this.taskOr(id));
      if (!known || known.landed?.commit === commit || known.state === "completed") continue;
      // A store that was created again counts tasks from the beginning.
      if (!(await this.isSubmissionOf(known, submission))) continue;
      const message = `Task ${id} is ${known.state}, but its submission ${shortSha(submission)} is on the target as ${shortSha(commit)}.`;
      this.found("L4", message, known.state === "submitted" ? "dibs land --once" : `git revert ${commit}`);
    }
  }

  private async isSubmissionOf({ id: taskId, submission }: WireTask, commit: string): Promise<boolean> {
    for (let number = submission?.number ?? 0; number > 0; number--) {
      const of = { project: this.project, taskId, number };
      const found = await this.dibs.tasks.submission(of).catch(() => null);
      if (found?.submission.commit === commit) return true;
    }
    return false;
  }

  private async taskOr(taskId: string): Promise<WireTask | null> {
    return this.dibs.tasks.get({ project: this.project, taskId }).then(
      ({ task }) => task as WireTask,
      () => null,
    );
  }

  private async landedCommits(tip: string): Promise<LandedCommit[]> {
    const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=%x20)`;
    const format = `--format=%H%x00${trailer("Dibs-Task")}%x00${trailer("Dibs-Submission")}`;
    const words = ["log", "--first-parent", `--max-count=${this.commitsMax}`, format, tip];
    const lines = (await git(this.root, words)).split("\n");
    if (lines.length >= this.commitsMax)
      this.unchecked.push(`commits of ${this.place.target} before the newest ${lines.length}`);
    return lines
      .map((line) => line.split("\0"))
      .filter(([, task]) => task?.startsWith(`${this.project}/`))
      .map(([commit = "", task = "", submission = ""]) => ({ commit, task, submission }));
  }

  /** L2 and L9: what was handed in is there, and somebody will land it. */
  private async waiting(): Promise<void> {
    const submitted = await this.tasks("submitted");
    for (const { id, submission } of submitted.values()) {
      if (!submission?.commit) continue;
      const { commit, number } = submission;
      if ((await gitOr(this.root, ["cat-file", "-e", `${commit}^{commit}`])) === null) {
        if (this.place.remote !== null) continue;
        this.found(
          "L2",
          `Commit ${shortSha(commit)} of task ${id} is not in this repository.`,
          `dibs withdraw ${id}`,
        );
        continue;
      }
      const ref = submissionRef(this.project, id, number);
      const kept = await gitOr(this.root, ["rev-parse", "--verify", "--quiet", ref]);
      if (kept === commit) continue;
      const message = `Nothing keeps commit ${shortSha(commit)} of task ${id} from being collected by git.`;
      this.found("L2", message, `git update-ref ${ref} ${commit}`);
    }
    if (submitted.size === 0) return;
    const { lease } = await this.dibs.landings.list({ project: this.project, limit: 1 });
    if (!lease) this.found("L9", `${submitted.size} submitted tasks wait, and no lander runs.`, "dibs land");
  }

  /** Left by git commands that were killed. */
  private async locks(): Promise<void> {
    const files = [
      ...(await checkoutsOf(this.repository)).map(({ gitDirectory }) => join(gitDirectory, "index.lock")),
      join(this.repository.gitDirectory, "packed-refs.lock"),
      join(this.repository.gitDirectory, "config.lock"),
      join(this.repository.gitDirectory, `${targetRef(this.place)}.lock`),
      join(this.repository.gitDirectory, `${fenceRef(this.place.target)}.lock`),
    ];
    for (const file of files) {
      const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
      if (since === undefined || Date.now() - since < lockMs) continue;
      this.found(
        "lock",
        `${file} is left of a git command that has ended, or of one that hangs.`,
        `rm ${shellWord(file)}`,
      );
    }
    if (!existsSync(this.repository.room)) return;
    const left = readdirSync(this.repository.room).filter((name) => name.endsWith(".owner.new"));
    for (const name of left)
      this.found(
        "lock",
        `${name} is left in ${this.repository.room}.`,
        `rm ${shellWord(join(this.repository.room, name))}`,
      );
  }
}

const revertsMax = 20;

async function pathsOf(path: string, words: readonly string[]): Promise<Set<string>> {
  const [command = "", ...rest] = words;
  // It must not take the lock of the index from the person's own commands.
  const env = { GIT_OPTIONAL_LOCKS: "0" };
  const out = (await gitOr(path, [command, "--name-only", "--no-renames", "-z", ...rest], { env })) ?? "";
  return new Set(out.split("\0").filter((file) => file !== ""));
}

function epochIn(text: string): number {
  try {
    return Number((JSON.parse(text) as { epoch?: number }).epoch ?? 0);
  } catch {
    return 0;
  }
}
