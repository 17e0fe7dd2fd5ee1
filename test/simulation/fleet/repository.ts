// Git as far as landers need it: commits of files, a target that is moved by compare and swap, and the fence ref next to it.

import { createHash } from "node:crypto";
import type { World } from "./world.js";

type Files = Readonly<Record<string, string>>;

export interface Commit {
  id: string;
  parent: string | null;
  files: Files;
  /** What landed with it. */
  landed: { taskId: string; submission: number } | null;
}

/** A move of the target that was carried out. */
export interface Move {
  tick: number;
  /** Of the lease of the lander that asked for it. */
  epoch: number;
  /** The highest epoch of any fence before. */
  newest: number;
}

export class Repository {
  readonly moves: Move[] = [];
  fence: { by: string; epoch: number } | null = null;
  private newest = 0;
  private readonly commits = new Map<string, Commit>();
  readonly root = this.add(null, {});
  target = this.root;

  constructor(private readonly world: World) {}

  private add(parent: string | null, files: Files, landed: Commit["landed"] = null): string {
    const text = JSON.stringify([this.commits?.size ?? 0, parent, files, landed]);
    const id = createHash("sha1").update(text).digest("hex");
    this.commits.set(id, { id, parent, files, landed });
    return id;
  }

  get(id: string): Commit {
    return this.commits.get(id)!;
  }

  /** With one more file or another content of it. */
  change(base: string, path: string, content: string): string {
    return this.add(base, { ...this.get(base).files, [path]: content });
  }

  /** From the target back to the beginning. */
  history(from = this.target): Commit[] {
    const commits: Commit[] = [];
    for (let at: string | null = from; at !== null; at = this.get(at).parent) commits.push(this.get(at));
    return commits;
  }

  /** The merged files; null: a conflict. */
  merge(onto: string, submission: string): Files | null {
    const { files, parent } = this.get(submission);
    const before = this.get(parent!).files;
    const own = this.get(onto).files;
    const changed = Object.keys(files).filter((path) => files[path] !== before[path]);
    if (changed.some((path) => own[path] !== before[path] && own[path] !== files[path])) return null;
    return { ...own, ...Object.fromEntries(changed.map((path) => [path, files[path]!])) };
  }

  land(parent: string, files: Files, landed: Commit["landed"]): string {
    return this.add(parent, files, landed);
  }

  isGreen(id: string): boolean {
    return !Object.values(this.get(id).files).some((content) => content.includes("red"));
  }

  /** False: the fence is another one by now. */
  takeOver(before: Repository["fence"], fence: { by: string; epoch: number }): boolean {
    if (this.fence !== before) return false;
    this.fence = fence;
    this.newest = Math.max(this.newest, fence.epoch);
    return true;
  }

  /** False: the target or the fence is another one by now. */
  move(from: string, to: string, fence: Repository["fence"], isForced: boolean): boolean {
    if ((this.target !== from || this.fence !== fence) && !isForced) return false;
    this.moves.push({ tick: this.world.tick(), epoch: fence?.epoch ?? 0, newest: this.newest });
    this.target = to;
    return true;
  }

  /** A person does not know of fences. */
  push(path: string): void {
    this.target = this.change(this.target, path, "by a person");
  }
}
