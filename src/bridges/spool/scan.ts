// Scans the stage directories for task files, and for entries that are none. Directories are read in the order in which
// files move, so a file that moves during the scan is found twice rather than not at all.

import { isName, leftBeside, looseName, type Stage, taskFile } from "./names.js";
import type { Entry, Tree } from "./tree.js";

/** A task file and its place. */
export interface SpoolFile {
  stage: Stage;
  name: string;
  pid: number | null;
  directory: string;
  file: string;
  /** It is directly in the stage directory, not in its own. */
  isLoose: boolean;
  /** Other files next to it. */
  beside: string[];
}

export interface Oddity {
  path: string;
  problem: string;
}

export interface ScanResult {
  /** By name, in the order of the stages. */
  spoolFiles: Map<string, SpoolFile[]>;
  oddities: Oddity[];
}

interface ScanOptions {
  isHeld(name: string): boolean;
  /** Its outcome is known, or it is older than this spool. */
  isOver(stage: Stage, entry: string): boolean;
}

const archives = ["completed", "stale"] as const;
type Archive = (typeof archives)[number];

/** `completed` and `stale` grow for years: they are listed again only if they changed, and finished entries are skipped. */
export class Scanner {
  private readonly entries = new Map<Archive, { changedAt: number; found: Entry[] }>();
  private readonly settled = { completed: new Set<string>(), stale: new Set<string>() };

  constructor(
    private readonly tree: Tree,
    private readonly options: ScanOptions,
  ) {}

  scan(): ScanResult {
    const scan: ScanResult = { spoolFiles: new Map(), oddities: [] };
    for (const stage of ["to_execute", "in_progress"] as const) {
      for (const entry of this.list(this.tree.stage(stage), scan)) this.see(stage, entry, scan);
    }
    for (const stage of archives) {
      for (const entry of this.archived(stage, scan)) {
        if (!this.isSettled(stage, entry)) this.see(stage, entry, scan);
      }
    }
    return scan;
  }

  /** A task of that name is held: entries of that name are its own from now on. */
  unsettle(name: string): void {
    for (const stage of archives) this.settled[stage].delete(name);
  }

  private isSettled(stage: Archive, { name }: Entry): boolean {
    if (this.settled[stage].has(name)) return true;
    const isOver = this.options.isOver(stage, name);
    if (isOver) this.settled[stage].add(name);
    return isOver;
  }

  private list(path: string, { oddities }: ScanResult): Entry[] {
    try {
      return this.tree.list(path);
    } catch (error) {
      oddities.push({ path, problem: `cannot be read: ${(error as Error).message}` });
      return [];
    }
  }

  private archived(stage: Archive, scan: ScanResult): Entry[] {
    const path = this.tree.stage(stage);
    const changedAt = this.tree.stats(path)?.mtimeMs ?? 0;
    const known = this.entries.get(stage);
    if (known?.changedAt === changedAt) return known.found;
    const found = this.list(path, scan);
    const names = new Set(found.map(({ name }) => name));
    for (const name of this.settled[stage]) if (!names.has(name)) this.settled[stage].delete(name);
    // A change within the resolution of the file system's clock would be missed.
    if (Date.now() - changedAt > 2_000) this.entries.set(stage, { changedAt, found });
    return found;
  }

  private see(stage: Stage, { name, kind }: Entry, scan: ScanResult): void {
    const path = this.tree.stage(stage, name);
    const odd = (problem: string) => void scan.oddities.push({ path, problem });
    if (kind === "link") odd("is a symbolic link");
    else if (kind === "other") odd("is neither a file nor a directory");
    else if (kind === "directory") {
      if (isName(name)) this.seeDirectory(stage, name, path, scan);
      else odd("has a name that cannot be a task's id");
    } else this.seeLoose(stage, name, scan, odd);
  }

  private seeLoose(stage: Stage, file: string, scan: ScanResult, odd: (problem: string) => void): void {
    const whole = looseName(file, false);
    if (!whole) {
      if (stage === "to_execute") odd("is not a task: those end with .md");
      return;
    }
    const loose = this.options.isHeld(whole.name) ? whole : looseName(file, stage !== "to_execute")!;
    const directory = this.tree.stage(stage);
    if (!isName(loose.name)) odd("has a name that cannot be a task's id");
    else add(scan, { stage, ...loose, directory, file, isLoose: true, beside: [] });
  }

  private seeDirectory(stage: Stage, name: string, directory: string, scan: ScanResult): void {
    const entries = this.list(directory, scan);
    const beside = entries.filter(({ kind }) => kind === "file").map((entry) => entry.name);
    for (const { name: file, kind } of entries) {
      const found = taskFile(name, file);
      const path = this.tree.stage(stage, name, file);
      const isMeant = found || leftBeside("result", name, [file]) || leftBeside("error", name, [file]);
      if (isMeant && kind !== "file") scan.oddities.push({ path, problem: notAFile[kind] });
      else if (found) {
        const others = beside.filter((each) => each !== file);
        add(scan, { stage, name, ...found, directory, file, isLoose: false, beside: others });
      }
    }
  }
}

const notAFile = {
  link: "is a symbolic link",
  directory: "is a directory where a file should be",
  other: "is not a regular file",
};

function add({ spoolFiles }: ScanResult, spoolFile: SpoolFile): void {
  const known = spoolFiles.get(spoolFile.name);
  if (known) known.push(spoolFile);
  else spoolFiles.set(spoolFile.name, [spoolFile]);
}
