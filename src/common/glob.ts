// Globs over paths with slashes: `*` and `?` within a name, `**` over any number of directories, braces for alternatives. They are
// anchored: `package.json` is the one at the top.

/** A matcher for many globs; malformed braces are taken literally. */
export function globMatcher(globs: readonly string[]): (path: string) => boolean {
  const patterns = globs.flatMap(alternatives).map((glob) => new RegExp(`^${patternOf(glob)}$`, "su"));
  return (path) => patterns.some((pattern) => pattern.test(path));
}

const alternativesMax = 1_000;

/** `a.{b,c}` is `a.b` and `a.c`. The innermost braces first. */
function alternatives(glob: string): string[] {
  const open = [glob];
  const done: string[] = [];
  while (open.length > 0 && open.length + done.length < alternativesMax) {
    const next = open.pop()!;
    const braces = /\{([^{}]*)\}/.exec(next);
    if (!braces) done.push(next);
    else {
      const [before, after] = [next.slice(0, braces.index), next.slice(braces.index + braces[0].length)];
      for (const choice of braces[1]!.split(",")) open.push(`${before}${choice}${after}`);
    }
  }
  return [...done, ...open];
}

/**
 * What follows a star is taken where it is first found: the next star takes in whatever is between. Nothing is tried twice, so a
 * glob of many stars costs no more than the product of both lengths.
 */
function patternOf(glob: string): string {
  let groups = 0;
  const once = (pattern: string) => `(?=(?<g${++groups}>${pattern}))\\k<g${groups}>`;
  const names = glob.split("/");
  const last = names.length - 1;
  // Runs of names, with `**` between them.
  const runs = [""];
  for (const [at, name] of names.entries()) {
    if (name !== "**" || at === last) {
      runs[runs.length - 1] += name === "**" ? ".+" : patternOfName(name, once) + (at < last ? "/" : "");
    } else runs.push("");
  }
  return runs
    .map((run, at) => {
      if (at === 0) return run;
      return at < runs.length - 1 ? once(`(?:[^/]+/)*?${run}`) : `(?:[^/]+/)*${run}`;
    })
    .join("");
}

/** A run of stars is one star. */
function patternOfName(name: string, once: (pattern: string) => string): string {
  const parts = name.split(/\*+/).map((part) => part.replace(/\?|[\\^$.+()|[\]{}]/g, escaped));
  return parts
    .map((part, at) => {
      if (at === 0) return part;
      return at < parts.length - 1 ? once(`[^/]*?${part}`) : `[^/]*${part}`;
    })
    .join("");
}

const escaped = (found: string) => (found === "?" ? "[^/]" : `\\${found}`);
