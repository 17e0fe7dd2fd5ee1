// What a worker left beside its task file: its result, or why it failed.

import { join } from "node:path";
import { leftBeside } from "./names.js";
import { bounds } from "./options.js";
import type { Paper } from "./scan.js";
import type { Tree } from "./tree.js";

export interface Result {
  output: string;
  filesCreated: string[];
  filesModified: string[];
}

const nothing: Result = { output: "", filesCreated: [], filesModified: [] };

/** In its directory, or where it was worked on. A file that cannot be taken is named instead: the work is done all the same. */
export function resultOf(
  tree: Tree,
  paper: Paper,
  onOddity: (path: string, problem: string) => void,
): Result {
  const path = besideOf(tree, paper, "result");
  if (path === null) return nothing;
  const reading = tree.read(path, bounds.resultBytesMax);
  if (reading.ok)
    return path.endsWith(".json") ? fromJson(reading.text) : { ...nothing, output: reading.text };
  onOddity(path, reading.problem);
  return { ...nothing, output: `The result is in ${tree.shown(path)}, which ${reading.problem}.` };
}

/** Null: it did not fail. */
export function errorPathOf(tree: Tree, paper: Paper): string | null {
  return besideOf(tree, paper, "error");
}

export function errorOf(tree: Tree, path: string): string {
  const reading = tree.read(path, bounds.errorLengthMax);
  if (!reading.ok) return `failed; ${tree.shown(path)} ${reading.problem}`;
  return reading.text.trim() || "failed, without saying why";
}

function besideOf(tree: Tree, paper: Paper, what: "result" | "error"): string | null {
  const places = [
    { directory: paper.directory, files: paper.isLoose ? [] : paper.beside },
    ...(paper.stage === "completed" ? [inProgressOf(tree, paper.name)] : []),
  ];
  for (const { directory, files } of places) {
    const file = leftBeside(what, paper.name, files);
    if (file !== null) return join(directory, file);
  }
  return null;
}

function inProgressOf(tree: Tree, name: string) {
  const directory = tree.stage("in_progress", name);
  return { directory, files: tree.list(directory).map((entry) => entry.name) };
}

/** `{output, filesCreated, filesModified}`; anything else is the output itself. */
function fromJson(text: string): Result {
  try {
    const value = JSON.parse(text);
    const { output = "", filesCreated = [], filesModified = [], ...others } = value;
    const isResult =
      Object.keys(others).length === 0 &&
      typeof output === "string" &&
      [filesCreated, filesModified].every(isListOfTexts);
    return isResult ? { output, filesCreated, filesModified } : { ...nothing, output: text };
  } catch {
    return { ...nothing, output: text };
  }
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 1_000 && value.every((each) => typeof each === "string");
}
