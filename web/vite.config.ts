// Builds the dashboard into dist/web of the package, with a packed copy beside each file, so that the server packs nothing.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
// @ts-expect-error: a script, without types.
import { licensesOf } from "../scripts/licenses.mjs";

const out = resolve(import.meta.dirname, "../dist/web");

function pack(): Plugin {
  return {
    name: "pack",
    closeBundle() {
      for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
        if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
        const body = readFileSync(join(out, name));
        if (body.length < 1024) continue;
        writeFileSync(join(out, `${name}.br`), brotliCompressSync(body));
        writeFileSync(join(out, `${name}.gz`), gzipSync(body, { level: 9 }));
      }
    },
  };
}

/** Others' code is in our files, and their licences come along. */
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((each) => (each.type === "chunk" ? each.moduleIds : []));
      const ids = modules.map((id) => id.replace(/^\0/, ""));
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: licensesOf(ids) as string });
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), licenses(), pack()],
  // Inlined files would be `data:` addresses, which our policy does not let scripts and workers be.
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    manifest: "manifest.json",
    target: "es2022",
  },
  worker: { format: "es" },
});
