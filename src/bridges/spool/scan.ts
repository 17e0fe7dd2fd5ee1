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
  /** It is known what became of it, or it was there before we were. */
  isOver(stage: Stage, entry: string): boolean;
}

const archives = ["completed", "stale"] as const;
type Archive = (typeof archives)[number];

/** What is over stays for years: it is read again only when something came or went, and what is settled not even then. */
export class Scanner {
  private readonly entries = new Map<Archive, { changedAt: number; found: Entry[] }>();
  private readonly settled = { completed: new Set<string>(), stale: new Set<string>() };

  constructor(
    private readonly tree: Tree,
    private readonly options: ScanOptions,
  ) {}

  look(): Picture {
    const picture: Picture = { papers: new Map(), oddities: [] };
    for (const stage of ["to_execute", "in_progress"] as const) {
      for (const entry of this.list(this.tree.stage(stage), picture)) this.see(stage, entry, picture);
    }
    for (const stage of archives) {
      for (const entry of this.archived(stage, picture)) {
        if (!this.isSettled(stage, entry)) this.see(stage, entry, picture);
      }
    }
    return picture;
  }

  /** A task of that name is held: what comes there now is its own. */
  unsettle(name: string): void {
    for (const stage of archives) this.settled[stage].delete(name);
  }

  private isSettled(stage: Archive, { name }: Entry): boolean {
    if (this.settled[stage].has(name)) return true;
    const isOver = this.options.isOver(stage, name);
    if (isOver) this.settled[stage].add(name);
    return isOver;
  }

  private list(path: string, { oddities }: Picture): Entry[] {
    try {
      return this.tree.list(path);
    } catch (error) {
      oddities.push({ path, problem: `cannot be read: ${(error as Error).message}` });
      return [];
    }
  }

  private archived(stage: Archive, picture: Picture): Entry[] {
    const path = this.tree.stage(stage);
    const changedAt = this.tree.stats(path)?.mtimeMs ?? 0;
    const known = this.entries.get(stage);
    if (known?.changedAt === changedAt) return known.found;
    const found = this.list(path, picture);
    const names = new Set(found.map(({ name }) => name));
    for (const name of this.settled[stage]) if (!names.has(name)) this.settled[stage].delete(name);
    // A change within the grain of the file system's clock would not show.
    if (Date.now() - changedAt > 2_000) this.entries.set(stage, { changedAt, found });
    return found;
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
    else add(picture, { stage, ...loose, directory, file, isLoose: true, beside: [] });
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
