// What an agent and a script do with it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../eventually.js";
import { sendInput } from "../support.js";
import { type Calling, deskWithStore, openDesk, ways } from "./desk.js";

const as: Calling = { env: { DIBS_SESSION: "agent-1" } };

describe.each(ways)("%s", (way) => {
  test("inside a task nobody need name it", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    const inside: Calling = { env: { DIBS_SESSION: "agent-1", DIBS_TASK: "0001", DIBS_EPOCH: "1" } };
    await desk.says(["progress", "half way there"], inside);
    expect((await desk.json(["show"], inside)).task.claim.progress.note).toBe("half way there");
    await desk.says(["heartbeat"], inside);
    await desk.says(["done", "It is built.", "-c", "a.ts", "b, c.ts"], inside);
    expect((await desk.json(["show", "0001"])).task.result).toEqual({
      output: "It is built.",
      filesCreated: ["a.ts", "b, c.ts"],
      filesModified: [],
    });
  });

  test("a single word that names or could name a task does, so that nobody ends the wrong one; else it is said", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two", "--id", "other"]);
    await desk.says(["claim", "0001", "--start"], as);
    const inside: Calling = { env: { DIBS_SESSION: "agent-1", DIBS_TASK: "0001" } };
    for (const word of ["other-task", "0002", "ABCD", "0001_t1"]) {
      const { code, err } = await desk.dibs(["done", word], inside);
      expect(code, word).toBe(3);
      expect(err).toContain(`0001 ${word}`);
    }
    expect((await desk.dibs(["done", "other"], inside)).code).toBe(1);
    expect((await desk.json(["show", "0001"])).task.state).toBe("running");
    await desk.says(["progress", "halfway"], inside);
    expect((await desk.json(["show"], inside)).task.claim.progress.note).toBe("halfway");
    await desk.says(["done", "Finished"], inside);
    expect((await desk.json(["show", "0001"])).task.result.output).toBe("Finished");
  });

  test("whoever works on a task works on its parts as well: the environment's epoch is of its own task", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    for (const _ of [1, 2]) {
      await desk.says(["claim", "0001", "--start"], as);
      await desk.says(["release", "0001"], as);
    }
    await desk.says(["claim", "0001", "--start"], as);
    const inside: Calling = { env: { DIBS_SESSION: "agent-1", DIBS_TASK: "0001", DIBS_EPOCH: "3" } };
    await desk.says(["add", "Part", "--parent", "0001"], inside);
    await desk.says(["claim", "0001_t1", "--start"], inside);
    await desk.says(["show", "0001_t1", "--log"], inside);
    expect((await desk.dibs(["done", "0001_t1", "ok", "--epoch", "3"], inside)).code).toBe(1);
    await desk.says(["done", "0001_t1", "ok"], inside);
    const late: Calling = { env: { ...inside.env, DIBS_EPOCH: "2" } };
    expect((await desk.dibs(["done", "0001", "ok"], late)).code).toBe(1);
    await desk.says(["done", "0001", "ok"], inside);
  });

  test("ask --wait prints the answer", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    const inside: Calling = { env: { DIBS_SESSION: "agent-1", DIBS_TASK: "0001" } };
    const asked = desk.says(["ask", "--wait", "Teal?", "--option", "yes, teal"], inside);
    await eventually(async () => (await desk.json(["inbox"])).questions.length).toBe(1);
    await desk.says(["answer", "0001", "yes, teal"]);
    expect(await asked).toBe("yes, teal\n");
  });

  test("ask --wait hears an answer that came before anybody could listen", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    let open = () => {};
    const answered = new Promise<void>((resolve) => {
      open = resolve;
    });
    desk.holdUp = async (address) => address.includes("/events/stream") && (await answered);
    const asked = desk.says(["ask", "0001", "--wait", "Teal?"], as);
    await eventually(async () => (await desk.json(["inbox"])).questions.length).toBe(1);
    await desk.says(["answer", "0001", "teal"]);
    open();
    expect(await asked).toBe("teal\n");
  });

  test("claim --wait takes what comes, and needs no time", async () => {
    const desk = await deskWithStore(way);
    const claimed = desk.json(["claim", "--start", "--wait"], as);
    await eventually(async () => (await desk.json(["sessions"])).sessions.length).toBe(1);
    await desk.says(["add", "One"]);
    expect((await claimed).task).toMatchObject({ id: "0001", state: "running" });
  });

  test("claim <id> --wait takes the task when it is free; or is refused when the time is over, or it never will be", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "0001"], as);
    const other: Calling = { env: { DIBS_SESSION: "agent-2" } };
    expect((await desk.dibs(["claim", "0001", "--wait", "10ms"], other)).code).toBe(1);
    const claimed = desk.json(["claim", "0001", "--start", "--wait"], other);
    // Meanwhile it is refused.
    for (const _ of [1, 2, 3]) await desk.says(["show", "0001"]);
    await desk.says(["release", "0001"], as);
    expect((await claimed).task).toMatchObject({ state: "running", claim: { sessionId: "agent-2" } });
    await desk.says(["done", "0001"], other);
    expect((await desk.dibs(["claim", "0001", "--wait", "1h"], as)).code).toBe(1);
  });

  test("an epoch that is old is refused", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "--start"], as);
    expect((await desk.dibs(["done", "0001", "--epoch", "7"], as)).code).toBe(1);
    expect((await desk.dibs(["done", "0001"], { env: { ...as.env, DIBS_EPOCH: "7" } })).code).toBe(1);
    await desk.says(["done", "0001", "--epoch", "1"], as);
  });

  test("retry, edit and cancel as people do", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One", "--assignee", "x", "--description", "more", "--timeout", "1h"]);
    const { task } = await desk.json([
      "edit",
      "0001",
      "--assignee",
      "",
      "--description",
      "",
      "--timeout",
      "",
    ]);
    expect([task.assignee, task.description, task.timeoutMs]).toEqual([null, null, null]);
    await desk.says(["cancel", "0001"]);
    await desk.says(["retry", "0001"]);
    expect((await desk.json(["show", "0001"])).task.state).toBe("queued");
  });

  test("other tools' words for states are understood", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    for (const word of ["available", "pending", "QUEUED", "created"]) {
      expect((await desk.json(["list", "--status", word])).tasks, word).toHaveLength(1);
    }
    expect((await desk.json(["list", "-s", "done,in_progress"])).tasks).toEqual([]);
  });

  test("S3's priorities are one to five, and words", async () => {
    const desk = await openDesk(way);
    const priorityOf = async (...more: string[]) =>
      (await desk.json(["leader", "add-task", "x", ...more])).task.priority;
    expect(await priorityOf()).toBe(20);
    expect(await priorityOf("-p", "1")).toBe(100);
    expect(await priorityOf("-p", "3")).toBe(60);
    expect(await priorityOf("-p", "high")).toBe(80);
    for (const wrong of ["0", "6", "100", "-1", "1.5", "urgent"]) {
      expect((await desk.dibs(["leader", "add-task", "x", `--priority=${wrong}`])).code, wrong).toBe(2);
    }
  });

  test("dibs add and edit refuse a priority of 1 to 5 and name both readings", async () => {
    const desk = await openDesk(way);
    const refused = await desk.dibs(["add", "x", "-p", "2"]);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(
      "--priority 2 is ambiguous: low 2 of 100, or high 80 on the scale from 1 to 5.",
    );
    expect(refused.err).toContain("Write --priority p2 for high 80, or --priority 02 for low 2.");
    expect((await desk.json(["add", "x", "-p", "p2"])).task.priority).toBe(80);
    expect((await desk.dibs(["edit", "0001", "-p", "5"])).code).toBe(2);
    expect((await desk.json(["edit", "0001", "-p", "05"])).task.priority).toBe(5);
    expect((await desk.json(["edit", "0001", "-p", "6"])).task.priority).toBe(6);
  });

  test("a lock is held for the life of a process, and no longer", async () => {
    const desk = await deskWithStore(way);
    const script = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void script.kill("SIGKILL"));
    const pid = String(script.pid);
    expect((await desk.json(["lock", "acquire", "deploy", "--pid", pid])).lock).toMatchObject({
      pid: script.pid,
      expiresAt: null,
    });
    expect((await desk.dibs(["lock", "acquire", "deploy"])).err).toContain(`held by process ${pid}`);
    expect(await desk.says(["lock", "list"])).toContain(`process ${pid}, until it ends`);
    const gone = once(script, "exit");
    script.kill("SIGKILL");
    await gone;
    expect(await desk.says(["lock", "status", "deploy"])).toBe("deploy is free\n");
    expect((await desk.json(["lock", "acquire", "deploy"])).lock.pid).toBe(process.pid);
  });

  test("under npx the process must be named", async () => {
    const desk = await deskWithStore(way);
    const { code, err } = await desk.dibs(["lock", "acquire", "x"], { env: { npm_command: "exec" } });
    expect(code).toBe(2);
    expect(err).toContain("--pid $$");
  });
});

describe("completion", () => {
  test.each(["bash", "zsh", "fish"])("there is a script for %s", async (shell) => {
    const desk = await openDesk();
    expect(await desk.says(["completion", shell])).toContain("dibs __complete --");
  });

  test("bash understands its script", async () => {
    const desk = await openDesk();
    const bash = spawn("bash", ["-n"], { stdio: ["pipe", "ignore", "pipe"] });
    sendInput(bash, await desk.says(["completion", "bash"]));
    expect((await once(bash, "exit"))[0]).toBe(0);
  });

  test("commands, parts, flags, choices, ids and files", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    await desk.says(["add", "Two"]);
    await desk.says(["claim", "0001", "--session", "agent-1"]);
    const offered = async (...words: string[]) =>
      (await desk.says(["__complete", "--", ...words])).split("\n").map((line) => line.split("\t")[0]);
    expect(await offered("")).toEqual(expect.arrayContaining(["add", "list", "lock"]));
    expect(await offered("")).not.toContain("__complete");
    expect(await offered("do")).toEqual(["done", "doctor", ""]);
    expect(await offered("lock", "")).toEqual(expect.arrayContaining(["acquire", "release"]));
    expect(await offered("list", "--st")).toEqual(["--status", "--state", ""]);
    expect(await offered("token", "create", "--role", "")).toEqual([
      "viewer",
      "worker",
      "leader",
      "admin",
      "",
    ]);
    expect(await offered("show", "")).toEqual(["0001", "0002", ""]);
    expect(await offered("start", "")).toEqual(["0001", ""]);
    expect(await offered("claim", "--session", "")).toEqual(["agent-1", ""]);
    expect(await offered("add", "-d", "")).toEqual(["0001", "0002", ""]);
    expect(await offered("plan", "")).toEqual([":files", ""]);
    expect(await offered("completion", "z")).toEqual(["zsh", ""]);
    expect(await offered("nonsense", "")).toEqual([""]);
    expect(await offered("add", "--", "-")).toEqual([""]);
  });

  test("it makes no store", async () => {
    const desk = await openDesk();
    expect(await desk.says(["__complete", "--", "show", ""])).toBe("");
    expect(() => desk.read(".dibs/.gitignore")).toThrow();
  });
});

describe("the graph", () => {
  test("is readable for thirty tasks and cut for more", async () => {
    const desk = await openDesk();
    const tasks = Array.from({ length: 30 }, (_, at) => ({
      key: `k${at}`,
      title: `Task ${at}`,
      dependsOn: [at - 1, at - 7].filter((each) => each >= 0).map((each) => `k${each}`),
    }));
    await desk.says(["plan", "-", "--yes"], { input: JSON.stringify({ tasks }) });
    const lines = (await desk.says(["graph"])).trimEnd().split("\n");
    expect(lines).toHaveLength(31);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    const short = await desk.says(["graph", "--max", "10"]);
    expect(short).toContain("… and 20 more");
    expect((await desk.json(["graph", "0003"])).nodes.length).toBeGreaterThan(3);
  });
});
