// What goes on at a terminal until somebody has seen enough, and what shells complete.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keys, sitAt, type, typeLine } from "./pty.js";
import { openPlace, placeWithStore, sh, until, waitFor } from "./run-place.js";

const sanity = "stty -a | grep -ow -e '-*icanon' -e '-*echo' | tr '\\n' ' '";
const ends = (screen: { allLines: string[] }) => screen.allLines.slice(-2).map((line) => line.trimEnd());

describe("Ctrl-C", () => {
  test("ends what follows events, well, and leaves the terminal as it was", async () => {
    const place = await placeWithStore();
    const screen = typeLine(place, `dibs events -f --after 0; code=$?; echo; echo "code $code"; ${sanity}`);
    await place.add({ title: "Seen" });
    await screen.shows(/created +0001 .*Seen/);
    screen.press(keys.ctrlC);
    expect(await screen.ended).toBe(0);
    expect(ends(screen)).toEqual(["code 0", "icanon echo"]);
    expect(screen.isCursorHidden).toBe(false);
  });

  test("ends a wait for something to claim, which is told by the exit code", async () => {
    const place = await placeWithStore();
    const screen = type(place, ["claim", "--session", "a", "--wait", "10m"]);
    await until("it waits", async () => (await place.json(["sessions"])).sessions.length === 1);
    screen.press(keys.ctrlC);
    expect([await screen.ended, screen.allText]).toEqual([5, expect.stringContaining("Nothing to claim.")]);
  });

  test("lets a runner's command finish, which does not notice the key", async () => {
    const place = await openPlace();
    await place.add({ title: "First" }, { title: "Second" });
    const script = `echo begun; echo > "$NOTES/begun"; ${waitFor("go")}; echo finished`;
    const screen = type(place, ["work", "--", ...sh(script)]);
    await place.noted("begun");
    await screen.shows("0001 │ begun");
    screen.press(keys.ctrlC);
    await screen.shows("stopping after the running tasks");
    place.leave("go");
    expect([await screen.ended, screen.allText]).toEqual([
      0,
      expect.stringMatching(/finished[\s\S]*0001 completed/),
    ]);
    expect((await place.task("0001")).state).toBe("completed");
    expect((await place.task("0002")).state).toBe("queued");
  });

  test("twice ends the command too, and gives the task back", async () => {
    const place = await openPlace();
    await place.add({ title: "First" });
    const screen = type(place, ["work", "--", ...sh(`echo > "$NOTES/begun"; ${waitFor("never")}`)]);
    await place.noted("begun");
    screen.press(keys.ctrlC);
    await screen.shows("stopping");
    screen.press(keys.ctrlC);
    expect([await screen.ended, screen.allText]).toEqual([0, expect.stringContaining("0001 released")]);
    expect((await place.task("0001")).state).toBe("queued");
  });
});

test("export and import tell how far they are, on a line that is gone in the end", async () => {
  const place = await placeWithStore();
  await place.add(...Array.from({ length: 700 }, (_, at) => ({ title: `Task ${at}` })));
  const out = type(place, ["export", "all.jsonl"]);
  expect(await out.ended).toBe(0);
  expect(out.raw).toContain("exporting: 2000 lines");
  expect(out.allLines).toEqual([expect.stringMatching(/^exported \d{4} lines to all\.jsonl$/)]);
  // Wide enough for the path of a temporary directory.
  const back = type(place, ["import", "all.jsonl", "--db", "new.db"], { columns: 200 });
  expect(await back.ended).toBe(0);
  expect(back.raw).toContain("checking: 1000 lines");
  expect(back.raw).toMatch(/importing: 2000 of \d{4} lines/);
  expect(back.allLines).toEqual([
    expect.stringMatching(/^Created store .*\/new\.db$/),
    expect.stringMatching(/^imported 1 org, 1 project, 700 tasks, /),
  ]);
  // Not where programs read.
  const piped = typeLine(place, "dibs export copy.jsonl | cat; dibs export other.jsonl --json");
  expect(await piped.ended).toBe(0);
  expect(piped.raw).not.toContain("exporting");
});

test("the Tab of bash completes commands, parts, flags, values, ids and files", async () => {
  const place = await openPlace();
  await place.says(["add", "Login", "--id", "shop-login"]);
  const shell = sitAt(place, ["bash", "--norc", "--noprofile", "-i"], { env: { PS1: "> ", HISTFILE: "" } });
  await shell.shows("> ");
  shell.press(`bind 'set bell-style none'; source <(dibs completion bash); echo ready${keys.enter}`);
  // What is typed before the prompt is there is echoed by the terminal, and bash does not know of it.
  await shell.shows(/^ready\n> ?$/m);
  const completed = async (typed: string, becomes: string) => {
    shell.press(`${typed}${keys.tab}`);
    await shell.shows(new RegExp(`^> ${becomes.replaceAll(/[.$]/g, "\\$&")}`, "m"));
    shell.press(keys.ctrlU);
  };
  await completed("dibs depe", "dibs dependents");
  await completed("dibs lock acq", "dibs lock acquire");
  await completed("dibs list --claim", "dibs list --claimable");
  await completed("dibs token create --role vi", "dibs token create --role viewer");
  await completed("dibs show sh", "dibs show shop-login");
  await completed("dibs add Next -d sho", "dibs add Next -d shop-login");
  writeFileSync(join(place.cwd, "planned.md"), "- [ ] One\n");
  await completed("dibs plan plann", "dibs plan planned.md");
});
