// `dibs sync` as people and scripts call it, on a store of its own and through a server; and `dibs serve --sync`.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Desk, deskWithStore, openDesk, ways } from "../cli/desk.js";
import { tempDir } from "../faults/support.js";
import { databaseIn, Program, run, Serving } from "../http/program.js";
import { type Content, eventually } from "./support.js";

const fileOf = (desk: Desk) => join(desk.directory, "tasks.json");
const contentOf = (file: string): Content => JSON.parse(readFileSync(file, "utf8"));

function edit(file: string, change: (content: Content) => unknown): void {
  const content = contentOf(file);
  change(content);
  writeFileSync(`${file}.new`, JSON.stringify(content, null, 2));
  renameSync(`${file}.new`, file);
}

describe.each(ways)("%s", (way) => {
  test("one exchange says what it did, a line each, and its exit code says whether to look", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "Write docs"]);
    expect(await desk.dibs(["sync", "tasks.json", "--once"])).toEqual({
      code: 0,
      out: "wrote 1 task, 1 changed\n",
      err: "",
    });
    edit(fileOf(desk), ({ tasks }) => {
      tasks[0]!.title = "Write the docs";
      tasks.push({ id: "tests", title: "Write tests", dependsOn: ["0001"] });
    });
    expect(await desk.says(["sync", "tasks.json", "--once"])).toBe(
      "added tests Write tests\nedited 0001 title\nwrote 2 tasks, 1 changed\n",
    );
    expect(await desk.says(["list"])).toContain("Write the docs");
    expect(await desk.says(["sync", "tasks.json", "--once"])).toBe("");

    edit(fileOf(desk), ({ tasks }) => Object.assign(tasks[1]!, { status: "done" }));
    const { code, err } = await desk.dibs(["sync", "tasks.json", "--once"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^refused tests .*0001/);
    expect(readFileSync(`${fileOf(desk)}.conflicts`, "utf8")).toContain('"taken":"store"');
  });

  test("--json gives an object a line", async () => {
    const desk = await openDesk(way);
    writeFileSync(fileOf(desk), '[{"TaskId": "a", "Title": "A"}, {"TaskId": "../a", "Title": "B"}]');
    const { code, out, err } = await desk.dibs(["sync", "tasks.json", "--once", "--json"]);
    expect([code, err]).toEqual([1, ""]);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { what: "refused", field: "task", file: { TaskId: "../a" } },
      { what: "added", taskId: "a", message: "A" },
      { what: "wrote", tasks: 1 },
    ]);
  });
});

describe("on the command line", () => {
  test("what is wrong is told with its exit code", async () => {
    const desk = await openDesk();
    writeFileSync(fileOf(desk), '{"tasks": [');
    const codes = async (...argv: string[]) => (await desk.dibs(["sync", ...argv])).code;
    expect(await codes("tasks.json", "--once")).toBe(2);
    expect(readFileSync(fileOf(desk), "utf8")).toBe('{"tasks": [');
    expect(await codes("nowhere/tasks.json", "--once")).toBe(3);
    expect(await codes("/dev/null", "--once")).toBe(2);
    expect(await codes("tasks.json", "--once", "--watch")).toBe(2);
    expect(await codes("tasks.json", "--dialect", "s9")).toBe(2);
    rmSync(fileOf(desk));
    writeFileSync(join(desk.directory, ".tasks.json.dibs-sync"), `${process.pid}\n`);
    expect(await codes("tasks.json", "--once")).toBe(1);
  });

  test("without a name it is the team's file, in the home directory", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    const HOME = join(desk.directory, "home");
    mkdirSync(HOME);
    const { code } = await desk.dibs(["sync", "--once", "--dialect", "pascal"], { env: { HOME } });
    expect(code).toBe(0);
    const [task] = contentOf(join(HOME, ".dibs", "teams", "shop", "tasks", "tasks.json")).tasks;
    expect(task).toMatchObject({ TaskId: "0001", Status: "Pending" });
  });

  test("the former names of dialects are accepted, and not shown", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    const name = (dialect: string) => `${dialect}.json`;
    for (const dialect of ["s0", "s2"])
      await desk.says(["sync", name(dialect), "--once", "--dialect", dialect]);
    expect(contentOf(join(desk.directory, name("s0"))).tasks[0]).toMatchObject({ id: "0001" });
    expect(contentOf(join(desk.directory, name("s2"))).tasks[0]).toMatchObject({ TaskId: "0001" });
    // Also in what an earlier version remembered of a file.
    const remembered = join(desk.directory, ".s2.json.dibs-base");
    const text = readFileSync(remembered, "utf8");
    expect(text).toContain('"dialect":"pascal"');
    writeFileSync(remembered, text.replace('"dialect":"pascal"', '"dialect":"s2"'));
    await desk.says(["add", "Two"]);
    expect((await desk.dibs(["sync", name("s2"), "--once"])).code).toBe(0);
    expect(contentOf(join(desk.directory, name("s2"))).tasks[1]).toMatchObject({ TaskId: "0002" });
    const { err } = await desk.dibs(["sync", "--dialect", "kebab"]);
    expect(err).toMatch(/--dialect must be one of camel, pascal, not 'kebab'\./);
  });

  test("another project has a file of its own", async () => {
    const desk = await deskWithStore();
    await desk.says(["project", "create", "docs"]);
    await desk.says(["add", "Of the shop"]);
    await desk.says(["add", "Of the docs", "--project", "docs"]);
    await desk.says(["sync", "docs.json", "--once", "--project", "docs"]);
    expect(contentOf(join(desk.directory, "docs.json")).tasks).toMatchObject([{ title: "Of the docs" }]);
  });
});

describe("the built program", () => {
  test("it watches until it is told to end, and writes what there is before it goes", async () => {
    const directory = tempDir();
    const db = databaseIn(directory);
    const file = join(directory, "tasks.json");
    const program = new Program(["sync", file, "--db", db], { cwd: directory });
    await eventually(() => existsSync(file) || program.stderr).toBe(true);
    await run(["add", "One", "--db", db], { cwd: directory });
    await eventually(() => contentOf(file).tasks.length).toBe(1);
    edit(file, ({ tasks }) => Object.assign(tasks[0]!, { status: "done" }));
    await eventually(() => program.stdout).toContain("completed 0001");
    await run(["add", "Two", "--db", db], { cwd: directory });
    program.signal("SIGTERM");
    expect(await program.exited).toMatchObject({ code: 0 });
    expect(contentOf(file).tasks).toMatchObject([{ status: "done" }, { title: "Two" }]);
  });

  test("a server keeps a file in step, and says nothing of tasks in its log", async () => {
    const directory = tempDir();
    const file = join(directory, "tasks.json");
    const args = ["--sync", file, "--sync-dialect", "pascal", "--log-level", "debug"];
    const server = await new Serving(databaseIn(directory), { args, cwd: directory }).ready();
    await server.task({ id: "secret-id", title: "Secret title" });
    await eventually(() => existsSync(file) && contentOf(file).tasks[0]?.Title).toBe("Secret title");
    edit(file, ({ tasks }) => {
      Object.assign(tasks[0]!, { Status: "Completed", Result: "by hand" });
      tasks.push({ TaskId: "bad id", Title: "Bad" });
    });
    const state = async () => (await server.get("/api/tasks/secret-id")).body.task.state;
    await eventually(state).toBe("completed");
    await server.task({ id: "last", title: "Last" });
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(contentOf(file).tasks.map(({ TaskId }) => TaskId)).toEqual(["secret-id", "bad id", "last"]);
    expect(server.stderr).toContain('"msg":"refused"');
    expect(server.stderr).not.toMatch(/secret|Secret|bad id/);
    expect(existsSync(join(directory, ".tasks.json.dibs-sync"))).toBe(false);
  });

  test("a server whose file cannot be kept in step does not start", async () => {
    const directory = tempDir();
    const args = [
      "serve",
      "--db",
      databaseIn(directory),
      "--port",
      "0",
      "--sync",
      join(directory, "no", "tasks.json"),
    ];
    const { code, stderr } = await run(args, { cwd: directory });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/Directory .* not found/)]);
  });
});
