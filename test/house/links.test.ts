// Every link of the README, the documentation and the pages for contributors leads somewhere.

import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorsOf, linksOf, problemOf, reachableFrom, readPage, slug, withoutCode } from "./links.js";
import { expectNone, filesUnder, root } from "./source.js";

const docs = filesUnder("docs").filter((path) => path.endsWith(".md"));
const ofRepository = filesUnder(".").filter((path) => /^[A-Z_]+\.md$/.test(path));
const exists = (path: string) => existsSync(join(root, path));

describe("links", () => {
  test.each([...ofRepository, ...docs])("%s links only to files and headings that exist", (page) => {
    const links = linksOf(page, readPage(page)!);
    expectNone(links.flatMap((link) => problemOf(link, readPage, exists) ?? []));
  });

  test("every page of the documentation can be reached from docs/README.md", () => {
    const reached = reachableFrom("docs/README.md", readPage);
    expectNone(
      docs
        .filter((page) => !reached.has(page))
        .map((page) => `${page} cannot be reached from docs/README.md. Link to it from there.`),
    );
  });

  test("pages refer to each other by links, not by paths in the text", () => {
    expectNone(
      docs.flatMap((page) => {
        const named = withoutCode(readPage(page)!).match(/(?<![\w/[`("'.-])docs\/[\w/-]+\.md/g) ?? [];
        return named.map((path) => `${page} names ${path}. Write it as a link.`);
      }),
    );
  });

  test("the side bar of the site has every page, except single design decisions", () => {
    const config = readFileSync(join(root, "site/.vitepress/config.mjs"), "utf8");
    const pages = docs.filter((page) => !/\/adr\/|README\.md$/.test(page));
    const missing = pages.filter((page) => !config.includes(`"${posix.basename(page, ".md")}"`));
    expectNone(
      missing.map((page) => `site/.vitepress/config.mjs does not list ${page}. Add it to the side bar.`),
    );
  });

  test("users' pages link to pages for maintainers only for reasons: design decisions", () => {
    const forUsers = docs.filter((page) => /^docs\/(start|guides|concepts|reference)\//.test(page));
    const allowed = /internals\/(adr\/\d|benchmarks)/;
    expectNone(
      forUsers.flatMap((page) =>
        linksOf(page, readPage(page)!)
          .filter(({ to }) => /internals|ARCHITECTURE/.test(to) && !allowed.test(to))
          .map(({ line, to }) => `${page}:${line} links to ${to}, a page for maintainers.`),
      ),
    );
  });
});

describe("the rule about links", () => {
  const pages: Record<string, string> = {
    "docs/README.md": "# Docs\n\n[a](guides/a.md) ![](images/x.png)",
    "docs/guides/a.md": "# A page\n\n## `dibs plan`, again\n\n## A page\n\n```\n## not a heading\n```\n",
    "docs/lost.md": "",
    "README.md": "",
  };
  const read = (path: string) => pages[path];
  const problem = (to: string, page = "docs/README.md") =>
    problemOf({ page, line: 1, to }, read, (path) => path in pages);

  test("anchors are those of GitHub", () => {
    expect([...anchorsOf(pages["docs/guides/a.md"]!)]).toEqual(["a-page", "dibs-plan-again", "a-page-1"]);
    expect(slug("dibs.tasks.create")).toBe("dibstaskscreate");
    expect(slug("What is *ready*?")).toBe("what-is-ready");
  });

  test.each(["guides/b.md", "guides/a.md#none", "#none", "../README.md"])(
    "finds what is wrong with %s",
    (to) => {
      expect(problem(to)).toMatch(/^docs\/README\.md:1 links to /);
    },
  );

  test.each(["guides/a.md", "guides/a.md#a-page-1", "#docs", "mailto:x@example.com"])("accepts %s", (to) => {
    expect(problem(to)).toBeUndefined();
  });

  test("finds pages that no link leads to, and ignores links in code", () => {
    expect([...reachableFrom("docs/README.md", read)]).toEqual(["docs/README.md", "docs/guides/a.md"]);
    expect(linksOf("a.md", "`[a](b.md)`\n```\n[a](b.md)\n```\n[c](d.md)")).toEqual([
      { page: "a.md", line: 5, to: "d.md" },
    ]);
  });
});
