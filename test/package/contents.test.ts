import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { join } from "node:path/posix";
import { beforeAll, describe, expect, test } from "vitest";
import { expectNone, filesUnder, readSources } from "../house/source.js";
import { type Packed, pack } from "./packed.js";
import { root } from "./registry.js";

let packed: Packed;
const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));

beforeAll(() => {
  if (!existsSync(join(root, "dist/.npmignore"))) throw new Error("Run `npm run build` first.");
  packed = pack();
});

describe("the package", () => {
  test("has the readme, the licence, the changelog and every page of the documentation", () => {
    const pages = filesUnder("docs").filter((path) => path.endsWith(".md"));
    expect(packed.files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "CHANGELOG.md", ...pages]));
  });

  test("has every file that help pages and errors refer to", () => {
    const named = readSources("src").flatMap(
      ({ text }) => text.match(/\b(?:docs|ops)\/[\w/-]+\.[a-z]+/g) ?? [],
    );
    const existing = [...new Set(named)].filter((path) => existsSync(join(root, path)));
    expect(existing).not.toEqual([]);
    expect(packed.files).toEqual(expect.arrayContaining(existing));
  });

  test("has the examples of ops/", () => {
    expect(packed.files).toEqual(expect.arrayContaining(filesUnder("ops")));
  });

  test("has no source map and no reference to one", () => {
    const maps = packed.files.filter((path) => path.endsWith(".map"));
    const code = packed.files.filter((path) => /\.[cm]?js$/.test(path));
    const references = code.filter((path) => /^\/\/# sourceMappingURL=/m.test(read(path)));
    expect([...maps, ...references]).toEqual([]);
  });

  test("has no source, no test and nothing that only a build needs", () => {
    const unwanted =
      /^(src|test|web|bench|scripts|site)\/|\.test\.|\.tsx?$(?<!\.d\.ts)|\.stamp$|tsbuildinfo$|\.cache$/;
    expect(packed.files.filter((path) => unwanted.test(path))).toEqual([]);
  });

  test("has the program once: the modules of commands and of the server are in the bundle only", () => {
    expect(packed.files).toContain("dist/cli/program.cjs");
    const again = /^dist\/(program|serve|trust)\.|^dist\/(surfaces|bridges)\//;
    expect(packed.files.filter((path) => again.test(path))).toEqual([]);
  });

  test("has every module that a shipped module imports, and every declaration that a declaration does", () => {
    const modules = packed.files.filter((path) =>
      /^dist\/(?!cli\/|web\/|bin\.js).*(\.js|\.d\.ts)$/.test(path),
    );
    expectNone(
      modules.flatMap((path) =>
        importsOf(path)
          .filter((target) => !packed.files.includes(target))
          .map((target) => `${path} imports ${target}, which is not packed`),
      ),
    );
  });

  test("is small", () => {
    expect(packed.unpackedSize).toBeLessThan(10 * 1024 * 1024);
  });
});

test("the library does not load the conformance suite, nor vitest", () => {
  for (const entry of ["dist/index.js", "dist/client/connect.js"]) {
    const loaded = new Set([entry]);
    for (const path of loaded) for (const target of importsOf(path)) loaded.add(target);
    expect([...loaded].filter((path) => path.includes("conformance"))).toEqual([]);
    expect([...loaded].filter((path) => /\bfrom "vitest"/.test(read(path)))).toEqual([]);
  }
});

test("package.json says what the package is, and its peers are asked for only where they are used", () => {
  expect(manifest.description.length).toBeGreaterThan(40);
  expect(manifest.keywords.length).toBeGreaterThan(4);
  expect(manifest.dependencies.vitest).toBeUndefined();
  expect(Object.keys(manifest.peerDependencies).sort()).toEqual(["@aws-sdk/client-dynamodb", "vitest"]);
  for (const peer of Object.keys(manifest.peerDependencies)) {
    expect(manifest.dependencies[peer], peer).toBeUndefined();
    expect(manifest.peerDependenciesMeta[peer].optional, peer).toBe(true);
  }
});

function importsOf(path: string): string[] {
  const found = read(path).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.{1,2}\/[^"]+\.js)"/g);
  return [...found]
    .map(([, name]) => posix.join(posix.dirname(path), name!))
    .map((target) => (path.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target));
}
