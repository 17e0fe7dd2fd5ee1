// What holds for the dashboard as for src: what it can import; and how much a browser loads first.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const source = join(root, "web/src");
const built = join(root, "dist/web");
const kiB = 1024;

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join(source, name));

test("the dashboard imports only itself, the client, the contract and common helpers", () => {
  const strangers = files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, name]) =>
      resolve(file, "..", name!),
    );
    const allowed = [source, join(root, "src/client"), join(root, "src/contract"), join(root, "src/common")];
    return imports
      .filter((path) => !allowed.some((room) => path.startsWith(`${room}/`)))
      .map((path) => `${relative(root, file)} imports ${relative(root, path)}`);
  });
  expect(strangers, "take it from src/client/view, or let an operation answer it").toEqual([]);
});

interface Chunk {
  file: string;
  imports?: string[];
  isEntry?: boolean;
}

/** Needs the built dashboard, which quick runs do without. */
const testBuilt = test.skipIf(process.env.TEST_QUICK);

testBuilt(
  "the first page loads at most 250 KB of packed script; the graph and the figures are loaded when opened",
  () => {
    const manifest = JSON.parse(readFileSync(join(built, "manifest.json"), "utf8")) as Record<string, Chunk>;
    const first = new Set<string>();
    const load = (name: string) => {
      if (first.has(name)) return;
      first.add(name);
      for (const next of manifest[name]!.imports ?? []) load(next);
    };
    for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) load(name);
    const scripts = [...first].map((name) => manifest[name]!.file).filter((file) => file.endsWith(".js"));
    const size = (file: string) => {
      const packed = join(built, `${file}.gz`);
      return statSync(existsSync(packed) ? packed : join(built, file)).size;
    };
    const total = scripts.reduce((sum, file) => sum + size(file), 0);
    expect(scripts.length).toBeGreaterThan(0);
    expect(total / kiB).toBeLessThan(250);
    expect(scripts.filter((file) => /elk|graph|metrics/.test(file))).toEqual([]);
    const loaded = scripts.map((file) => readFileSync(join(built, file), "utf8")).join("");
    expect(loaded.includes("react-flow__node"), "the graph's library is in the first load").toBe(false);
  },
);
