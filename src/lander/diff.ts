// What a submission changes on the target: its files, a bounded patch, and the paths that need a person. Read from the repository,
// never taken from the author.

import { createHash } from "node:crypto";
import { globMatcher } from "../common/glob.js";
import { diffBounds } from "../contract/landings/diff.js";
import type { InputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireProject } from "../contract/shapes.js";
import { GitError, git } from "../runner/git.js";

type Land = WireProject["settings"]["land"];
type Recorded = InputOf<OperationNamed<"landings.diff">>;
export type Diff = Pick<Recorded, "diff" | "patch">;

/** Attributes of the tree and the user's settings must not change what is shown: no external drivers, no text conversion. */
const options = [
  "-c",
  "core.quotePath=false",
  "-c",
  "diff.noprefix=false",
  "diff-tree",
  "-r",
  "--no-renames",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--numstat",
  "-p",
];

/** Nothing is changed. */
export function emptyDiff(base: string): Diff {
  const none = { files: [], fileCount: 0, insertions: 0, deletions: 0, reviewPaths: [], patchId: null };
  return { diff: { base, ...none }, patch: { text: "", omitted: 0 } };
}

/** `review`: whose approval is needed in any case, and globs of paths that need a person's. */
export async function diffBetween(
  cwd: string,
  { from, to }: { from: string; to: string },
  { review, reviewPaths }: Pick<Land, "review" | "reviewPaths">,
): Promise<Diff> {
  const { out, isWhole } = await outputOf(cwd, [...options, from, to]);
  const start = out.search(/^diff --git /m);
  const files = filesIn(start === -1 ? out : out.slice(0, start));
  const whole = start === -1 ? "" : `${out.slice(start)}\n`;
  const protectedPaths = files.map(({ path }) => path).filter(globMatcher(reviewPaths));
  const isReviewed = review !== "none" || protectedPaths.length > 0;
  const sum = (of: "insertions" | "deletions") => files.reduce((total, file) => total + (file[of] ?? 0), 0);
  return {
    diff: {
      base: from,
      files: files.slice(0, diffBounds.filesMax).map((file) => ({ ...file, path: shown(file.path) })),
      fileCount: files.length,
      insertions: sum("insertions"),
      deletions: sum("deletions"),
      reviewPaths: protectedPaths.slice(0, diffBounds.reviewPathsMax).map(shown),
      // Only an approval is inherited by it.
      patchId: isReviewed && isWhole && whole !== "" ? await patchId(cwd, whole) : null,
    },
    patch: cut(whole, files.length, isWhole),
  };
}

/** The beginning of an output that is too long. */
async function outputOf(cwd: string, args: string[]): Promise<{ out: string; isWhole: boolean }> {
  try {
    return { out: await git(cwd, args), isWhole: true };
  } catch (error) {
    if (!(error instanceof GitError) || error.exitCode !== null || error.stdout === "") throw error;
    return { out: error.stdout, isWhole: false };
  }
}

/**
 * The same for the same change, wherever it is applied. Git's id omits white space, which changes what programs do: the changed lines
 * are added as they are. Null where bytes that are no text cannot be told apart.
 */
async function patchId(cwd: string, patch: string): Promise<string | null> {
  if (patch.includes("\ufffd")) return null;
  const id = (await git(cwd, ["patch-id", "--stable"], { input: patch })).split(" ")[0];
  if (!id) return null;
  const lines = patch.split("\n");
  const isChange = (line: string, at: number) =>
    /^(?:[-+\\]|diff )/.test(line) || lines[at + 1]?.startsWith("Binary files ");
  const exact = [id, ...lines.filter(isChange)].join("\n");
  return createHash("sha256").update(exact).digest("hex");
}

interface ChangedFile {
  path: string;
  insertions: number | null;
  deletions: number | null;
}

function filesIn(numstat: string): ChangedFile[] {
  return numstat.split("\n").flatMap((line) => {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.+)$/.exec(line) ?? [];
    const count = (text = "-") => (text === "-" ? null : Number(text));
    return path === undefined
      ? []
      : [{ path: unquoted(path), insertions: count(added), deletions: count(removed) }];
  });
}

const escapes: Record<string, string> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

/** Git quotes names with control characters, quotes and backslashes: globs must see them as they are. */
function unquoted(name: string): string {
  if (!name.startsWith('"')) return name;
  return name
    .slice(1, -1)
    .replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, letter: string | undefined) =>
      octal ? String.fromCharCode(Number.parseInt(octal, 8)) : (escapes[letter!] ?? letter!),
    );
}

const shown = (path: string) => storable(path).slice(0, diffBounds.pathLengthMax).toWellFormed();
const storable = (text: string) => text.replaceAll("\0", "\ufffd").toWellFormed();

/**
 * Whole files, as many as fit; also as JSON, where a control character takes six. One that is too long hides none of the others.
 */
function cut(patch: string, fileCount: number, isWhole: boolean): Diff["patch"] {
  const files = storable(patch).split(/^(?=diff --git )/m);
  // Of an output that is too long, the last file is not whole.
  if (!isWhole) files.pop();
  const texts: string[] = [];
  let size = 0;
  for (const text of files) {
    const bytes = Buffer.byteLength(JSON.stringify(text));
    if (size + bytes > diffBounds.patchBytesMax) continue;
    size += bytes;
    texts.push(text);
  }
  return { text: texts.join(""), omitted: patch === "" ? 0 : Math.max(0, fileCount - texts.length) };
}
