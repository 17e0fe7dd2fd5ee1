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

function patternOf(glob: string): string {
  return glob
    .split("/")
    .map((name, at, names) => {
      if (name !== "**") return `${patternOfName(name)}${at < names.length - 1 ? "/" : ""}`;
      return at === names.length - 1 ? ".+" : "(?:[^/]+/)*";
    })
    .join("");
}

/** A run of stars is one star: two would only cost time. */
function patternOfName(name: string): string {
  return name.replace(/\*+|\?|[\\^$.+()|[\]{}]/g, (found) =>
    found.startsWith("*") ? "[^/]*" : found === "?" ? "[^/]" : `\\${found}`,
  );
}
