// What a task says is data: it reaches the command byte for byte, starts nothing, and does nothing to a terminal. And the command
// lines of well-known agents.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asArgument, hostilePrompts } from "../runner/support.js";
import { ways } from "./desk.js";
import { openPlace, type Place, placeWithStore } from "./run-place.js";

/** Writes down its arguments and its input, and says the prompt again. */
const recorder = `printf '%s\\0' "$@" > "$NOTES/$DIBS_TASK.args"; tee "$NOTES/$DIBS_TASK.stdin"`;

const argsOf = (place: Place, taskId: string) => place.note(`${taskId}.args`).split("\0").slice(0, -1);
const stdinOf = (place: Place, taskId: string) => readFileSync(join(place.notes, `${taskId}.stdin`));

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/;

const large = `$(touch pwned) "${"ä\n'".repeat(50 * 1024)}`;
const prompts: [string, string][] = [...hostilePrompts, ["200 KiB", large]];

describe.each(ways)("hostile prompts: %s", (way) => {
  test("reach the command unharmed, start nothing, and are shown harmlessly", async () => {
    const place = await openPlace(way);
    place.program("agent", `${recorder}; [ $# -lt 4 ] || cat "$3" > "$NOTES/$DIBS_TASK.file"`);
    await place.add(
      ...prompts.map(([title, prompt]) => ({ title: `${title} \u001b[31m$(touch pwned)`, prompt })),
    );
    const words = ["agent", "{id}", "{title}", "{promptFile}", "--prompt={prompt}"];
    const { code, out, err } = await place.dibs([
      "work",
      "--bare-prompt",
      "--until-idle",
      "-n",
      "2",
      "--",
      ...words,
    ]);
    expect([code, out.match(/ completed/g)?.length]).toEqual([0, prompts.length]);
    for (const [at, [name, prompt]] of prompts.entries()) {
      const id = `000${at + 1}`;
      const { title } = await place.task(id);
      expect(stdinOf(place, id).equals(Buffer.from(prompt)), name).toBe(true);
      expect(readFileSync(join(place.notes, `${id}.file`)).equals(Buffer.from(prompt)), name).toBe(true);
      // Whole arguments only.
      expect(argsOf(place, id), name).toEqual([id, title, expect.any(String), "--prompt={prompt}"]);
    }
    for (const shown of [
      out,
      err,
      await place.says(["show", "0006"]),
      await place.says(["show", "0006", "--log"]),
    ]) {
      expect(shown).not.toMatch(harmful);
    }
    expect(place.git("status", "--porcelain", "--ignored")).not.toContain("pwned");
  });
});

test("hostile prompts as an argument, where it is one; too long for that is a failure that says what to do", async () => {
  const place = await openPlace();
  place.program("agent", recorder);
  await place.add(...prompts.map(([, prompt], at) => ({ title: `T${at}`, prompt, maxRetries: 0 })));
  const { out } = await place.dibs(["work", "--until-idle", "-q", "--", "agent", "--", "{prompt}"]);
  for (const [at, [name, prompt]] of hostilePrompts.entries()) {
    expect(argsOf(place, `000${at + 1}`), name).toEqual(["--", asArgument(prompt)]);
  }
  expect(out).toContain(`000${prompts.length} failed: The prompt is too long to be an argument`);
  expect((await place.task(`000${prompts.length}`)).error).toContain("{promptFile}");
});

test("hostile prompts of dibs run: as a flag and on standard input", async () => {
  const place = await placeWithStore();
  place.program("agent", recorder);
  for (const [at, [name, prompt]] of hostilePrompts.entries()) {
    const { code } = await place.dibs([
      "run",
      `--prompt=${prompt}`,
      "--bare-prompt",
      "-q",
      "--",
      "agent",
      "{prompt}",
    ]);
    const id = `000${at + 1}`;
    expect(code, name).toBe(0);
    expect(argsOf(place, id), name).toEqual([asArgument(prompt)]);
    expect(stdinOf(place, id).toString(), name).toBe(prompt);
  }
  expect((await place.dibs(["run", "--bare-prompt", "-q", "--", "agent"], { input: large })).code).toBe(0);
  const last = `000${hostilePrompts.length + 1}`;
  expect(stdinOf(place, last).equals(Buffer.from(large))).toBe(true);
});

describe("presets", () => {
  const agents = {
    claude: ["--print", "--permission-mode", "acceptEdits"],
    codex: ["exec", "--sandbox", "workspace-write", "-"],
    gemini: ["--approval-mode", "auto_edit"],
  };

  test.each(Object.entries(agents))(
    "%s is given the brief on standard input, or the bare prompt",
    async (name, args) => {
      const place = await openPlace();
      place.program(name, recorder);
      const prompt = "--dangerously $(touch pwned)\nsecond line";
      await place.add({ title: "One", prompt }, { title: "Two", prompt });
      const { code, out } = await place.dibs(["work", "--agent", name, "--until-idle", "-q"]);
      expect([code, out]).toEqual([0, "0001 completed\n0002 completed\n"]);
      expect(argsOf(place, "0001")).toEqual(args);
      expect(stdinOf(place, "0001").toString()).toContain(`\n${prompt}\n</task-data>\n`);
      await place.says(["run", "--bare-prompt", "--agent", name, "--prompt", "bare", "-q"]);
      expect(stdinOf(place, "0003").toString()).toBe("bare");
      expect((await place.json(["attempts", "0001"])).attempts[0].agentType).toBe(name);
    },
  );

  test("words after -- are added, --attended leaves out what allows, and a config names the usual one", async () => {
    const place = await placeWithStore();
    for (const name of Object.keys(agents)) place.program(name, recorder);
    const run = async (...args: string[]) => (await place.dibs(["run", "--prompt", "x", "-q", ...args])).code;
    expect(await run("--agent", "codex", "--", "--model", "o9")).toBe(0);
    expect(argsOf(place, "0001")).toEqual(["exec", "--sandbox", "workspace-write", "--model", "o9", "-"]);
    expect(await run("--agent", "claude", "--attended")).toBe(0);
    expect(argsOf(place, "0002")).toEqual(["--print"]);
    await place.start("sh", ["-c", `echo '{"agent": "gemini"}' > .dibs/config.json`]).ended;
    expect(await run()).toBe(0);
    expect(argsOf(place, "0003")).toEqual(agents.gemini);
  });

  test("an agent that is not installed is told by name", async () => {
    const place = await placeWithStore();
    const { code, err } = await place.dibs(["run", "--agent", "goose", "--prompt", "x"]);
    expect(code).toBe(2);
    expect(err).toContain("goose");
  });
});
