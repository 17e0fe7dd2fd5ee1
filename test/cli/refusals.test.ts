import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Calling, type Desk, deskWithStore, openDesk, ways } from "./desk.js";

const codeOf = async (desk: Desk, argv: string[], calling?: Calling) => (await desk.dibs(argv, calling)).code;

describe.each(ways)("exit codes, %s", (way) => {
  test("0 when it went well, 1 when the state forbids it", async () => {
    const desk = await openDesk(way);
    expect(await codeOf(desk, ["add", "One"])).toBe(0);
    expect(await codeOf(desk, ["claim", "0001", "--session", "a"])).toBe(0);
    expect(await codeOf(desk, ["claim", "0001", "--session", "b"])).toBe(1);
    expect(await codeOf(desk, ["retry", "0001"])).toBe(1);
    expect(await codeOf(desk, ["answer", "0001", "yes"])).toBe(1);
    expect(await codeOf(desk, ["lock", "acquire", "x", "--pid", "1"])).toBe(0);
    expect(await codeOf(desk, ["lock", "acquire", "x"])).toBe(1);
  });

  test("2 when it was said wrongly", async () => {
    const desk = await openDesk(way);
    const wrong = [
      ["nonsense"],
      ["add", "x", "--nonsense"],
      ["add", "x", "-p", "101"],
      ["add", "x", "-d", "0099"],
      ["add", ""],
      ["list", "-s", "sideways"],
      ["list", "--limit", "many"],
      ["claim"],
      ["claim", "--session", "a", "--wait", "5parsecs"],
      ["show"],
      ["show", "0001", "0002"],
      ["edit"],
      ["lock", "acquire"],
      ["project", "set", "claim.defaultTtlMs", "soon"],
      ["leader", "add-task", "x", "-p", "0"],
      ["leader", "add-task", "x", "-p", "6"],
      ["leader", "add-task", "x", "-p", "50"],
      ["completion", "powershell"],
      ["token", "create", "--role", "king"],
      ["done", "--session", "a"],
      ["plan", "-"],
    ];
    for (const argv of wrong) expect(await codeOf(desk, argv), argv.join(" ")).toBe(2);
  });

  test("6 for a defect of ours, as an object for programs and in two lines for people; where it is only if asked", async () => {
    const desk = await openDesk(way);
    // Nobody foresees that a desk cannot serve: what it throws is no refusal.
    const people = await desk.dibs(["serve"]);
    expect(people).toMatchObject({ code: 6, out: "" });
    expect(people.err).toMatch(
      /^dibs: This is a defect in Dibs: .*server \(INTERNAL\)\nReport it.*DIBS_DEBUG=1.*\n$/,
    );
    const programs = await desk.dibs(["serve", "--json"]);
    expect(programs).toMatchObject({ code: 6, err: "" });
    expect(JSON.parse(programs.out)).toMatchObject({ success: false, error: "INTERNAL", retryable: false });
    const told = await desk.dibs(["serve"], { env: { DIBS_DEBUG: "1" } });
    expect(told.err.startsWith(people.err)).toBe(true);
    expect(told.err).toMatch(/ {4}at .*desk\.ts/);
  });

  test("3 when there is no such thing", async () => {
    const desk = await deskWithStore(way);
    const missing = [
      ["show", "0099"],
      ["explain", "0099"],
      ["events", "0099"],
      ["attempts", "0099"],
      ["graph", "0099"],
      ["plan", "missing.md"],
      ["list", "--project", "nowhere"],
      ["project", "show", "nowhere"],
    ];
    for (const argv of missing) expect(await codeOf(desk, argv), argv.join(" ")).toBe(3);
    // `import` goes past a server.
    expect(await codeOf(desk, ["import", "missing.jsonl"])).toBe(3);
  });

  test("4 when it is not allowed", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two"]);
    await desk.says(["claim", "0001", "--session", "a"]);
    await desk.says(["claim", "0002", "--session", "b"]);
    expect(await codeOf(desk, ["done", "0001", "--session", "b"])).toBe(4);
    if (way === "embedded") return;
    const token = (await desk.says(["token", "create", "--role", "viewer"])).trim();
    const { url } = desk.server!;
    for (const way of [
      ["--token", token],
      ["--url", url],
    ]) {
      const env = { DIBS_TOKEN: token };
      expect(await codeOf(desk, ["list", ...way], { env })).toBe(0);
      expect(await codeOf(desk, ["add", "Three", ...way], { env })).toBe(4);
    }
    expect(await codeOf(desk, ["list", "--token", "wrong"])).toBe(4);
  });

  test("5 when there is nothing to do", async () => {
    const desk = await deskWithStore(way);
    expect(await codeOf(desk, ["claim", "--session", "a"])).toBe(5);
    expect(await codeOf(desk, ["worker", "claim", "a"])).toBe(5);
    expect(await codeOf(desk, ["plan", "-", "--yes"], { input: "- [x] Done already\n" })).toBe(5);
  });
});

test("6 when the store or the network is not there", async () => {
  const desk = await openDesk();
  mkdirSync(join(desk.directory, "folder"));
  writeFileSync(join(desk.directory, "broken.db"), "this is no database at all");
  expect(await codeOf(desk, ["list", "--db", "folder"])).toBe(6);
  expect(await codeOf(desk, ["list", "--db", "broken.db"])).toBe(6);
  expect(await codeOf(desk, ["list", "--url", "http://127.0.0.1:1", "--token", "x"])).toBe(6);
  expect(await codeOf(desk, ["backup", "copy.db", "--db", "none.db"])).toBe(6);
  expect(await codeOf(desk, ["doctor", "--db", "broken.db"])).toBe(1);
});

test("an error for people is said on stderr, one for programs on stdout", async () => {
  const desk = await deskWithStore();
  const people = await desk.dibs(["show", "0099"]);
  expect(people.out).toBe("");
  expect(people.err).toMatch(/^dibs: .*0099.* \(TASK_NOT_FOUND\)\n/);
  const programs = await desk.dibs(["show", "0099", "--json"]);
  expect(programs.err).toBe("");
  expect(JSON.parse(programs.out)).toMatchObject({ success: false, error: "TASK_NOT_FOUND" });
  const usage = await desk.dibs(["list", "--json", "--nonsense"]);
  expect(JSON.parse(usage.out)).toMatchObject({ success: false, error: "VALIDATION_FAILED" });
});

test("problems of a plan are told with file, line and column, and nothing is added", async () => {
  const desk = await deskWithStore();
  writeFileSync(
    join(desk.directory, "plan.md"),
    "# Plan\n\n- [ ] A (depends on: B)\n- [ ] B (depends on: A)\n",
  );
  const { code, err, out } = await desk.dibs(["plan", "plan.md", "--yes"]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(/^plan\.md:\d+:\d+: .*(A|t1).*→/m);
  const { problems } = await desk.json(["plan", "plan.md", "--yes"]);
  expect(problems[0]).toMatchObject({ line: expect.any(Number), column: expect.any(Number) });
  expect((await desk.json(["list"])).tasks).toEqual([]);
});

test("a plan is all or nothing", async () => {
  const desk = await openDesk();
  const input = JSON.stringify([{ title: "A" }, { title: "B", dependsOn: ["0099"] }]);
  expect((await desk.dibs(["plan", "-", "--yes"], { input })).code).toBe(2);
  expect((await desk.json(["list"])).tasks).toEqual([]);
});

test("a plan may name tasks that exist, by any id", async () => {
  const desk = await openDesk();
  await desk.says(["add", "Set up", "--id", "set-up"]);
  await desk.says(["plan", "-", "--yes"], { input: "TASK: Next\nDEPENDS_ON: set-up\n" });
  expect((await desk.json(["show", "0001"])).task.dependsOn).toEqual(["set-up"]);
});

test("words near a command are suggested", async () => {
  const desk = await openDesk();
  expect((await desk.dibs(["lst"])).err).toMatch(/Run: dibs --help/);
  expect((await desk.dibs(["lis"])).err).toMatch(/Did you mean list/);
  expect((await desk.dibs(["lock", "acq", "x"])).err).toMatch(/Did you mean acquire/);
});
