// Exports that no other file imports. The files are read as text, not parsed: the formatter writes every import and export
// in the same form, and a syntax tree of a thousand files takes seconds.

import { posix } from "node:path";
import type { Source } from "./source.js";

/** The files that package.json exports, and those that programs start. */
const entryPoints = [
  "src/index.ts",
  "src/client/connect.ts",
  "src/store/conformance/index.ts",
  "src/program.ts",
];

const named = /^(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from "(\.[^"]+)"/gm;
const whole = /(?:\* as \w+ from|^export \* from|import\(|new URL\() ?"(\.[^"]+)"/gm;
const byDefault = /^import (?:type )?(\w+)(?:, \{[^}]*\})? from "(\.[^"]+)"/gm;
const declared = /^export (?:declare |abstract |async )*(?:function\*?|const|let|class|enum) (\w+)/gm;
const listed = /^export (?:type )?\{([^}]*)\}/gm;

/** Values and re-exports. A type that only its own file uses is part of a signature and can stay exported. */
export function unusedExports(sources: readonly Source[], isChecked: (path: string) => boolean): string[] {
  const used = usedNames(sources);
  return sources
    .filter(({ path }) => isChecked(path) && !entryPoints.includes(path))
    .flatMap(({ path, text }) => {
      const names = used.get(modulePath(path)) ?? new Set();
      if (names.has("*")) return [];
      return exportsIn(text)
        .filter((name) => !names.has(name))
        .map(
          (name) => `${path} exports ${name}, but no other file imports it. Remove the export, or the code.`,
        );
    });
}

function usedNames(sources: readonly Source[]): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  const use = (from: string, specifier: string, names: readonly string[]) => {
    const path = modulePath(posix.join(posix.dirname(from), specifier).replace(/^dist\//, "src/"));
    const known = used.get(path) ?? new Set();
    for (const name of names) known.add(name);
    used.set(path, known);
  };
  for (const { path, text } of sources) {
    for (const [, names, specifier] of text.matchAll(named)) use(path, specifier!, namesIn(names!, 0));
    for (const [, , specifier] of text.matchAll(byDefault)) use(path, specifier!, ["default"]);
    for (const [, specifier] of text.matchAll(whole)) use(path, specifier!, ["*"]);
  }
  return used;
}

function exportsIn(text: string): string[] {
  return [
    ...Array.from(text.matchAll(declared), ([, name]) => name!),
    ...Array.from(text.matchAll(listed)).flatMap(([, names]) => namesIn(names!, -1)),
  ];
}

/** `type A, b as c`: A and b of an import (`at` 0), A and c of an export (`at` -1). */
const namesIn = (list: string, at: 0 | -1): string[] =>
  list
    .split(",")
    .map((each) => each.trim().replace(/^type /, ""))
    .filter((each) => each !== "")
    .map((each) => each.split(" as ").at(at)!);

const modulePath = (path: string) => path.replace(/\.[cm]?[jt]sx?$/, "");
