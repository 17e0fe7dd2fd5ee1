// Moves task files between the stage directories: into and out of `to_execute`, to `stale`, within `completed`. Every move
// is one rename. If a worker is faster, the rename fails, and the worker has the file.

import { join } from "node:path";
import type { HeldRecord, Mark, Records } from "./records.js";
import type { SpoolFile } from "./scan.js";
import type { Tree } from "./tree.js";

const namesMax = 10_000;

export class StageDirectories {
  constructor(
    private readonly tree: Tree,
    private readonly records: Records,
  ) {}

  /** The task's id, with a number if files of an earlier claim have that name. */
  freeName(taskId: string, isHeld: (name: string) => boolean): string {
    for (let number = 1; number <= namesMax; number++) {
      const name = number === 1 ? taskId : `${taskId.slice(0, 120)}-${number}`;
      if (!isHeld(name) && this.isFree(name)) return name;
    }
    throw new Error(`${taskId}: too many files of that name`);
  }

  private isFree(name: string): boolean {
    const { tree } = this;
    return (["to_execute", "in_progress", "completed"] as const).every((stage) => {
      const path = tree.stage(stage, name);
      return !tree.stats(path) || tree.isEmpty(path);
    });
  }

  place(held: HeldRecord, text: string): boolean {
    // A worker that moves the whole directory would move it into an empty one of that name.
    this.tree.removeIfEmpty(this.tree.stage("in_progress", held.name));
    const directory = this.tree.stage("to_execute", held.name);
    const file = `${held.name}.md`;
    if (this.tree.placeDirectory(directory, file, text)) return true;
    // The directory exists with other files in it.
    return (
      this.tree.stats(directory)?.isDirectory() === true && this.tree.placeFile(join(directory, file), text)
    );
  }

  /** Removes it from `to_execute`. False: a worker has taken it. */
  withdraw(spoolFile: SpoolFile): boolean {
    const isOut = this.tree.removeFile(join(spoolFile.directory, spoolFile.file));
    if (spoolFile.isLoose) return isOut;
    if (isOut) this.records.unmark(spoolFile.directory);
    this.tree.removeIfEmpty(spoolFile.directory);
    return isOut;
  }

  /** Moves it with the files next to it, for inspection. Null: a worker has moved it on. */
  toStale(spoolFile: SpoolFile, mark: Mark): string | null {
    const { tree } = this;
    for (let number = 1; number <= namesMax; number++) {
      const target = tree.stage("stale", number === 1 ? spoolFile.name : `${spoolFile.name}-${number}`);
      if (tree.stats(target)) continue;
      const moved = spoolFile.isLoose
        ? this.moveInto(target, spoolFile)
        : tree.move(spoolFile.directory, target);
      if (moved === "taken") continue;
      if (moved === "gone") return null;
      if (!tree.stats(join(target, spoolFile.file))) {
        this.putBack(target, spoolFile.directory);
        return null;
      }
      // Files that the attempt left in other stages: they must not become the next attempt's result.
      for (const stage of ["in_progress", "completed"] as const) {
        if (stage !== spoolFile.stage) this.gather(tree.stage(stage, spoolFile.name), target);
      }
      this.records.mark(target, mark);
      return target;
    }
    throw new Error(`stale/${spoolFile.name}: too many of them`);
  }

  private moveInto(target: string, spoolFile: SpoolFile): "moved" | "gone" | "taken" {
    this.tree.makeDirectory(target);
    const moved = this.tree.move(join(spoolFile.directory, spoolFile.file), join(target, spoolFile.file));
    if (moved !== "moved") this.tree.removeIfEmpty(target);
    return moved;
  }

  /** A worker took the task file during the move: the rest goes back, or stays in `stale`. */
  private putBack(from: string, to: string): void {
    this.tree.removeIfEmpty(from);
    this.tree.move(from, to);
  }

  /** After the report: marked, in its own directory, together with the files left in `in_progress`. */
  settleCompleted(spoolFile: SpoolFile, mark: Mark): void {
    const { tree } = this;
    const directory = tree.stage("completed", spoolFile.name);
    if (spoolFile.isLoose || spoolFile.directory !== directory) {
      tree.makeDirectory(directory);
      tree.move(join(spoolFile.directory, spoolFile.file), join(directory, spoolFile.file));
    }
    this.records.mark(directory, mark);
    this.gather(tree.stage("in_progress", spoolFile.name), directory);
    tree.removeIfEmpty(tree.stage("to_execute", spoolFile.name));
  }

  /** Renames an earlier task of the same name in `completed`, where this one will go. */
  putAside(name: string): void {
    const { tree } = this;
    const earlier = tree.stage("completed", name);
    if (tree.isEmpty(earlier) || !tree.stats(earlier)) return;
    if (!this.records.markIn(earlier))
      this.records.mark(earlier, { taskId: "", epoch: 0, outcome: "earlier" });
    for (let number = 2; number <= namesMax; number++) {
      if (tree.move(earlier, tree.stage("completed", `${name}-${number}`)) !== "taken") return;
    }
  }

  private gather(from: string, to: string): void {
    for (const { name } of this.tree.list(from)) this.tree.move(join(from, name), join(to, name));
    this.tree.removeIfEmpty(from);
  }

  /** Moves a task file that is directly in `to_execute` into its own directory. */
  intoDirectory(spoolFile: SpoolFile): boolean {
    const { tree } = this;
    const directory = tree.stage("to_execute", spoolFile.name);
    if (!tree.makeDirectory(directory)) return false;
    return (
      tree.move(join(spoolFile.directory, spoolFile.file), join(directory, `${spoolFile.name}.md`)) ===
      "moved"
    );
  }
}
