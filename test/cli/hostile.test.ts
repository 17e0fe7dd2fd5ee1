// Text of tasks and agents comes from anywhere: it reaches the store unharmed and the terminal harmless.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { type Calling, type Desk, deskWithStore, openDesk } from "./desk.js";

const attack =
  "\u001b[31mred\u001b]0;title\u0007\u009b2J \u202egnp.exe\u200b \u2028line\u0085 bell\u0007 back\b\b over\rwritten";

const harmless = (text: string) => !/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(text);

async function fill(desk: Desk): Promise<void> {
  const dibs = await openDibs({
    path: desk.database,
    clock: desk.clock,
    detached: true,
    actor: `user:${attack}`,
  });
  await dibs.sessions.register({ id: "agent-1", name: "na\u202eme\u009b2J", agentType: "cl\u202ei" });
  const more = {
    title: attack,
    description: attack,
    labels: ["l\u202e"],
    files: [`f\u001b[2J`],
    phase: "ph\u202e",
    metadata: { [attack]: attack },
  };
  for (const id of ["a", "b", "c"]) await dibs.tasks.create({ id, prompt: attack, ...more });
  await dibs.tasks.create({ prompt: attack, dependsOn: ["a"], parentId: "c", ...more });
  const a = { taskId: "a", sessionId: "agent-1" };
  await dibs.tasks.claim({ ...a, start: true });
  await dibs.tasks.progress({ ...a, note: attack });
  await dibs.tasks.ask({ ...a, question: attack, options: [attack], default: attack });
  await dibs.tasks.appendLog({ ...a, text: attack }).catch(() => undefined);
  const b = { taskId: "b", sessionId: "agent-1" };
  await dibs.tasks.claim({ ...b, start: true });
  await dibs.tasks.complete({
    ...b,
    result: { output: attack, filesCreated: [attack], filesModified: [attack] },
  });
  await dibs.locks.acquire({ name: "deploy", sessionId: "agent-1", metadata: { [attack]: attack } });
  await dibs.close();
}

describe("nothing of it is written raw", () => {
  const looks = [
    ["list"],
    ["list", "--tree"],
    ["ready"],
    ["show", "a"],
    ["show", "b"],
    ["show", "a", "--log"],
    ["attempts", "b"],
    ["explain", "a"],
    ["explain", "c"],
    ["graph", "--all"],
    ["in-flight"],
    ["sessions"],
    ["sessions", "--ended"],
    ["events"],
    ["events", "a"],
    ["inbox"],
    ["lock", "list"],
    ["lock", "status", "deploy"],
    ["claim", "--session", "agent-2"],
    ["plan", "-"],
    ["plan", "-", "--yes"],
    ["add", attack],
    ["show", attack],
    ["graph", attack],
    ["list", "-s", attack],
    ["list", "--project", attack],
    ["project", "set", attack, attack],
    ["project", "show", attack],
    ["leader", "add-task", attack],
    ["worker", "claim", attack],
    ["lock", "acquire", attack],
    ["import", attack],
    ["plan", attack],
    [attack],
    ["lock", attack],
    ["answer", "a", attack],
    ["done", "a", attack, "--session", "agent-1", "-c", attack],
    ["show", "a"],
    ["list", "--cursor", attack],
    ["__complete", "--", "show", ""],
  ];

  test("on a pipe, and on a terminal only in our own colours", async () => {
    const desk = await openDesk();
    mkdirSync(dirname(desk.database), { recursive: true });
    await fill(desk);
    const input = `- [ ] ${attack.replaceAll(/[\r\n]/g, "")}\n- [ ] B (depends on: ${attack.replaceAll(/[\r\n]/g, "")}x)\n`;
    for (const argv of looks) {
      const { out, err } = await desk.dibs(argv, { input });
      expect(
        harmless((out + err).replaceAll("\t", "")),
        `${JSON.stringify(argv)}: ${JSON.stringify(out + err)}`,
      ).toBe(true);
      const coloured = await desk.dibs(argv, { input, answers: ["n"], env: { TERM: "xterm" } });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours.
      const bare = (coloured.out + coloured.err).replaceAll(/\u001b\[\d+m/g, "").replaceAll("\t", "");
      expect(harmless(bare), `${JSON.stringify(argv)}: ${JSON.stringify(bare)}`).toBe(true);
    }
  });

  test("ten errors of 32 000 letters with an accent each are shown at once", async () => {
    const desk = await openDesk();
    mkdirSync(dirname(desk.database), { recursive: true });
    const dibs = await openDibs({ path: desk.database, clock: desk.clock, detached: true });
    await dibs.sessions.register({ id: "agent-1" });
    for (let number = 0; number < 10; number++) {
      const { task } = await dibs.tasks.create({ prompt: "x", maxRetries: 0 });
      const held = { taskId: task.id, sessionId: "agent-1" };
      await dibs.tasks.claim({ ...held, start: true });
      await dibs.tasks.fail({ ...held, error: "e\u0301".repeat(32_000) });
    }
    await dibs.close();
    const begun = performance.now();
    expect(await desk.says(["events"])).toMatch(/failed .* (?:e\u0301)+…\n/u);
    expect(await desk.says(["list"])).toContain("failed");
    expect(await desk.says(["show", "0001"])).toContain("e\u0301");
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test("DOT for Graphviz is quoted", async () => {
    const desk = await openDesk();
    await desk.says(["add", 'A "quoted" \\ title\nwith lines']);
    expect(await desk.says(["graph", "--dot"])).toContain('label="0001\\nA \\"quoted\\" \\\\ title"');
  });
});

describe("any text can be given", () => {
  const texts = [
    "--help",
    "-p",
    "$(touch pwned) `id` ; rm -rf / && true",
    "'single' \"double\" \\ back",
    "line one\nline two\ttab",
    "🦀 日本語 שלום",
    "x".repeat(200 * 1024),
  ];

  test.each(texts.map((text) => [JSON.stringify(text.slice(0, 40)), text]))("add -- %s", async (_, text) => {
    const desk = await openDesk();
    const { task } = await desk.json(["add", "--id", "one"], { input: text });
    expect(task.prompt).toBe(text);
    await desk.says(["add", "--id", "two", "--", text]);
    expect((await desk.json(["show", "two"])).task.prompt).toBe(text);
    const as: Calling = { env: { DIBS_SESSION: "s", DIBS_TASK: "two" } };
    await desk.says(["claim", "two", "--start"], as);
    await desk.says(["progress", "--", "two", text.slice(0, 16_000)], as);
    await desk.says(["done", "two", "-"], { ...as, input: text });
    expect((await desk.json(["show", "two"])).task.result.output).toBe(text);
  });

  test("--json after -- is text", async () => {
    const desk = await openDesk();
    expect(await desk.says(["add", "--", "--json"])).toBe("0001  --json\n");
    expect((await desk.dibs(["show", "--", "--json"])).err).toContain("dibs:");
  });
});

describe("what lies in a repository is not trusted", () => {
  const config = (desk: Desk, value: object) => {
    mkdirSync(dirname(desk.database), { recursive: true });
    writeFileSync(join(dirname(desk.database), "config.json"), JSON.stringify(value));
  };

  test("a committed config cannot send anyone to another machine", async () => {
    const desk = await openDesk();
    config(desk, { url: "http://evil.example:1" });
    const { code, err } = await desk.dibs(["list"], { env: { DIBS_TOKEN: "secret" } });
    expect([code, err]).toEqual([4, expect.stringContaining("evil.example")]);
    expect(err).toContain("dibs trust");
    expect(desk.connected).toEqual([]);
  });

  test("a committed config has no token", async () => {
    const desk = await openDesk();
    config(desk, { token: "secret" });
    const { code, err } = await desk.dibs(["list"]);
    expect([code, err]).toEqual([2, expect.stringContaining("token")]);
  });

  test.each(["database", "org"])("a committed config cannot say %s", async (key) => {
    const desk = await deskWithStore();
    config(desk, { [key]: "http://evil.example:1" });
    const { code, err } = await desk.dibs(["list"], { env: { DIBS_TOKEN: "secret" } });
    expect(code).toBe(0);
    expect(err).toContain(`'${key}' is not a setting`);
    expect(desk.connected).toEqual([]);
    expect(existsSync(desk.database)).toBe(true);
  });

  test("a config that is no object is refused", async () => {
    const desk = await openDesk();
    config(desk, ["project"]);
    expect((await desk.dibs(["list"])).code).toBe(2);
    config(desk, { project: 7 });
    expect((await desk.dibs(["list"])).code).toBe(2);
  });

  test("a server file from elsewhere is not followed, nor is a token sent to it", async () => {
    const desk = await openDesk("server");
    const file = `${desk.database}.server.json`;
    const real = JSON.parse(desk.read(".dibs/dibs.db.server.json"));
    const tries = [
      { ...real, url: "http://evil.example:80" },
      { ...real, url: "http://127.0.0.1:1@evil.example:80" },
      { ...real, host: "another" },
      { ...real, pid: 2 ** 22 + 1 },
    ];
    for (const each of tries) {
      writeFileSync(file, JSON.stringify(each), { mode: 0o600 });
      expect((await desk.dibs(["list"], { env: { DIBS_TOKEN: "secret" } })).code).toBe(0);
    }
    writeFileSync(file, JSON.stringify(real));
    chmodSync(file, 0o644);
    expect((await desk.dibs(["list"], { env: { DIBS_TOKEN: "secret" } })).code).toBe(0);
    expect(desk.connected).toEqual([]);
  });

  test("the project may be named there, and flags go before it", async () => {
    const desk = await deskWithStore();
    await desk.says(["project", "create", "docs"]);
    config(desk, { project: "docs" });
    expect((await desk.json(["add", "One"])).task.project).toBe("docs");
    expect((await desk.json(["add", "Two", "--project", "shop"])).task.project).toBe("shop");
    expect((await desk.json(["add", "Two"], { env: { DIBS_PROJECT: "shop" } })).task.project).toBe("shop");
  });
});
