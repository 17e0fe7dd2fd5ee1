// What the house rules read: the repository's files, and who imports whom.

import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix, resolve } from "node:path";
import ts from "typescript";
import { expect } from "vitest";

export const root = resolve(import.meta.dirname, "../..");

/** `path` is relative to the repository, with forward slashes. */
export type Source = { path: string; text: string };

export type Target =
  | { kind: "file"; path: string }
  | { kind: "outside" }
  | { kind: "node" }
  | { kind: "package"; name: string };

export type Import = { specifier: string; line: number; typeOnly: boolean; target: Target };

/** Paths of all files below `folder`, except what is installed, built or hidden. */
export function filesUnder(folder: string): string[] {
  const found: string[] = [];
  const visit = (path: string) => {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      if (["node_modules", "dist", "coverage"].includes(entry.name) || entry.name.startsWith(".")) continue;
      const child = posix.join(path, entry.name);
      if (entry.isDirectory()) visit(child);
      else if (entry.isFile()) found.push(child);
    }
  };
  try {
    visit(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return found.sort();
}

export function readSources(folder: string, isRead = isTypeScript): Source[] {
  return filesUnder(folder)
    .filter(isRead)
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

export const isTypeScript = (path: string) => /\.[cm]?tsx?$/.test(path);
export const isTest = (path: string) => /\.test\.tsx?$/.test(path);

const parsed = new WeakMap<Source, ts.SourceFile>();

export function parse(source: Source): ts.SourceFile {
  const known = parsed.get(source);
  if (known) return known;
  const tree = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
  parsed.set(source, tree);
  return tree;
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export function lineOf(node: ts.Node): number {
  const tree = node.getSourceFile();
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

export function importsOf(source: Source): Import[] {
  const imports: Import[] = [];
  walk(parse(source), (node) => {
    const found = importAt(node);
    if (!found) return;
    const target = resolveImport(source.path, found.specifier);
    imports.push({ ...found, line: lineOf(node), target });
  });
  return imports;
}

// `import { type A }` counts as a value: verbatimModuleSyntax keeps the import statement at run time.
function importAt(node: ts.Node): { specifier: string; typeOnly: boolean } | undefined {
  const found = (specifier: ts.Node | undefined, typeOnly: boolean) =>
    specifier && ts.isStringLiteralLike(specifier) ? { specifier: specifier.text, typeOnly } : undefined;

  if (ts.isImportDeclaration(node)) {
    return found(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
  }
  if (ts.isExportDeclaration(node)) return found(node.moduleSpecifier, node.isTypeOnly);
  if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
    return found(node.moduleReference.expression, node.isTypeOnly);
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return found(node.argument.literal, true);
  }
  if (ts.isCallExpression(node)) {
    const callee = node.expression;
    const isImport = callee.kind === ts.SyntaxKind.ImportKeyword;
    if (isImport || (ts.isIdentifier(callee) && callee.text === "require")) {
      return found(node.arguments[0], false);
    }
  }
  return undefined;
}

function resolveImport(from: string, specifier: string): Target {
  if (specifier.startsWith(".")) {
    const path = posix.join(posix.dirname(from), specifier).replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
    return path.startsWith("src/") ? { kind: "file", path } : { kind: "outside" };
  }
  if (isBuiltin(specifier)) return { kind: "node" };
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  // The package importing itself by name goes through its index.
  return name === "dibs" ? { kind: "file", path: "src/index.ts" } : { kind: "package", name };
}

/** Files that import each other in a circle at run time; each circle once, as a list of paths. */
export function importCycles(sources: Source[]): string[][] {
  const edges = new Map(sources.map((source) => [source.path, runtimeImports(source)]));
  const cycles: string[][] = [];
  const finished = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path]);
    else if (!finished.has(path)) {
      trail.push(path);
      for (const next of edges.get(path) ?? []) visit(next);
      trail.pop();
      finished.add(path);
    }
  };
  for (const path of edges.keys()) visit(path);
  return cycles;
}

function runtimeImports(source: Source): string[] {
  // A .js specifier may stand for a .tsx file.
  return importsOf(source).flatMap(({ target, typeOnly }) =>
    target.kind === "file" && !typeOnly ? [target.path, target.path.replace(/\.ts$/, ".tsx")] : [],
  );
}

/** All calls, with the callee as dotted text: `test.skip.each`, `console.log`. `at` is the last name in it. */
export function calls(source: Source): { name: string; call: ts.CallExpression; at: ts.Node }[] {
  const found: { name: string; call: ts.CallExpression; at: ts.Node }[] = [];
  walk(parse(source), (call) => {
    if (!ts.isCallExpression(call)) return;
    const callee = call.expression;
    const at = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
    found.push({ name: dotted(callee), call, at });
  });
  return found;
}

function dotted(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? `${dotted(node.expression)}.${node.name.text}` : "";
}

/** `import { setTimeout as sleep } from "node:timers/promises"` sleeps under another name. */
export function sleepNames(source: Source): string[] {
  const names = ["setTimeout"];
  walk(parse(source), (node) => {
    if (ts.isImportSpecifier(node) && node.propertyName?.text === "setTimeout") names.push(node.name.text);
  });
  return names;
}

/** Fails with the problems themselves as the message. */
export function expectNone(problems: string[]): void {
  if (problems.length > 0) expect.fail(`\n${problems.join("\n")}\n`);
}
