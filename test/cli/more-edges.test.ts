// More edges: what stands beside a project, text that looks like a flag, sessions whose process is gone, ids that were reserved.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { hostId, processStart } from "../../src/runtime/liveness.js";
import { type Desk, deskWithStore, openDesk, ways } from "./desk.js";

test("events are the newest of this project, however busy another one was since", async () => {
  const desk = await deskWithStore();
  await desk.says(["project", "create", "other"]);
  for (const name of ["One", "Two", "Three"]) await desk.says(["add", name]);
  const input = JSON.stringify({ tasks: Array.from({ length: 700 }, (_, at) => ({ title: `Busy ${at}` })) });
  await desk.says(["plan", "-", "--yes", "--project", "other"], { input });
  const titles = async (...more: string[]) =>
    (await desk.json(["events", ...more])).events.map(({ data }: { data: { title: string } }) => data.title);
  expect(await titles("--type", "task:created")).toEqual(["One", "Two", "Three"]);
  expect(await titles("--type", "task:created", "--limit", "2")).toEqual(["Two", "Three"]);
  expect((await titles("--project", "other", "--type", "task:created", "--limit", "600"))[0]).toBe(
    "Busy 100",
  );
  const busy = await desk.says(["events", "--project", "other", "--limit", "2"]);
  expect(busy).toContain("Busy 699");
  expect(busy).not.toContain("more:");
  expect(await desk.says(["events"])).toContain("Three");
});

test("events name where to go on only if there is more", async () => {
  const desk = await openDesk();
  for (const name of ["One", "Two"]) await desk.says(["add", name]);
  const { events } = await desk.json(["events"]);
  const limit = (count: number) => ["events", "--after", "0", "--limit", String(count)];
  expect(await desk.says(limit(events.length - 1))).toContain(`more: --after ${events.at(-2).seq}`);
  expect(await desk.says(limit(events.length))).not.toContain("more:");
  expect((await desk.dibs(["events", "--limit", "0"])).code).toBe(2);
});

test.each(ways)(
  "--project '*' means --all where there is a list, and is refused elsewhere, %s",
  async (way) => {
    const desk = await deskWithStore(way);
    await desk.says(["project", "create", "other"]);
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two", "--project", "other"]);
    for (const list of ["list", "events", "sessions", "inbox", "stats"]) {
      expect(await desk.says([list, "--project", "*"]), list).toBe(await desk.says([list, "--all"]));
    }
    for (const argv of [["add", "Three"], ["graph"], ["show", "0001"]]) {
      const { code, err } = await desk.dibs([...argv, "--project", "*"]);
      expect(code, argv.join(" ")).toBe(2);
      expect(err).toContain("works in one project");
      expect(err).toContain("--all");
    }
  },
);

test("what is in flight has pages", async () => {
  const desk = await openDesk();
  for (const name of ["One", "Two", "Three"]) {
    await desk.says(["add", name]);
    await desk.says(["claim", "--session", name]);
  }
  const first = await desk.says(["in-flight", "--limit", "2"]);
  expect(first).toContain("Two");
  expect(first).not.toContain("Three");
  const [, cursor = ""] = /more: --cursor (\S+)/.exec(first)!;
  const rest = await desk.says(["in-flight", "--limit", "2", "--cursor", cursor]);
  expect(rest).toContain("Three");
  expect(rest).not.toMatch(/Two|more:/);
});

/** An idle session whose process was killed. */
async function deadSession(desk: Desk, id: string): Promise<void> {
  const agent = spawn("sleep", ["60"], { stdio: "ignore" });
  const process = { pid: agent.pid!, host: hostId, processStartedAt: processStart(agent.pid!)! };
  const dibs = await openDibs({ path: desk.database, clock: desk.clock, detached: true });
  await dibs.sessions.register({ id, ...process });
  await dibs.close();
  const gone = once(agent, "exit");
  agent.kill("SIGKILL");
  await gone;
}

test.each(ways)("whoever looks notices that an idle session's process is gone, %s", async (way) => {
  const looks = [
    async (desk: Desk) => expect((await desk.json(["sessions"])).sessions).toEqual([]),
    async (desk: Desk) => expect((await desk.json(["stats"])).agents).toMatchObject({ idle: 0 }),
    async (desk: Desk) => expect(await desk.says(["explain", "0001"])).toContain("No session is running"),
  ];
  for (const look of looks) {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await deadSession(desk, "agent-1");
    await look(desk);
  }
});

test("the doctor names idle sessions whose process is gone and ends them", async () => {
  // A server would have ended them by itself in a moment.
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  await deadSession(desk, "agent-1");
  for (let look = 0; look < 2; look++) {
    expect(await desk.says(["doctor"])).toMatch(/warn +sessions +no process runs for agent-1\n/);
  }
  expect(await desk.says(["doctor", "--fix"])).toMatch(
    /fixed +sessions +ended sessions of dead processes: agent-1\n/,
  );
  expect(await desk.says(["doctor"])).toContain("All is well");
  expect((await desk.json(["sessions", "--ended"])).sessions[0]).toMatchObject({
    id: "agent-1",
    endedAt: expect.any(String),
  });
});

test.each(ways)("an id that next-id reserved can be used, and have parts, %s", async (way) => {
  const desk = await deskWithStore(way);
  const reserve = async (...words: string[]) => (await desk.says(["next-id", ...words])).trim();
  const whole = await reserve();
  expect(await reserve(whole)).toBe("0001_t1");
  expect(await reserve("0001_t1")).toBe("0001_t1.1");
  await desk.says(["add", "Whole", "--id", whole]);
  await desk.says(["add", "Part", "--id", "0001_t1", "--parent", whole]);
  expect(await desk.says(["add", "Next", "--parent", whole])).toContain("0001_t2");
  const { code, err } = await desk.dibs(["add", "Not mine", "--id", "0009"]);
  expect([code, err]).toEqual([2, expect.stringContaining("next-id")]);
  expect((await desk.dibs(["next-id", "0009"])).code).toBe(3);
});

const as = { env: { DIBS_SESSION: "agent-1" } };

test("after -- a dash is a text, before it standard input", async () => {
  const desk = await openDesk();
  const input = "from standard input";
  const promptOf = async (...argv: string[]) =>
    JSON.parse(await desk.says(["--json", ...argv], { input })).task.prompt;
  expect(await promptOf("add", "--", "-")).toBe("-");
  expect(await promptOf("leader", "add-task", "--", "-")).toBe("-");
  expect(await promptOf("add", "-")).toBe(input);
  expect(await promptOf("leader", "add-task", "-")).toBe(input);
  expect(await promptOf("add")).toBe(input);
  expect(await promptOf("edit", "0001", "--prompt", "-")).toBe(input);
  await desk.says(["claim", "0001", "--start"], as);
  await desk.says(["ask", "0001", "--", "-"], { ...as, input });
  expect((await desk.json(["show", "0001"])).task.question.text).toBe("-");
  await desk.says(["answer", "0001", "--", "-"], { input });
  expect((await desk.json(["show", "0001"])).task.response).toBe("-");
  await desk.says(["done", "0001", "--", "-"], { ...as, input });
  expect((await desk.json(["show", "0001"])).task.result.output).toBe("-");
});

test("flags without a command are looked at, too", async () => {
  const desk = await openDesk();
  const { code, err } = await desk.dibs(["--nosuch"]);
  expect([code, err]).toEqual([2, expect.stringContaining("dibs --help")]);
  expect((await desk.dibs(["--", "list"])).code).toBe(2);
  for (const argv of [[], ["--help"], ["-h"], ["--version"]]) expect((await desk.dibs(argv)).code).toBe(0);
});

test.each(["constructor", "toString", "__proto__"])(
  "%s is no command, no part of one and no shell",
  async (word) => {
    const desk = await openDesk();
    for (const argv of [[word], ["lock", word], ["completion", word]]) {
      const { code, err } = await desk.dibs(argv);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(new RegExp(`Unknown (command|shell) '.*${word}'`)),
      ]);
    }
    expect(await desk.says(["__complete", "--", "lock", word, ""])).toBe("");
  },
);

test("a time in milliseconds is the same time as over HTTP, not as many from now", async () => {
  const desk = await openDesk();
  const { task } = await desk.json(["add", "One", "--not-before", "1893456000000"]);
  expect(task.notBefore).toBe("2030-01-01T00:00:00.000Z");
});

test("a list of no state is a mistake, not a list of all", async () => {
  const desk = await deskWithStore();
  for (const argv of [
    ["list", "-s", ""],
    ["list", "--state", ","],
    ["leader", "list", "-s", ""],
  ]) {
    const { code, err } = await desk.dibs(argv);
    expect([code, err]).toEqual([2, expect.stringContaining("queued")]);
  }
});

test("a second id behind -d is refused, and does not become part of the prompt", async () => {
  const desk = await openDesk();
  for (const name of ["One", "Two"]) await desk.says(["add", name]);
  for (const argv of [
    ["add", "foo", "-d", "0001", "0002"],
    ["add", "-d", "0001", "0002", "foo"],
  ]) {
    const { code, err } = await desk.dibs(argv);
    expect([code, err]).toEqual([2, expect.stringContaining("0001,0002")]);
  }
  const { task } = await desk.json(["add", "-d", "0001", "-d", "0002", "foo", "bar"]);
  expect(task).toMatchObject({ prompt: "foo bar", dependsOn: ["0001", "0002"] });
  expect((await desk.json(["edit", "-d", "0002", "0003"])).task.dependsOn).toEqual(["0002"]);
});

test("a label is one word or several, commas and all, and comes and goes by itself", async () => {
  const desk = await openDesk();
  const { task } = await desk.json(["add", "One", "-l", "api, v2", "-l", "ui"]);
  expect(task.labels).toEqual(["api, v2", "ui"]);
  const labels = async (...flags: string[]) => (await desk.json(["edit", "0001", ...flags])).task.labels;
  expect(await labels("--add-label", "a,b", "--remove-label", "ui")).toEqual(["api, v2", "a,b"]);
  expect((await desk.json(["list", "-l", "api, v2"])).tasks).toHaveLength(1);
  expect((await desk.json(["claim", "--session", "a", "-l", "none", "-l", "a,b"])).task.id).toBe("0001");
  expect(await labels("--label", "")).toEqual([]);
});

test("events name who acted, not who held the task", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  await desk.says(["claim", "0001", "--start"], as);
  await desk.says(["release", "0001", "--force"]);
  const lines = (await desk.says(["events", "0001"])).split("\n");
  const lineOf = (type: string) => lines.find((line) => line.includes(` ${type} `));
  expect(lineOf("claimed")).toContain("agent-1");
  expect(lineOf("released")).toContain("user:ann");
  expect(lineOf("released")).not.toContain("agent-1");
});

test("a plan's notes are told with --yes, too", async () => {
  const desk = await openDesk();
  const input = "TASK: One\nPRIORITY: bogus\nDESCRIPTION: The first\n";
  for (const more of [[], ["--json"]]) {
    const { code, out, err } = await desk.dibs(["plan", "-", "--yes", ...more], { input });
    expect([code, err]).toEqual([0, expect.stringMatching(/^note: Line 2: priority "bogus" is not known/)]);
    if (more.length > 0) expect(JSON.parse(out).tasks).toHaveLength(1);
  }
});

test("a plan that names an id nobody has is refused before it is previewed, with the place", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  const plan = (id: string) => ({ input: `- [ ] Schema\n- [ ] Pages\n  - depends on: Schema, ${id}\n` });
  for (const id of ["0042", "id:nowhere", "0001_t9"]) {
    const { code, out, err } = await desk.dibs(["plan", "-"], plan(id));
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^-:3:25: There is no task "(0042|nowhere|0001_t9)"/);
  }
  expect(await desk.says(["plan", "-"], plan("0001"))).toContain("0001");
  const under = await desk.dibs(["plan", "-", "--parent", "0042"], plan("0001"));
  expect([under.code, under.out]).toEqual([3, ""]);
});

test("a planned task's description is shown once", async () => {
  const desk = await openDesk();
  const input = "TASK: One\nDESCRIPTION: Only said once\n";
  await desk.says(["plan", "-", "--yes"], { input });
  await desk.says(["add", "Two", "--description", "Said beside it"]);
  const times = (text: string, words: string) => text.split(words).length - 1;
  expect(times(await desk.says(["show", "0001"]), "Only said once")).toBe(1);
  expect(times(await desk.says(["claim", "0001"], as), "Only said once")).toBe(1);
  expect(await desk.says(["claim", "0002"], { env: { DIBS_SESSION: "agent-2" } })).toContain(
    "Said beside it",
  );
  expect(await desk.says(["show", "0002"])).toContain("Said beside it");
});

test.each(ways)("a session that has not come yet is told what it would find, %s", async (way) => {
  const desk = await openDesk(way);
  await desk.says(["add", "For anybody"]);
  await desk.says(["add", "For bob", "--assignee", "bob"]);
  await desk.says(["add", "For gpus", "--requires", "gpu"]);
  const readyFor = async (session: string) =>
    (await desk.json(["ready", "--session", session])).tasks.map(({ id }: { id: string }) => id);
  expect(await readyFor("ann")).toEqual(["0001"]);
  expect(await readyFor("bob")).toEqual(["0001", "0002"]);
  const { reasons } = await desk.json(["explain", "0002", "--session", "ann"]);
  expect(reasons).toMatchObject([{ code: "ASSIGNED_TO_OTHER" }]);
  expect((await desk.json(["sessions"])).sessions).toEqual([]);
});

test("what nobody here may take is told with the command that helps", async () => {
  const desk = await openDesk();
  const fixFor = async (...flags: string[]) => {
    const { task } = await desk.json(["add", "One", ...flags]);
    return (await desk.json(["explain", task.id])).reasons[0].fix;
  };
  expect(await fixFor()).toBe("dibs work -- <command>");
  expect(await fixFor("--assignee", "bob")).toBe("dibs work --session bob -- <command>");
  expect(await fixFor("--requires", "gpu", "--requires", "big disk")).toBe(
    "dibs work --capability gpu --capability 'big disk' -- <command>",
  );
  expect(await fixFor("--agent-type", "claude")).toBe("dibs work --agent-type claude -- <command>");
});

test.each([
  ["claim", ["claim", "--session", "agent-1"]],
  ["worker claim", ["worker", "claim", "agent-1"]],
])("%s --capability takes what requires it, and the session keeps it", async (_, argv) => {
  const desk = await openDesk();
  const { task } = await desk.json(["add", "One", "--requires", "gpu", "--requires", "red, green"]);
  // As with labels, a comma is a part of it.
  expect(task.requires).toEqual(["gpu", "red, green"]);
  expect((await desk.dibs(argv)).code).toBe(5);
  const able = [...argv, "--capability", "gpu", "--capability", "red, green"];
  expect(await desk.says(able)).toContain("0001");
  expect((await desk.json(["sessions"])).sessions[0].capabilities).toEqual(["gpu", "red, green"]);
});
