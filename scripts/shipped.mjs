// Writes dist/.npmignore, which keeps out of the package every file of dist that no installation loads. The program is
// shipped once, as the bundle in dist/cli. Modules are shipped if the package exports them, or if the bundle or another
// shipped module starts them by their address. Called by ensure.mjs after each build.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const { bin, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const isBundled = existsSync(join(dist, "cli", "program.cjs"));

const exported = Object.values(exports).flatMap((entry) => Object.values(entry));
const shipped = new Set([...exported, ...Object.values(bin)].map((path) => join(root, path)));
for (const name of isBundled ? filesOf(join(dist, "cli")) : []) {
  if (name.endsWith(".cjs")) for (const path of startedBy(join(dist, "cli", name))) shipped.add(path);
}
// A set that grows while it is read is read to its end.
for (const file of shipped) {
  // bin.js loads the modules of the program only where there is no bundle.
  if (isBundled && file === join(root, bin.dibs)) continue;
  for (const path of [...importedBy(file), ...startedBy(file)]) shipped.add(path);
}

const left = filesOf(dist).filter(
  (name) => /\.(js|ts|map)$/.test(name) && !/^(cli|web)\//.test(name) && !shipped.has(join(dist, name)),
);
writeFileSync(join(dist, ".npmignore"), [...left.map((name) => `/${name}`), ""].join("\n"));

function filesOf(directory) {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.map((name) => name.replaceAll("\\", "/"));
}

/** Static and dynamic imports. In a declaration, `./a.js` means `./a.d.ts`. */
function importedBy(file) {
  const found = readFileSync(file, "utf8").matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.{1,2}\/[^"]+\.js)"/g);
  return [...found]
    .map(([, name]) => join(dirname(file), name))
    .map((path) => (file.endsWith(".d.ts") ? path.replace(/\.js$/, ".d.ts") : path));
}

/** Files that run in a process of their own, or are imported by address: `new URL("./worker.js", import.meta.url)`. */
function startedBy(file) {
  const address = /new URL\("(\.[^"]+\.js)", (?:import\.meta\.url|[^;]*?__dirname \+ "([^"]+)")/g;
  return [...readFileSync(file, "utf8").matchAll(address)]
    .map(([, name, inBundle]) => {
      const from = inBundle ? join(dirname(file), inBundle) : file;
      return resolve(dirname(from), name);
    })
    .filter((path) => existsSync(path));
}
