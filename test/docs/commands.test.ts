// The commands of the documentation run as printed, and print what the pages show.

import { describe, expect, test } from "vitest";
import { expectNone, filesUnder } from "../house/source.js";
import { blocksOf, page, run } from "./pages.js";

/** Their `sh` blocks run one after the other in one shell; `setUp` is what the page assumes. */
const pages: [path: string, setUp: string][] = [
  ["docs/start/quick-start.md", ""],
  ["docs/start/tutorial.md", ""],
  ["docs/guides/worktrees.md", "dibs init > /dev/null && git add . && git commit --quiet -m init\n"],
  [
    "docs/guides/landing.md",
    `echo '{"scripts": {"test": "true"}}' > package.json && git add . && git commit --quiet -m init && git branch -M main\n`,
  ],
  ["docs/guides/reviews.md", "git branch -M main\n"],
  ["docs/guides/three-agents.md", "git branch -M main\n"],
  [
    "docs/guides/resources.md",
    "dibs init > /dev/null && export DIBS_SESSION=agent-1 && dibs add 'Write the schema' && dibs claim 0001 --start > /dev/null\n",
  ],
  ["docs/guides/backups.md", "dibs init > /dev/null && dibs add 'Write the schema'\n"],
];

const plain = (text: string) => text.replace(/\s+/g, " ").trim();

describe("commands of the documentation run as printed", () => {
  test.each(pages)("%s", async (path, setUp) => {
    const blocks = blocksOf(page(path));
    const commands = blocks.filter(({ language, notRun }) => language === "sh" && !notRun);
    expect(commands).not.toEqual([]);
    const { code, output } = await run(setUp + commands.map((block) => block.code).join("\n"));
    expect(code, output).toBe(0);
    const shown = blocks
      .filter(({ language }) => language === "text")
      .flatMap((block) => block.code.split("\n"));
    for (const line of shown) expect(plain(output)).toContain(plain(line));
  });
});

test("the three commands of the README work, with any agent", async () => {
  const [, commands = ""] = /## Three commands[\s\S]*?```sh\n([\s\S]*?)```/.exec(page("README.md")) ?? [];
  const agent = commands.replace(/--agent claude -n 3.*/, "-n 3 --until-empty -- sh -c 'echo new > docs.md'");
  const { code, output } = await run(`git branch -M main\n${agent}\ndibs list\ngit show main:docs.md`);
  expect(code, output).toBe(0);
  expect(plain(output)).toMatch(/0001 Write the docs medium 50 completed/);
  // The result is on main.
  expect(output.trim().split("\n").at(-1)).toBe("new");
});

test("every command of a page for users is run by a test, or says why not", () => {
  const forUsers = filesUnder("docs").filter((path) => /^docs\/(start|guides|concepts)\/.*\.md$/.test(path));
  const tested = new Set(pages.map(([path]) => path));
  expectNone(
    forUsers
      .filter((path) => !tested.has(path))
      .flatMap((path) =>
        blocksOf(page(path))
          .filter(({ language, notRun, example }) => /^(sh|bash)$/.test(language) && !notRun && !example)
          .map(({ code }) => `${path}: no test runs \`${code.split("\n")[0]}\`. Add the page to this file.`),
      ),
  );
});

test("a block that is not run says why", () => {
  expect(blocksOf("<!-- not run: needs a server -->\n```sh\na\n```\n\n```sh\nb\n```\n")).toEqual([
    { language: "sh", code: "a\n", notRun: "needs a server" },
    { language: "sh", code: "b\n" },
  ]);
});
