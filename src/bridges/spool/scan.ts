// A look at the directories: which task file lies where, and what lies there that is none. Directories are read in the order in which
// files move, so that one that moves meanwhile is seen twice rather than not at all.

import { isName, leftBeside, looseName, type Stage, taskFile } from "./names.js";
import type { Entry, Tree } from "./tree.js";

/** A task file in its place. */
export interface Paper {
  stage: Stage;
  name: string;
  pid: number | null;
  directory: string;
  file: string;
  /** It lies in the stage itself, not in a directory of its own. */
  isLoose: boolean;
  /** Other files beside it. */
  beside: string[];
}

export interface Oddity {
  path: string;
  problem: string;
}

export interface Picture {
  /** By name, in the order of the stages. */
  papers: Map<string, Paper[]>;
  oddities: Oddity[];
}

interface ScanOptions {
  isHeld(name: string): boolean;
  /** It lay in `completed` before the task of that name was held. */
  isOlder(name: string, path: string): boolean;
  /** What lies in `completed` and is settled; found ones are to be added by whoever settles them. */
  settled: Set<string>;
}

/** Finished work stays in `completed` for years: it is read again only when something came or went. */
export class Scanner {
  private completedAt = 0;
  private completed: Entry[] = [];

  constructor(
    private readonly tree: Tree,
    private readonly options: ScanOptions,
  ) {}

  look(): Picture {
    const picture: Picture = { papers: new Map(), oddities: [] };
    for (const stage of ["to_execute", "in_progress"] as const) {
      for (const entry of this.list(this.tree.stage(stage), picture)) this.see(stage, entry, picture);
    }
    for (const entry of this.completedEntries(picture)) {
      if (!this.options.settled.has(entry.name)) this.see("completed", entry, picture);
    }
    return picture;
  }

  /** Only asked for what is nowhere else: `stale` is never tidied up by us. */
  inStale(name: string): Paper | null {
    const picture: Picture = { papers: new Map(), oddities: [] };
    const kind = this.tree.stats(this.tree.stage("stale", name))?.isDirectory() ? "directory" : "other";
    this.see("stale", { name, kind }, picture);
    return picture.papers.get(name)?.[0] ?? null;
  }

  private list(path: string, { oddities }: Picture): Entry[] {
    try {
      return this.tree.list(path);
    } catch (error) {
      oddities.push({ path, problem: `cannot be read: ${(error as Error).message}` });
      return [];
    }
  }

  private completedEntries(picture: Picture): Entry[] {
    const path = this.tree.stage("completed");
    const changedAt = this.tree.stats(path)?.mtimeMs ?? 0;
    // A change within the clock's grain of the last look would not show.
    const isOld = Date.now() - changedAt > 2_000;
    if (changedAt !== this.completedAt || !isOld) {
      this.completed = this.list(path, picture);
      this.completedAt = isOld ? changedAt : 0;
    }
    return this.completed;
  }

  private see(stage: Stage, { name, kind }: Entry, picture: Picture): void {
    const path = this.tree.stage(stage, name);
    const odd = (problem: string) => void picture.oddities.push({ path, problem });
    if (kind === "link") odd("is a symbolic link");
    else if (kind === "other") odd("is neither a file nor a directory");
    else if (kind === "directory") {
      if (isName(name)) this.seeDirectory(stage, name, path, picture);
      else odd("has a name that cannot be a task's id");
    } else this.seeLoose(stage, name, picture, odd);
  }

  private seeLoose(stage: Stage, file: string, picture: Picture, odd: (problem: string) => void): void {
    const whole = looseName(file, false);
    if (!whole) {
      if (stage === "to_execute") odd("is not a task: those end with .md");
      return;
    }
    const loose = this.options.isHeld(whole.name) ? whole : looseName(file, stage !== "to_execute")!;
    const directory = this.tree.stage(stage);
    if (!isName(loose.name)) odd("has a name that cannot be a task's id");
    else if (stage !== "completed" || !this.options.isOlder(loose.name, this.tree.stage(stage, file)))
      add(picture, { stage, ...loose, directory, file, isLoose: true, beside: [] });
  }

  private seeDirectory(stage: Stage, name: string, directory: string, picture: Picture): void {
    const entries = this.list(directory, picture);
    const beside = entries.filter(({ kind }) => kind === "file").map((entry) => entry.name);
    for (const { name: file, kind } of entries) {
      const found = taskFile(name, file);
      const path = this.tree.stage(stage, name, file);
      const isMeant = found || leftBeside("result", name, [file]) || leftBeside("error", name, [file]);
      if (isMeant && kind !== "file") picture.oddities.push({ path, problem: notAFile[kind] });
      else if (found) {
        const others = beside.filter((each) => each !== file);
        add(picture, { stage, name, ...found, directory, file, isLoose: false, beside: others });
      }
    }
  }
}

const notAFile = {
  link: "is a symbolic link",
  directory: "is a directory where a file should be",
  other: "is not a regular file",
};

function add({ papers }: Picture, paper: Paper): void {
  const known = papers.get(paper.name);
  if (known) known.push(paper);
  else papers.set(paper.name, [paper]);
}
