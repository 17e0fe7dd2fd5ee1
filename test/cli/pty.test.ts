// People at a terminal: questions, colours, tables as wide as the window, and text that cannot harm it.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keys, type, typeLine } from "./pty.js";
import { openPlace, type Place, placeWithStore } from "./run-place.js";

const at = (place: Place, name: string) => join(place.cwd, name);
const titlesOf = async (place: Place) =>
  (await place.json(["list"])).tasks.map(({ title }: { title: string }) => title);

/** What a shell finds when the program is gone: lines are edited, what is typed is seen. */
const sanity = "stty -a | grep -ow -e '-*icanon' -e '-*echo' | tr '\\n' ' '";

describe("questions", () => {
  test("plan shows a tree and asks; only yes adds", async () => {
    const place = await openPlace();
    writeFileSync(at(place, "plan.md"), "- [ ] One\n  - [ ] Part\n- [ ] Two (depends on: One)\n");
    for (const answer of ["n", "", "maybe"]) {
      const screen = type(place, ["plan", "plan.md"]);
      await screen.shows(/└─ .*Part[\s\S]*Add these 3 tasks\? \[y\/N\]/);
      screen.press(`${answer}${keys.enter}`);
      expect([await screen.ended, screen.allText]).toEqual([
        0,
        expect.stringContaining("Nothing was added."),
      ]);
    }
    const screen = type(place, ["plan", "plan.md"]);
    await screen.shows("[y/N]");
    screen.press(`nn${"\u007f".repeat(2)}y${keys.enter}`);
    expect([await screen.ended, screen.allText]).toEqual([0, expect.stringContaining("added 3 tasks")]);
    expect(await titlesOf(place)).toEqual(["One", "Part", "Two"]);
  });

  test("init asks about AGENTS.md before it makes anything, and not again once it is there", async () => {
    const place = await openPlace();
    const no = type(place, ["init"]);
    await no.shows("AGENTS.md? [Y/n]");
    expect(existsSync(at(place, ".dibs"))).toBe(false);
    no.press(`n${keys.enter}`);
    expect([await no.ended, no.allText]).toEqual([0, expect.stringMatching(/skipped +AGENTS\.md/)]);
    expect(existsSync(at(place, "AGENTS.md"))).toBe(false);
    const yes = type(place, ["init"]);
    await yes.shows("[Y/n]");
    yes.press(keys.enter);
    expect([await yes.ended, yes.allText]).toEqual([0, expect.stringMatching(/created +AGENTS\.md/)]);
    expect(readFileSync(at(place, "AGENTS.md"), "utf8")).toContain("dibs claim --start --wait");
    const again = type(place, ["init"]);
    expect([await again.ended, again.allText]).toEqual([0, expect.stringMatching(/kept +AGENTS\.md/)]);
    expect(again.allText).not.toContain("[Y/n]");
  });

  test("Ctrl-C at a question ends the program with 130, nothing is done, and the terminal is as it was", async () => {
    const place = await openPlace();
    writeFileSync(at(place, "plan.md"), "- [ ] One\n");
    for (const command of ["init", "plan plan.md"]) {
      const screen = typeLine(place, `dibs ${command}; echo "code $?"; ${sanity}`);
      await screen.shows(/\[y\/n\]/i);
      screen.press(keys.ctrlC);
      expect(await screen.ended).toBe(0);
      expect(screen.allLines.slice(-2).map((line) => line.trimEnd())).toEqual(["code 130", "icanon echo"]);
    }
    expect(place.git("status", "--porcelain")).toBe("?? plan.md");
  });

  test("the end of input is no agreement", async () => {
    const place = await openPlace();
    writeFileSync(at(place, "plan.md"), "- [ ] One\n");
    for (const [command, said] of [
      ["init", /skipped +AGENTS\.md/],
      ["plan plan.md", /Nothing was added\./],
    ] as const) {
      const screen = type(place, command.split(" "));
      await screen.shows(/\[y\/n\]/i);
      screen.press(keys.ctrlD);
      expect([await screen.ended, screen.allText]).toEqual([0, expect.stringMatching(said)]);
    }
    expect(existsSync(at(place, "AGENTS.md"))).toBe(false);
    expect(await titlesOf(place)).toEqual([]);
  });

  test("nobody is asked where input or output is no terminal, or JSON is wanted", async () => {
    const place = await openPlace();
    writeFileSync(at(place, "plan.md"), "- [ ] One\n");
    const screen = typeLine(
      place,
      "dibs plan plan.md </dev/null; dibs plan plan.md | cat; dibs plan plan.md --json >/dev/null;" +
        "dibs plan - <plan.md; dibs init </dev/null; dibs init --json | cat; dibs cancel 0099; dibs doctor --fix",
    );
    expect(await screen.ended).toBe(0);
    expect(screen.allText).not.toMatch(/\[y\/n\]/i);
    expect(screen.allText.match(/Nothing was added yet\./g)).toHaveLength(3);
    expect(await titlesOf(place)).toEqual([]);
  });

  test("what is typed is read to its end where - stands for it", async () => {
    const place = await openPlace();
    const screen = type(place, ["add", "-", "--title", "Typed"]);
    screen.press(`first line${keys.enter}second line${keys.enter}${keys.ctrlD}`);
    expect(await screen.ended).toBe(0);
    expect((await place.task("0001")).prompt.trimEnd()).toBe("first line\nsecond line");
    // Nobody meant to type who gave no words at all.
    const none = type(place, ["add"]);
    expect([await none.ended, none.allText]).toEqual([2, expect.stringContaining("Missing prompt.")]);
  });
});

describe("colour", () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are.
  const colour = /\u001b\[\d+m/;

  test("means something at a terminal, and is left out of pipes and where it is not wanted", async () => {
    const place = await openPlace();
    await place.add({ title: "One" }, { title: "Two" });
    await place.says(["claim", "0001", "--session", "a"]);
    const raw = async (line: string, env: Record<string, string> = {}) => {
      const screen = typeLine(place, line, { env });
      expect(await screen.ended).toBe(0);
      expect(screen.allText).toContain("One");
      return screen.raw;
    };
    const [usual, forced, ...plain] = await Promise.all([
      raw("dibs list"),
      raw("dibs list | cat", { FORCE_COLOR: "1" }),
      raw("dibs list", { NO_COLOR: "1" }),
      raw("dibs list", { NO_COLOR: "1", FORCE_COLOR: "1" }),
      raw("dibs list", { TERM: "dumb" }),
      raw("dibs list | cat"),
      raw("dibs list --json"),
    ]);
    expect(usual).toContain("\u001b[36m[*]");
    expect(forced).toMatch(colour);
    for (const each of plain) expect(each).not.toMatch(colour);
  });
});

describe("width", () => {
  const title =
    "Endpoints for carts, with a title that runs on and on, 界面也要翻译成中文 and 日本語, to the very end";

  const commands = ["list", "in-flight", "sessions", "graph", "events", "inbox", "show 0001", "list --help"];

  test("tables, pages and help fit into 60, 80 and 120 columns", async () => {
    const place = await openPlace();
    await place.add({ title }, { title: "Second", dependsOn: ["k0"] }, { title: `${title}, again` });
    await place.says(["claim", "0001", "--start", "--session", "agent-with-a-long-name"]);
    await place.says(["ask", "0001", `${title}?`, "--session", "agent-with-a-long-name"]);
    const line = commands.map((command) => `dibs ${command}`).join(" && ");
    const shown = [60, 80, 120].map(async (columns) => {
      const screen = typeLine(place, line, { columns, rows: 200 });
      expect(await screen.ended).toBe(0);
      expect(screen.isWrapped, screen.allText).toBe(false);
      // States stand below each other, whatever is in the titles.
      const [head = "", first = "", ...rest] = screen.allLines;
      const third = rest.find((each) => each.includes("0003")) ?? "";
      const column = widthBefore(head, "STATE");
      expect([widthBefore(first, "waiti"), widthBefore(third, "ready")]).toEqual([column, column]);
      return third.length;
    });
    // What there is room for is shown.
    const [narrow, usual, wide] = await Promise.all(shown);
    expect(narrow).toBeLessThan(usual!);
    expect(usual).toBeLessThan(wide!);
  });

  /** In columns: a CJK character takes two. */
  function widthBefore(line: string, word: string): number {
    const before = line.slice(0, line.indexOf(word));
    return before.length + (before.match(/[\u3041-\u9fff]/g)?.length ?? 0);
  }

  test("what follows a change of the window fits into the new one", async () => {
    const place = await placeWithStore();
    const screen = type(place, ["events", "-f", "--after", "0"], { columns: 120, rows: 40 });
    await place.add({ title });
    await screen.shows(/created +0001 .*…/);
    expect(screen.allLines[0]).toContain("with a title that runs on");
    screen.resize(60);
    await place.add({ title });
    await screen.shows(/created +0002 .*…/);
    const second = screen.allLines.filter((line) => line.includes("0002"));
    expect(Math.max(...second.map((line) => line.length))).toBeLessThanOrEqual(60);
    screen.press(keys.ctrlC);
    expect(await screen.ended).toBe(0);
  });
});

test("text of tasks moves no cursor, rings no bell, names no window and hides nothing on the screen", async () => {
  const place = await openPlace();
  const attack =
    "\u001b[2J\u001b[H\u001b]0;owned\u0007\u001b]52;c;cHduZWQ=\u0007\u009b2J\u001b[8mhidden\u001b[1A\r\b\b\u202eover\u0007";
  await place.add({ title: `T${attack}`, prompt: `P${attack}` }, { title: "Two" });
  await place.says(["claim", "0001", "--start", "--session", "a"]);
  await place.says(["ask", "0001", `Q${attack}`, "--session", "a"]);
  const commands = ["list", "show 0001", "inbox", "events", "graph", "explain 0001", "show 'x\u001b[2J'"];
  const screen = typeLine(
    place,
    `echo above; ${commands.map((command) => `dibs ${command}`).join("; ")}; echo below`,
    { rows: 100 },
  );
  expect(await screen.ended).toBe(0);
  expect([screen.title, screen.bells, screen.isCursorHidden]).toEqual(["", 0, false]);
  expect(screen.allLines[0]).toBe("above");
  expect(screen.allLines.at(-1)).toBe("below");
  expect(screen.allLines.filter((line) => line.includes("hidden")).length).toBeGreaterThan(3);
});
