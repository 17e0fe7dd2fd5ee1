// Result and error files that a worker left next to its task file.

import { join } from "node:path";
import { leftBeside } from "./names.js";
import { bounds } from "./options.js";
import type { SpoolFile } from "./scan.js";
import type { Tree } from "./tree.js";

export interface Result {
  output: string;
  filesCreated: string[];
  filesModified: string[];
}

const nothing: Result = { output: "", filesCreated: [], filesModified: [] };

/** From its directory, or from `in_progress`. If the file cannot be read, the result names it. */
export function resultOf(
  tree: Tree,
  spoolFile: SpoolFile,
  onOddity: (path: string, problem: string) => void,
): Result {
  const path = besideOf(tree, spoolFile, "result");
  if (path === null) return nothing;
  const reading = tree.read(path, bounds.resultBytesMax);
  if (reading.ok)
    return path.endsWith(".json") ? fromJson(reading.text) : { ...nothing, output: reading.text };
  onOddity(path, reading.problem);
  return { ...nothing, output: `The result is in ${tree.shown(path)}, which ${reading.problem}.` };
}

/** Null: it did not fail. */
export function errorPathOf(tree: Tree, spoolFile: SpoolFile): string | null {
  return besideOf(tree, spoolFile, "error");
}

export function errorOf(tree: Tree, path: string): string {
  const reading = tree.read(path, bounds.errorLengthMax);
  if (!reading.ok) return `failed; ${tree.shown(path)} ${reading.problem}`;
  return reading.text.trim() || "failed, without saying why";
}

function besideOf(tree: Tree, spoolFile: SpoolFile, what: "result" | "error"): string | null {
  const places = [
    { directory: spoolFile.directory, files: spoolFile.isLoose ? [] : spoolFile.beside },
    ...(spoolFile.stage === "completed" ? [inProgressOf(tree, spoolFile.name)] : []),
  ];
  for (const { directory, files } of places) {
    const file = leftBeside(what, spoolFile.name, files);
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
