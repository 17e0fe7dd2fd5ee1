// A plan is loaded, edited and loaded again, as people do it.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Desk, deskWithStore, openDesk, ways } from "./desk.js";

const write = (desk: Desk, name: string, text: string) => writeFileSync(join(desk.directory, name), text);
const plan = (desk: Desk, text: string, name = "plan.md") => write(desk, name, text);
const as = { env: { DIBS_SESSION: "agent-1" } };

const titles = async (desk: Desk): Promise<string[]> =>
  (await desk.json(["list"])).tasks.map(({ title }: { title: string }) => title);

const first = "- [ ] Schema\n- [ ] API (depends on: Schema)\n- [ ] Docs\n";

describe.each(ways)("a plan that is loaded again, %s", (way) => {
  async function loaded(): Promise<Desk> {
    const desk = await openDesk(way);
    plan(desk, first);
    await desk.says(["plan", "plan.md", "--yes"]);
    return desk;
  }

  test("a task that is checked off but still queued keeps its dependents waiting, and the note says so", async () => {
    const desk = await loaded();
    plan(desk, first.replace("[ ] Schema", "[x] Schema"));
    const { out, err } = await desk.dibs(["plan", "plan.md", "--yes"]);
    expect(out).toContain("checked off, but queued: left open");
    const said = err.replace(/\s+/g, " ");
    expect(said).toContain(
      '"API" depends on "Schema", which the plan marks as done: it waits only if an earlier load created that task and it is still open.',
    );
    expect((await desk.json(["show", "0002"])).task).toMatchObject({
      dependsOn: ["0001"],
      pendingDependencies: 1,
    });
  });

  test("unchanged, creates nothing", async () => {
    const desk = await loaded();
    expect(await desk.says(["plan", "plan.md"])).toBe("3 unchanged\n");
    expect(await desk.says(["plan", "plan.md", "--yes"])).toBe("3 unchanged\n");
    expect(await titles(desk)).toEqual(["Schema", "API", "Docs"]);
  });

  test("names every edit that it replaces, however many there are", async () => {
    const desk = await openDesk(way);
    plan(desk, "- [ ] Schema\n  Labels: a\n  Files: a.ts\n  Assignee: ann\n");
    await desk.says(["plan", "plan.md", "--yes"]);
    const edits = ["--label", "mine", "--files", "b.ts", "--assignee", "bob", "--prompt", "by hand"];
    await desk.says(["edit", "0001", ...edits]);
    plan(desk, "- [ ] Schema\n  Labels: b\n  Files: c.ts\n  Assignee: eve\n  More text.\n");
    const said = (await desk.says(["plan", "plan.md", "--yes"])).replace(/\s+/g, " ");
    const warning = /warning: the plan replaced edits of 0001: ([^.]*?) 1 changed/.exec(said)?.[1] ?? said;
    expect(warning.split(", ").sort()).toEqual(["assignee", "files", "labels", "prompt"]);
  });

  test("edited, shows the difference, asks, and applies it", async () => {
    const desk = await loaded();
    await desk.says(["claim", "0003", "--start"], as);
    plan(desk, "1. [ ] Schema (high)\n2. [ ] Auth\n3. [x] API\n4. [ ] Docs\n   Say more.\n");
    const preview = await desk.says(["plan", "plan.md"], { answers: ["n"], env: { NO_COLOR: "1" } });
    expect(desk.asked).toEqual(["Apply these changes? [y/N] "]);
    expect(preview.split("\n").slice(1, 5)).toEqual([
      expect.stringMatching(/^~ {2}0001 {2}Schema {2}priority$/),
      expect.stringMatching(/^\+ {8}Auth {4}new$/),
      expect.stringMatching(/^! {2}0002 {2}API {5}checked off, but queued: left open$/),
      expect.stringMatching(/^! {2}0003 {2}Docs {4}running, keeps its description, prompt$/),
    ]);
    expect(preview).toContain("1 to add, 1 to change, 2 left as they are\n");
    expect(preview).toContain("Nothing was changed.\n");
    const done = await desk.says(["plan", "plan.md"], { answers: ["y"] });
    expect(done).toContain("1 added, 1 changed, 2 left as they are\n");
    expect(await desk.json(["show", "0001"])).toMatchObject({ task: { priority: 80 } });
    expect(await titles(desk)).toEqual(["Schema", "API", "Docs", "Auth"]);
  });

  test("with something gone, leaves it, and cancels it with --prune", async () => {
    const desk = await loaded();
    plan(desk, "- [ ] Schema\n- [ ] API\n");
    const out = await desk.says(["plan", "plan.md"]);
    expect(out).toMatch(/^- {2}0003 {2}Docs {2}gone from the plan, left: queued$/m);
    expect(out).toContain("To cancel those that are gone and were never attempted, add --prune.\n");
    expect(out).toContain("Nothing was changed yet. To apply this: dibs plan plan.md --yes\n");
    const pruning = await desk.says(["plan", "plan.md", "--prune"]);
    expect(pruning).toMatch(/Docs {2}gone from the plan, will be cancelled$/m);
    expect(pruning).toContain("dibs plan plan.md --prune --yes\n");
    await desk.says(["plan", "plan.md", "--prune", "--yes"]);
    expect(await desk.json(["show", "0003"])).toMatchObject({ task: { state: "cancelled" } });
  });

  test("prints the same for programs, before and after", async () => {
    const desk = await loaded();
    plan(desk, "- [ ] Schema\n- [ ] API (depends on: Schema)\n- [ ] Deploy\n");
    const counts = { new: 1, changed: 0, unchanged: 2, untouched: 0, checked: 0, gone: 1, cancelled: 0 };
    const { difference, plan: read } = await desk.json(["plan", "plan.md"]);
    expect(difference).toMatchObject({ name: "plan.md", isNew: false, dryRun: true, counts });
    expect(read.tasks).toHaveLength(3);
    const answer = await desk.json(["plan", "plan.md", "--yes"]);
    expect(answer.plan).toMatchObject({ dryRun: false, counts });
    expect(answer.tasks).toHaveLength(3);
    expect(answer.ids).toMatchObject({ t1: "0001", t3: "0004" });
  });
});

describe("the name of a plan", () => {
  test("is its path in the repository, from wherever it is loaded", async () => {
    const desk = await openDesk();
    mkdirSync(join(desk.directory, "docs"));
    plan(desk, first, "docs/plan.md");
    expect((await desk.json(["plan", "docs/plan.md", "--yes"])).plan.name).toBe("docs/plan.md");
    const inside = { cwd: join(desk.directory, "docs") };
    const { plan: again } = await desk.json(["plan", "plan.md", "--yes"], inside);
    expect(again).toMatchObject({ name: "docs/plan.md", counts: { new: 0, unchanged: 3 } });
    plan(desk, first);
    expect((await desk.json(["plan", "plan.md", "--yes"])).plan.counts.new).toBe(3);
  });

  test("has the parent in it, so that one plan can be loaded below several tasks", async () => {
    const desk = await openDesk();
    plan(desk, first);
    for (const title of ["Shop", "Blog"]) await desk.says(["add", title]);
    for (const parent of ["0001", "0002", "0002"])
      await desk.says(["plan", "plan.md", "--parent", parent, "--yes"]);
    expect(await titles(desk)).toHaveLength(8);
  });

  test("is given with --name for standard input; without one, everything is created again", async () => {
    const desk = await openDesk();
    for (let times = 0; times < 2; times++)
      await desk.says(["plan", "-", "--name", "release", "--yes"], { input: first });
    expect(await titles(desk)).toHaveLength(3);
    const { out } = await desk.dibs(["plan", "-"], { input: first });
    expect(out).toMatch(/loading it again creates all of its tasks\s+again.*--name <name>/s);
    await desk.says(["plan", "-", "--yes"], { input: first });
    expect(await titles(desk)).toHaveLength(6);
    const { code, err } = await desk.dibs(["plan", "-", "--prune", "--yes"], { input: first });
    expect([code, err]).toEqual([2, expect.stringContaining("--name <name>")]);
  });

  test("is not the path of a file outside of the repository: others have a plan.md, too", async () => {
    const desk = await openDesk();
    const elsewhere = await openDesk();
    plan(elsewhere, first);
    const path = join(elsewhere.directory, "plan.md");
    expect((await desk.json(["plan", path, "--yes"])).plan).toBeUndefined();
    expect(await desk.says(["plan", path])).toMatch(/loading it again creates all of its tasks\s+again/);
  });

  test("is the path below the store where there is no repository", async () => {
    const desk = await openDesk();
    rmSync(join(desk.directory, ".git"), { recursive: true });
    plan(desk, first);
    for (const isNew of [true, false])
      expect((await desk.json(["plan", "plan.md", "--yes"])).plan).toMatchObject({ name: "plan.md", isNew });
  });
});

test("a plan whose tasks are there already under no name gets a warning", async () => {
  const desk = await openDesk();
  await desk.says(["plan", "-", "--yes"], { input: first });
  plan(desk, first);
  const out = await desk.says(["plan", "plan.md"]);
  expect(out).toMatch(/warning: 3 open tasks have titles of this plan already \(0001, 0002, 0003\)/);
  expect((await desk.json(["plan", "plan.md"])).sameTitles).toEqual(["0001", "0002", "0003"]);
});

test("a plan where everything is checked off says so, and what of it is open", async () => {
  const desk = await openDesk();
  plan(desk, "- [x] Schema\n");
  expect((await desk.dibs(["plan", "plan.md", "--yes"])).code).toBe(5);
  plan(desk, "- [ ] Schema\n");
  await desk.says(["plan", "plan.md", "--yes"]);
  plan(desk, "- [x] Schema\n");
  expect(await desk.says(["plan", "plan.md"])).toContain("checked off, but queued: left open");
});

test("the command to go on repeats what was given, and no secrets", async () => {
  const desk = await deskWithStore();
  await desk.says(["project", "create", "side"]);
  write(desk, "my plan.md", "- [ ] A\n");
  const flags = ["--format", "markdown", "--project", "side", "--name", "it's"];
  const out = await desk.says(["plan", "my plan.md", ...flags]);
  expect(out).toContain("dibs plan 'my plan.md' --format markdown --project side --name 'it'\\''s' --yes\n");
  const input = { input: "- [ ] A\n" };
  const piped = await desk.says(["plan", "-", "--format", "markdown", "--token", "secret"], input);
  expect(piped).toContain('dibs plan - --format markdown --token "$DIBS_TOKEN" --yes\n');
  expect(piped).not.toContain("secret");
});
