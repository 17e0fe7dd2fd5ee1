// The site is made of the pages of docs/. The side bar follows docs/README.md.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineConfig } from "vitepress";

const docs = resolve(import.meta.dirname, "../../docs");

/** Titles of pages, so that the side bar says what the pages say. */
const titleOf = (page) => /^# (.*)$/m.exec(readFileSync(join(docs, `${page}.md`), "utf8"))[1];
const items = (folder, ...pages) =>
  pages.map((page) => ({ text: titleOf(`${folder}/${page}`), link: `/${folder}/${page}` }));

/** The anchor that GitHub gives to a heading. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");

/** Vue is installed here, and not above docs/, where Vite looks for it. The server's bundle is run from here. */
const fromHere = {
  name: "resolve-from-site",
  enforce: "pre",
  resolveId(source, importer, options) {
    if (!/^vue($|\/)/.test(source)) return null;
    if (options.ssr) return { id: source, external: true };
    if (!importer?.startsWith(docs)) return null;
    return this.resolve(source, join(import.meta.dirname, "config.mjs"), { ...options, skipSelf: true });
  },
};

export default defineConfig({
  srcDir: docs,
  outDir: resolve(import.meta.dirname, "../dist"),
  cacheDir: resolve(import.meta.dirname, "../node_modules/.cache"),
  rewrites: { "README.md": "index.md", ":folder/README.md": ":folder/index.md" },
  title: "Dibs",
  description: "Task coordination for fleets of coding agents",
  cleanUrls: true,
  markdown: { anchor: { slugify } },
  vite: { plugins: [fromHere] },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start/quick-start" },
      { text: "Guides", link: "/guides/agents" },
      { text: "Reference", link: "/reference/cli" },
    ],
    sidebar: [
      { text: "Start", items: items("start", "install", "quick-start", "tutorial") },
      {
        text: "Guides",
        items: items(
          "guides",
          "agents",
          "runner",
          "worktrees",
          "landing",
          "reviews",
          "resources",
          "three-agents",
          "plans",
          "questions",
          "typescript-worker",
          "http-worker",
          "server",
          "postgresql",
          "dynamodb",
          "monitoring",
          "backups",
          "tasks-json",
          "spool",
          "troubleshooting",
          "faq",
        ),
      },
      { text: "Concepts", items: items("concepts", "states", "claims", "questions", "recovery", "glossary") },
      {
        text: "Reference",
        items: items("reference", "cli", "settings", "http", "events", "errors", "metrics", "mcp"),
      },
      {
        text: "Internals",
        collapsed: true,
        items: [
          { text: "Overview", link: "/internals/" },
          { text: titleOf("ARCHITECTURE"), link: "/ARCHITECTURE" },
          ...items("internals", "benchmarks"),
        ],
      },
    ],
  },
});
