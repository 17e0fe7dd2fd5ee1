// Builds the program in few files, dist/cli/*.cjs, for src/bin.ts to load quickly, and runs the commands that agents say most, so
// that their bytecode is kept beside them. Called by ensure.mjs after tsc. docs/internals/adr/015 says why.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import { licensesOf } from "./licenses.mjs";

const root = resolve(import.meta.dirname, "..");
const src = join(root, "src");
const out = join(root, "dist", "cli");
const lookup = join(import.meta.dirname, "package-directory.mjs");

/** What every command needs, what every connection needs, and what a store in this process needs: each in one file. */
const groups = [
  {
    name: "base",
    test: /\/src\/(surfaces\/cli\/(main|commands\/(holder|tasks))|runtime\/(locate|server-file))\.ts$/,
  },
  { name: "client", test: /\/src\/client\/client\.ts$/ },
  { name: "store", test: /\/src\/(compose|store\/sqlite\/store)\.ts$/ },
].map((group, index, { length }) => ({ ...group, priority: length - index }));

const bundle = await rolldown({
  input: { program: join(src, "program.ts") },
  platform: "node",
  logLevel: "silent",
  // What every command needs; other packages are loaded from where they are, by those who use them.
  external: (id) => /^[@a-z]/.test(id) && !/^(zod|@photostructure\/sqlite|node-gyp-build)(\/|$)/.test(id),
  plugins: [ownAddresses()],
});
const { output } = await bundle.generate({
  format: "cjs",
  exports: "named",
  entryFileNames: "[name].cjs",
  chunkFileNames: "[name]-[hash].cjs",
  codeSplitting: { groups },
  // V8 forgets who answers an `import()` when it takes code from a cache.
  dynamicImportInCjs: false,
});
await bundle.close();

mkdirSync(out, { recursive: true });
const old = new Set(readdirSync(out).filter((file) => !["LICENSES.txt", ".npmignore"].includes(file)));
// The first file last: it names the others.
for (const { fileName, code } of [...output].sort((a, b) => Number(a.isEntry) - Number(b.isEntry))) {
  const text = ascii(`(function (exports, require, module, __filename, __dirname) {${code}\n})`);
  const fingerprint = createHash("sha256").update(text).digest("hex").slice(0, 32);
  const draft = join(out, `${fileName}.${process.pid}`);
  writeFileSync(draft, `//${fingerprint}\n${text}`);
  renameSync(draft, join(out, fileName));
  old.delete(fileName);
}
// Programs that are running may still want files of an earlier build.
for (const file of old) {
  const path = join(out, file);
  if (Date.now() - statSync(path).mtimeMs > 600_000) rmSync(path, { force: true });
}
writeFileSync(join(out, "LICENSES.txt"), licensesOf(output.flatMap(({ moduleIds }) => moduleIds)));
// What is packed is this build and nothing else that lies here.
const shipped = ["LICENSES.txt", ...output.map(({ fileName }) => fileName)];
writeFileSync(join(out, ".npmignore"), ["*", ...shipped.map((file) => `!${file}`), ""].join("\n"));
warmUp();

/** A module's own address is that of its file in dist, where what lies beside it is; or in its package. */
function ownAddresses() {
  const slashed = (path) => path.replaceAll("\\", "/");
  return {
    name: "own-addresses",
    transform(text, id) {
      if (!text.includes("import.meta.url")) return null;
      const [, name, inside] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(\/.*)$/.exec(slashed(id)) ?? [];
      const file = name
        ? `packageDirectory(${JSON.stringify(name)}) + ${JSON.stringify(inside)}`
        : `__dirname + ${JSON.stringify(`/../${slashed(relative(src, id)).replace(/\.ts$/, ".js")}`)}`;
      const own = text.replaceAll("import.meta.url", `require("node:url").pathToFileURL(${file}).href`);
      return name ? `import { packageDirectory } from ${JSON.stringify(lookup)};\n${own}` : own;
    },
  };
}

/** Text with one byte per character is read, and kept by V8, in half the time. */
function ascii(text) {
  return text.replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function warmUp() {
  const scratch = mkdtempSync(join(tmpdir(), "dibs-bundle-"));
  const db = join(scratch, "dibs.db");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(DIBS|NODE)_/.test(name)));
  try {
    for (const command of ["add one", "list", "claim --session a", "done 0001 --session a"]) {
      const args = [join(root, "dist", "bin.js"), ...command.split(" "), "--db", db];
      const run = spawnSync(process.execPath, args, { cwd: scratch, env, encoding: "utf8" });
      if (run.status !== 0) console.error(`bundle: dibs ${command}: ${run.stdout}${run.stderr}`);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
