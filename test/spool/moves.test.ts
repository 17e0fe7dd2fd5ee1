import { describe, expect, test } from "vitest";
import { openRig, Sleeper } from "./support.js";

describe("what this spool holds lies in to_execute", () => {
  test("a task is claimed, written down and laid out under its id", async () => {
    const rig = await openRig();
    await rig.add("Fix the build\n\nIt is broken since Monday.");
    const spool = await rig.proxy();
    await spool.look();
    expect(rig.read("to_execute/0001/0001.md")).toBe("Fix the build\n\nIt is broken since Monday.\n");
    const { state, claim } = await rig.task("0001");
    expect(state).toBe("claimed");
    expect(claim).toMatchObject({ epoch: 1, agentType: "claude" });
    expect(rig.happenings).toMatchObject([{ type: "placed", taskId: "0001", epoch: 1 }]);
  });
});

describe("what workers do with files", () => {
  test("a move with a process id starts a task; a move to completed completes it", async () => {
    const rig = await openRig();
    await rig.add("one");
    const spool = await rig.proxy();
    await spool.look();
    const taken = rig.take("0001");
    await spool.look();
    expect((await rig.task("0001")).state).toBe("running");
    rig.write("completed/0001/result.md", "all green");
    rig.mv(taken, "completed/0001/0001.md");
    await spool.look();
    expect(await rig.task("0001")).toMatchObject({ state: "completed", result: { output: "all green" } });
    expect(rig.ls("completed/0001")).toEqual([".dibs.json", "0001.md", "result.md"]);
    expect(rig.ls("in_progress")).toEqual([]);
    expect(rig.ls("to_execute")).toEqual([]);
  });

  test("a dead process sends its task to stale, and back into the queue", async () => {
    const rig = await openRig();
    await rig.add("one");
    const spool = await rig.proxy();
    await spool.look();
    const worker = new Sleeper();
    rig.take("0001", worker.pid);
    await spool.look();
    expect((await rig.task("0001")).state).toBe("running");
    await worker.kill();
    await spool.look();
    expect(rig.ls("stale/0001")).toEqual([".dibs.json", `0001.${worker.pid}.md`]);
    const task = await rig.task("0001");
    expect(task).toMatchObject({ lostCount: 1 });
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
    expect(task.claim).toMatchObject({ epoch: 2 });
  });
});
