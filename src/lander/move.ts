// How the target moves. A fence ref names the lander's intent; the target moves only together with it, or while it is verified
// under the lock of the target. A successor replaces the fence first: from then on the lander before moves nothing.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { shellWord } from "../client/view/shell.js";
import { retry } from "../common/retry.js";
import { GitError, git, gitOr } from "../runner/git.js";
import { changeRefs, type RefChange } from "../runner/ref-transaction.js";
import { fenceRef, type Target, targetRef, targetTip } from "../runner/target.js";
import { BeginAgain, Held, LeaseLost, saidByGit, shortSha } from "./hold.js";
import { type ChangedPath, changedPaths, DirtyPaths, entryAt } from "./look.js";
import { type Checkout, checkoutsOf, type Repository } from "./repository.js";

export interface Move {
  /** The target's commit now. */
  from: string;
  to: string;
  /** Where the target is checked out. */
  checkout: Checkout | null;
}

/** The fence is Dibs' own ref: the user's hooks have no say in it. */
const withoutHooks = ["-c", "core.hooksPath=/dev/null"];
const pushTimeoutMs = 5 * 60_000;
const mergeTimeoutMs = 10 * 60_000;

export class Mover {
  /** What the fence ref names now; null: there is none yet. */
  private fence: string | null = null;
  /** Where the repository's own hooks are. */
  private own: string | null = null;

  constructor(
    private readonly repository: Repository,
    private readonly place: Target,
    private readonly before: (effect: string) => Promise<void>,
  ) {}

  private get root(): string {
    return this.repository.root;
  }

  private get fenceRef(): string {
    return fenceRef(this.place.target);
  }

  /** At the beginning of a lease: the lander before can move nothing from here on. */
  async takeOver(lander: { holder: string; epoch: number }): Promise<void> {
    const { remote } = this.place;
    await patiently(
      async () => {
        const blob = await this.write({ type: "lander", ...lander });
        const before = await this.readFence();
        if (remote === null) {
          // Verifying needs the lock of the target: a merge of the lander before that is under way ends first.
          const tip = await targetTip(this.root, this.place);
          const verify = tip === null ? [] : [{ ref: targetRef(this.place), is: tip }];
          await this.changeRefs([...verify, { ref: this.fenceRef, to: blob, from: before }], withoutHooks);
        } else await this.push([[`${blob}:${this.fenceRef}`, this.fenceRef, before]]);
        this.fence = blob;
      },
      (error) => isLocked(error) || isMoved(error),
    );
  }

  private async readFence(): Promise<string | null> {
    const { remote } = this.place;
    if (remote === null) return gitOr(this.root, ["rev-parse", "--verify", "--quiet", this.fenceRef]);
    const line = await git(this.root, ["ls-remote", remote, this.fenceRef], { timeoutMs: pushTimeoutMs });
    return line.split(/\s/)[0] || null;
  }

  private write(value: object): Promise<string> {
    return git(this.root, ["hash-object", "-w", "--stdin"], { input: `${JSON.stringify(value)}\n` });
  }

  /** Moves the target as the intent says, or throws BeginAgain, Held or LeaseLost and has moved nothing. */
  async move(move: Move, intent: { landing: string; epoch: number }): Promise<void> {
    const { from, to, checkout } = move;
    const blob = await this.write({ type: "intent", ...intent, from, to });
    if (this.place.remote !== null) await this.pushTarget(move, blob);
    else if (checkout === null) await this.updateTarget(move, blob);
    else await this.mergeInto(checkout, move, blob);
  }

  private async updateTarget({ from, to }: Move, blob: string): Promise<void> {
    try {
      await patiently(() =>
        this.changeRefs([
          { ref: targetRef(this.place), to, from },
          { ref: this.fenceRef, to: blob, from: this.fence },
        ]),
      );
      this.fence = blob;
    } catch (error) {
      await this.explain(error, from, blob);
    }
    await this.follow(from, to);
  }

  /** Checkouts that switched to the target a moment before it moved have the files of the old commit: theirs follow. */
  async follow(from: string, to: string): Promise<void> {
    const behind: Behind[] = [];
    for (const { path, branch } of await checkoutsOf(this.repository)) {
      if (branch !== targetRef(this.place)) continue;
      if ((await followTo({ path, from, to })) !== null) behind.push({ path, from, to });
    }
    if (behind.length > 0) this.writeBehind([...this.readBehind(), ...behind]);
  }

  /** While the files of a checkout are those of an earlier commit, git shows the landing as reverted there. */
  async refuseBehind(): Promise<void> {
    for (const behind of this.readBehind()) {
      const { path, from } = behind;
      const isLeft = !existsSync(path) || !(await isOn(path, targetRef(this.place)));
      const obstacle = isLeft ? null : await followTo(behind);
      if (obstacle === null) {
        this.writeBehind(this.readBehind().filter((each) => each.path !== path));
        continue;
      }
      throw new Held({
        reason: "CHECKOUT_BEHIND",
        message:
          `${this.place.target} has moved, but ${path} still has the files of ${shortSha(from)}: ${obstacle}. ` +
          "Move it away, and the checkout is updated.",
        fix: `git -C ${shellWord(path)} status`,
      });
    }
  }

  /** In a file: the next lander must know of them, too. */
  private get behindFile(): string {
    const name = `behind-${encodeURIComponent(this.place.target)}.json`;
    return join(this.repository.gitDirectory, "dibs", name);
  }

  private readBehind(): Behind[] {
    try {
      return JSON.parse(readFileSync(this.behindFile, "utf8")) as Behind[];
    } catch {
      return [];
    }
  }

  private writeBehind(behind: readonly Behind[]): void {
    const file = this.behindFile;
    if (behind.length === 0) {
      rmSync(file, { force: true });
      return;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, JSON.stringify(behind));
    renameSync(`${file}.new`, file);
  }

  /** Why a transaction was refused. Returns if it was not: the fence is the one that it sets. */
  private async explain(error: unknown, from: string, blob: string): Promise<void> {
    const fence = await this.readFence();
    if (fence === blob) {
      this.fence = blob;
      return;
    }
    if (fence !== this.fence) throw new LeaseLost("Another lander has taken over.");
    const tip = await targetTip(this.root, this.place);
    if (tip !== from) throw new BeginAgain();
    throw new Held({
      reason: "TARGET_REFUSED",
      message: `Git refuses to move ${this.place.target}: ${saidByGit(error)}`,
      fix: `ls ${shellWord(join(this.repository.gitDirectory, "hooks"))}`,
    });
  }

  private changeRefs(changes: readonly RefChange[], options: readonly string[] = []): Promise<void> {
    return changeRefs(this.root, changes, { options, timeoutMs: mergeTimeoutMs });
  }

  private async push(refs: [refspec: string, ref: string, before: string | null][]): Promise<void> {
    const leases = refs.map(([, ref, before]) => `--force-with-lease=${ref}:${before ?? ""}`);
    const refspecs = refs.map(([refspec]) => refspec);
    const args = ["push", "--quiet", "--atomic", ...leases, this.place.remote!, ...refspecs];
    await git(this.root, args, { timeoutMs: pushTimeoutMs });
  }

  private async pushTarget({ from, to }: Move, blob: string): Promise<void> {
    const { target, remote } = this.place;
    const branch = `refs/heads/${target}`;
    if ((await gitOr(this.root, ["merge-base", "--is-ancestor", from, to])) === null) throw new BeginAgain();
    try {
      await this.push([
        [`${to}:${branch}`, branch, from],
        [`${blob}:${this.fenceRef}`, this.fenceRef, this.fence],
      ]);
      this.fence = blob;
    } catch (error) {
      try {
        await this.explain(error, from, blob);
      } catch (reason) {
        if (!(reason instanceof GitError || reason instanceof Held)) throw reason;
        throw new Held({
          reason: reason instanceof Held ? "PUSH_REJECTED" : "REMOTE_UNREACHABLE",
          message: `Cannot push ${target} to ${remote}: ${rejectionOf(error)}`,
          fix: `git push --dry-run ${remote} ${shortSha(to)}:refs/heads/${target}`,
        });
      }
    }
  }

  /** Files and branch move together, in the working tree of a person. */
  private async mergeInto(checkout: Checkout, { from, to }: Move, blob: string): Promise<void> {
    const { path } = checkout;
    const ref = targetRef(this.place);
    try {
      await patiently(() =>
        this.changeRefs(
          [
            { ref, is: from },
            { ref: this.fenceRef, to: blob, from: this.fence },
          ],
          withoutHooks,
        ),
      );
    } catch (error) {
      await this.explain(error, from, blob);
    }
    this.fence = blob;
    await this.before("merge into checkout");
    this.own ??= await ownHooks(path, this.repository);
    const { own } = this;
    const hooks = installHooks(this.repository, own);
    const env = {
      LANDING_REF: ref,
      LANDING_FROM: from,
      LANDING_TO: to,
      LANDING_FENCE_REF: this.fenceRef,
      LANDING_FENCE: blob,
      LANDING_HOOKS: own,
    };
    const settings = [`core.hooksPath=${hooks}`, "submodule.recurse=false"].flatMap((each) => ["-c", each]);
    const flags = ["--quiet", "--no-stat", "--no-squash", "--no-autostash", "--no-verify-signatures"];
    const startedAt = Date.now();
    try {
      await git(path, [...settings, "merge", "--ff-only", "--no-overwrite-ignore", ...flags, to], {
        env,
        timeoutMs: mergeTimeoutMs,
      });
    } catch (error) {
      await rollBack(checkout, { from, to, startedAt });
      const fence = await this.readFence();
      if (fence !== blob) throw new LeaseLost("Another lander has taken over.");
      const tip = await targetTip(this.root, this.place);
      if (tip === to) return;
      if (tip !== from || !(await isOn(path, ref))) throw new BeginAgain();
      throw new Held({
        reason: "CHECKOUT_REFUSED",
        message: `Git cannot update ${path}: ${rejectionOf(error)}`,
        fix: `git -C ${shellWord(path)} status`,
      });
    }
  }
}

/** A checkout of the target whose files are those of an earlier commit. */
interface Behind {
  path: string;
  from: string;
  to: string;
}

/** Null: done, or a person has done it. Else what keeps it from being done: nothing of anybody's is overwritten. */
async function followTo({ path, from, to }: Behind): Promise<string | null> {
  const changed = await changedPaths(path, from, to);
  const diff = ["diff", "--cached", "--no-ext-diff", "--no-renames", "--name-only", "-z", from, "--"];
  const staged = new Set((await git(path, diff)).split("\0"));
  if (changed.length === 0 || changed.some((each) => staged.has(each.path))) return null;
  const inTheWay = (await DirtyPaths.since({ path }, from)).inTheWay(changed);
  if (inTheWay !== null) return `${inTheWay} is in the way`;
  try {
    await patiently(() => git(path, ["read-tree", "-m", "-u", from, to]));
    return null;
  } catch (error) {
    return saidByGit(error);
  }
}

const isOn = async (path: string, ref: string) =>
  (await gitOr(path, ["symbolic-ref", "--quiet", "HEAD"])) === ref;

/** What a hook or the server says is behind git's first lines. */
function rejectionOf(error: unknown): string {
  const lines = error instanceof GitError ? error.stderr.split("\n") : [saidByGit(error)];
  const told = lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("hint:"));
  return told.slice(0, 6).join(" · ").slice(0, 800);
}

const isLocked = (error: unknown) =>
  error instanceof GitError && /unable to create .*\.lock/i.test(error.stderr);
const isMoved = (error: unknown) =>
  error instanceof GitError && /but expected|stale info/i.test(error.stderr);

/** Another git command has a ref locked for a moment. */
function patiently<T>(act: () => Promise<T>, isTransient = isLocked): Promise<T> {
  return retry(act, { isTransient, pauseMs: (failures) => 25 * (failures + 1), triesMax: 40 });
}

export interface Unfinished {
  from: string;
  to: string;
  /** When this very process began to merge; otherwise it was another one, which is gone. */
  startedAt?: number;
}

/**
 * A merge that was refused or killed can leave files of the new commit on the old one, staged or not. Those that are exactly as
 * in the new commit go back; all others are a person's.
 */
export async function rollBack(
  { path, gitDirectory }: Checkout,
  { from, to, startedAt }: Unfinished,
): Promise<void> {
  const has = async (args: string[]) => (await gitOr(path, args)) !== null;
  if (!(await has(["cat-file", "-e", to])) || (await has(["merge-base", "--is-ancestor", to, "HEAD"])))
    return;
  const changed = await changedPaths(path, from, to);
  const names = new Set(changed.map((each) => each.path));
  const unstaged = (await git(path, ["diff-index", "--cached", "--name-only", "-z", to, "--"])).split("\0");
  const isStaged = changed.length > 0 && !unstaged.some((name) => names.has(name));
  if (isStaged) {
    await stageCommitted(path, from);
    await git(path, ["read-tree", "-m", "-u", to, "HEAD"]).catch((error) => {
      throw new Held({
        reason: "CHECKOUT_HALF_DONE",
        message: `A landing that was interrupted left ${shortSha(to)} staged in ${path}: ${saidByGit(error)}`,
        fix: `git -C ${shellWord(path)} status`,
      });
    });
    return;
  }
  const isOfMerge = startedAt === undefined ? ofKilledMerge(gitDirectory) : ofMergeSince(startedAt);
  for (const each of changed) await restore(path, each, to, isOfMerge);
}

/**
 * Git's merge reads the index before it locks it. What a person has added and committed between the two is not in the index that
 * the merge then writes: the index undoes the commit, and the person's next commit would, too.
 */
async function stageCommitted(path: string, from: string): Promise<void> {
  if ((await gitOr(path, ["merge-base", "--is-ancestor", from, "HEAD"])) === null) return;
  const committed = await changedPaths(path, from, "HEAD");
  if (committed.length === 0) return;
  const unlike = await git(path, ["diff-index", "--cached", "--name-only", "-z", from, "--"]);
  const staged = new Set(unlike.split("\0"));
  const undone = committed.map((each) => each.path).filter((name) => !staged.has(name));
  if (undone.length === 0) return;
  const names = ["--pathspec-from-file=-", "--pathspec-file-nul"];
  const input = undone.join("\0");
  await patiently(() => git(path, ["--literal-pathspecs", "reset", "--quiet", ...names, "HEAD"], { input }));
}

/** Whether the merge has written a file, or removed one that is not there. */
type IsOfMerge = (file: Stats | undefined) => boolean;

/** Clocks of file systems are coarser than ours. */
const coarseMs = 100;
const ofMergeSince =
  (startedAt: number): IsOfMerge =>
  (file) =>
    file === undefined || file.mtimeMs >= startedAt - coarseMs;

const killedMs = 10_000;

/**
 * A merge that was killed leaves its lock of the index, which it takes before it writes the first file. Without the lock, a
 * person has created or changed the file since.
 */
function ofKilledMerge(gitDirectory: string): IsOfMerge {
  const since = statSync(join(gitDirectory, "index.lock"), { throwIfNoEntry: false })?.mtimeMs;
  if (since === undefined) return () => false;
  return (file) => file === undefined || (file.mtimeMs >= since && file.mtimeMs <= since + killedMs);
}

/** A file that a killed merge has written or removed, and not yet staged. */
async function restore(
  root: string,
  { path, isAdded, isRemoved }: ChangedPath,
  to: string,
  isOfMerge: IsOfMerge,
): Promise<void> {
  const file = join(root, path);
  const there = entryAt(file);
  const indexed = await gitOr(root, ["rev-parse", "--verify", "--quiet", `:${path}`]);
  if (isAdded ? indexed !== null : indexed === null) return;
  if (isRemoved ? there !== undefined : !there?.isFile()) return;
  if (!isRemoved) {
    const written = await gitOr(root, ["hash-object", `--path=${path}`, "--", file]);
    const wanted = await gitOr(root, ["rev-parse", "--verify", "--quiet", `${to}:${path}`]);
    if (written !== wanted || written === indexed) return;
  }
  if (!isOfMerge(there)) return;
  if (isAdded) rmSync(file);
  else await gitOr(root, ["checkout-index", "--force", "--", path]);
}

/** The repository's own hooks stay in force: git knows one directory only, so ours calls theirs. */
async function ownHooks(path: string, { gitDirectory }: Repository): Promise<string> {
  const set = await gitOr(path, ["config", "--type=path", "--get", "core.hooksPath"]);
  return set ? resolve(path, set) : join(gitDirectory, "hooks");
}

const marker = "# Created by dibs for landings.";

/** Only what the intent names may move. */
export const guard = `#!/bin/sh
${marker}
changes=$(cat)
refuse() {
  echo "dibs: this landing must not move $1" >&2
  exit 1
}
if [ "$1" = prepared ]; then
  target=no
  head=no
  while read -r from to ref; do
    case "$ref" in
      "$LANDING_REF")
        [ "$from $to" = "$LANDING_FROM $LANDING_TO" ] || refuse "$ref"
        target=yes ;;
      HEAD) head=yes ;;
      ORIG_HEAD | AUTO_MERGE) ;;
      *) refuse "$ref" ;;
    esac
  done <<CHANGES
$changes
CHANGES
  # From git 2.48 on, HEAD is not in the list when its branch is.
  [ "$head" = no ] || [ "$target" = yes ] || refuse HEAD
  if [ "$target" = yes ]; then
    [ "$(git rev-parse --verify --quiet "$LANDING_FENCE_REF")" = "$LANDING_FENCE" ] || refuse "$LANDING_REF: another lander has taken over"
  fi
fi
own="$LANDING_HOOKS/reference-transaction"
if [ -x "$own" ]; then printf '%s\\n' "$changes" | "$own" "$@"; fi
`;

const forward = (name: string) => `#!/bin/sh
${marker}
exec "$LANDING_HOOKS/${name}" "$@"
`;

function installHooks({ gitDirectory }: Repository, own: string): string {
  const directory = join(gitDirectory, "dibs", "land-hooks");
  mkdirSync(directory, { recursive: true });
  const names = existsSync(own) ? readdirSync(own).filter((name) => /^[a-z-]+$/.test(name)) : [];
  const wanted = new Map(names.map((name) => [name, forward(name)]));
  wanted.set("reference-transaction", guard);
  for (const name of readdirSync(directory)) if (!wanted.has(name)) rmSync(join(directory, name));
  for (const [name, text] of wanted) {
    const file = join(directory, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  }
  return directory;
}
