// Where task files are put: into `to_execute` and out of it again, to `stale`, and what is tidied up in `completed`. Every way is one
// rename, so that a worker that is quicker simply has it, and we see so.

import { join } from "node:path";
import type { Held, Ledger, Mark } from "./ledger.js";
import type { Paper } from "./scan.js";
import type { Tree } from "./tree.js";

const namesMax = 10_000;

export class Shelf {
  constructor(
    private readonly tree: Tree,
    private readonly ledger: Ledger,
  ) {}

  /** The task's id, unless files of that name lie about which are not this claim's. */
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

  place(held: Held, text: string): boolean {
    // Who moves whole directories would move it into one that somebody left there.
    this.tree.removeIfEmpty(this.tree.stage("in_progress", held.name));
    const directory = this.tree.stage("to_execute", held.name);
    const file = `${held.name}.md`;
    if (this.tree.placeDirectory(directory, file, text)) return true;
    // Something else was left there.
    return (
      this.tree.stats(directory)?.isDirectory() === true && this.tree.placeFile(join(directory, file), text)
    );
  }

  /** Out of `to_execute`. False: a worker was quicker. */
  withdraw(paper: Paper): boolean {
    const isOut = this.tree.removeFile(join(paper.directory, paper.file));
    if (paper.isLoose) return isOut;
    if (isOut) this.ledger.unmark(paper.directory);
    this.tree.removeIfEmpty(paper.directory);
    return isOut;
  }

  /** With all that lies beside it, for inspection. Null: it is not there any more; somebody moved it on. */
  toStale(paper: Paper, mark: Mark): string | null {
    const { tree } = this;
    for (let number = 1; number <= namesMax; number++) {
      const target = tree.stage("stale", number === 1 ? paper.name : `${paper.name}-${number}`);
      if (tree.stats(target)) continue;
      const moved = paper.isLoose ? this.moveInto(target, paper) : tree.move(paper.directory, target);
      if (moved === "taken") continue;
      if (moved === "gone") return null;
      if (!tree.stats(join(target, paper.file))) {
        this.putBack(target, paper.directory);
        return null;
      }
      // What it left elsewhere: the next attempt's result is its own.
      for (const stage of ["in_progress", "completed"] as const) {
        if (stage !== paper.stage) this.gather(tree.stage(stage, paper.name), target);
      }
      this.ledger.mark(target, mark);
      return target;
    }
    throw new Error(`stale/${paper.name}: too many of them`);
  }

  private moveInto(target: string, paper: Paper): "moved" | "gone" | "taken" {
    this.tree.makeDirectory(target);
    const moved = this.tree.move(join(paper.directory, paper.file), join(target, paper.file));
    if (moved !== "moved") this.tree.removeIfEmpty(target);
    return moved;
  }

  /** The task file had just left: what it left behind goes back, or stays where nobody minds. */
  private putBack(from: string, to: string): void {
    this.tree.removeIfEmpty(from);
    this.tree.move(from, to);
  }

  /** It is reported: marked, in a directory of its own, with what its worker left in `in_progress`. */
  settleCompleted(paper: Paper, mark: Mark): void {
    const { tree } = this;
    const directory = tree.stage("completed", paper.name);
    if (paper.isLoose || paper.directory !== directory) {
      tree.makeDirectory(directory);
      tree.move(join(paper.directory, paper.file), join(directory, paper.file));
    }
    this.ledger.mark(directory, mark);
    this.gather(tree.stage("in_progress", paper.name), directory);
    tree.removeIfEmpty(tree.stage("to_execute", paper.name));
  }

  /** An earlier task of the same name lies in `completed`, where this one will go. */
  putAside(name: string): void {
    const { tree } = this;
    const earlier = tree.stage("completed", name);
    if (tree.isEmpty(earlier) || !tree.stats(earlier)) return;
    if (!this.ledger.markIn(earlier)) this.ledger.mark(earlier, { taskId: "", epoch: 0, outcome: "earlier" });
    for (let number = 2; number <= namesMax; number++) {
      if (tree.move(earlier, tree.stage("completed", `${name}-${number}`)) !== "taken") return;
    }
  }

  private gather(from: string, to: string): void {
    for (const { name } of this.tree.list(from)) this.tree.move(join(from, name), join(to, name));
    this.tree.removeIfEmpty(from);
  }

  /** A task file that lies in `to_execute` itself gets its directory, like all others. */
  intoDirectory(paper: Paper): boolean {
    const { tree } = this;
    const directory = tree.stage("to_execute", paper.name);
    if (!tree.makeDirectory(directory)) return false;
    return tree.move(join(paper.directory, paper.file), join(directory, `${paper.name}.md`)) === "moved";
  }
}
