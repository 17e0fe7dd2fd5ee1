// A patch as git writes it, by file. Its text can be a megabyte of anything: lines are taken out of it only when they are shown.

export interface PatchFile {
  path: string;
  /** Where it was before, if it was renamed. */
  from: string | null;
  insertions: number;
  deletions: number;
  lineCount: number;
  /** Lines before its first change. */
  headerCount: number;
  text: string;
}

/** No line of a changed file begins like this: each has a mark before it. */
const beginning = /^diff --git /gm;

/** The text of each file. */
export function partsOf(patch: string): string[] {
  const starts = Array.from(patch.matchAll(beginning), ({ index }) => index);
  if (starts[0] !== 0 && patch.trim() !== "") starts.unshift(0);
  return starts.map((start, at) => patch.slice(start, starts[at + 1] ?? patch.length));
}

export function fileOf(text: string): PatchFile {
  const hunks = hunksOf(text);
  const header = linesOf(text.slice(0, hunks), headerLinesMax);
  return { text, ...namesOf(header), ...countsOf(text, hunks) };
}

const headerLinesMax = 20;

/** Where its first hunk begins. */
function hunksOf(text: string): number {
  const at = text.search(/^(?:@@ |GIT binary patch$|Binary files )/m);
  return at < 0 ? text.length : at;
}

function namesOf(header: readonly string[]): Pick<PatchFile, "path" | "from"> {
  const after = (mark: string) => {
    const line = header.find((each) => each.startsWith(mark));
    return line === undefined ? null : unquoted(line.slice(mark.length).replace(/\t$/, ""));
  };
  const isFile = (name: string | null) => name !== null && name !== "/dev/null";
  const [before, now] = [after("--- "), after("+++ ")];
  const changed = [now, before].find(isFile)?.replace(/^[ab]\//, "");
  const renamed = after("rename to ") ?? after("copy to ");
  const path = renamed ?? changed ?? sameName(header[0] ?? "") ?? "(unnamed)";
  return { path, from: after("rename from ") };
}

/** `diff --git a/x b/x`: a file that has no hunks, or is binary. */
function sameName(line: string): string | null {
  const names = /^diff --git (.*)$/.exec(line)?.[1] ?? "";
  const length = (names.length - 1) / 2;
  const [a, b] = [names.slice(0, length), names.slice(length + 1)].map(unquoted);
  return a && a.replace(/^a\//, "") === b?.replace(/^b\//, "") ? a.replace(/^a\//, "") : names || null;
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "\u0007", b: "\b", f: "\f", v: "\v" };

/** Git quotes unusual names as C does, byte by byte. */
function unquoted(name: string): string {
  if (!/^".*"$/.test(name)) return name;
  const bytes: number[] = [];
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/g)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...new TextEncoder().encode(plain ?? escapes[letter!] ?? letter));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

type Counts = Pick<PatchFile, "insertions" | "deletions" | "lineCount" | "headerCount">;

function countsOf(text: string, hunks: number): Counts {
  const counts = { insertions: 0, deletions: 0, lineCount: 0, headerCount: 0 };
  for (let start = 0; start < text.length; ) {
    counts.lineCount++;
    if (start < hunks) counts.headerCount++;
    else if (text[start] === "+") counts.insertions++;
    else if (text[start] === "-") counts.deletions++;
    const end = text.indexOf("\n", start);
    if (end < 0) break;
    start = end + 1;
  }
  return counts;
}

/** The first lines. */
export function linesOf(text: string, max: number): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length && lines.length < max; ) {
    const end = text.indexOf("\n", start);
    lines.push(text.slice(start, end < 0 ? text.length : end));
    if (end < 0) break;
    start = end + 1;
  }
  return lines;
}
