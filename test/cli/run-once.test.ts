// `dibs run`: one command for one prompt or one task, and one at a time under a lock (S4).

import { describe, expect, test } from "vitest";
import { ways } from "./desk.js";
import { gone, type Place, placeWithStore, type Running, sh, until, waitFor } from "./run-place.js";

const run = (place: Place, flags: string[], script: string, input?: string) =>
  place.dibs(["run", ...flags, "--", ...sh(script)], input === undefined ? {} : { input });

/** A run that has the lock, until it finds a note `go`. */
async function busy(place: Place): Promise<{ running: Running; pid: number }> {
  const script = `echo $$ > "$NOTES/pid"; ${waitFor("go")}; echo first`;
  const running = place.begin(["run", "--lock", "agent", "--prompt", "long", "--", ...sh(script)]);
  return { running, pid: Number(await place.noted("pid")) };
}

describe.each(ways)("%s", (way) => {
  test("a prompt, standard input, or a task that exists", async () => {
    const place = await placeWithStore(way);
    const given = await run(
      place,
      ["--bare-prompt", "--prompt", "as a flag", "--title", "Named", "--json"],
      "cat",
    );
    expect(given.code).toBe(0);
    expect(JSON.parse(given.out)).toMatchObject({ taskId: "0001", outcome: "completed", exitCode: 0 });
    expect(await place.task("0001")).toMatchObject({
      title: "Named",
      state: "completed",
      result: { output: "as a flag" },
    });
    expect((await run(place, [], "cat", "on stdin\n")).out).toBe("0002 completed\n");
    expect((await place.task("0002")).prompt.trimEnd()).toBe("on stdin");
    await place.add({ title: "There", prompt: "already" });
    expect(await run(place, ["--task", "0003", "--bare-prompt"], "cat")).toMatchObject({
      code: 0,
      out: "0003 completed\n",
    });
    expect((await place.task("0003")).result.output).toBe("already");
  });

  test("exit codes: a failure 1, a finished task 1, no such task 3, said wrongly 2", async () => {
    const place = await placeWithStore(way);
    const failed = await run(place, ["--prompt", "x"], "exit 9");
    expect([failed.code, failed.out]).toEqual([1, "0001 failed: exited with code 9\n"]);
    // Tried once: whoever runs it by hand sees how it went.
    expect((await place.task("0001")).state).toBe("failed");
    expect((await run(place, ["--task", "0001"], "true")).code).toBe(1);
    expect((await run(place, ["--task", "0099"], "true")).code).toBe(3);
    expect((await run(place, ["--task", "0001", "--prompt", "x"], "true")).code).toBe(2);
    expect((await run(place, [], "true", " \n")).code).toBe(2);
    expect((await run(place, ["--prompt", "x", "--on-conflict", "wait"], "true")).code).toBe(2);
    expect((await place.dibs(["run", "--prompt", "x", "--", "./no-such-program"])).code).toBe(2);
  });

  test("a busy lock: fork by default, exit, queue; and free afterwards", async () => {
    const place = await placeWithStore(way);
    const { running } = await busy(place);
    const lock = ["--lock", "agent"];
    expect((await place.json(["lock", "status", "agent"])).lock).toMatchObject({ pid: running.pid });

    const refused = await run(place, [...lock, "--on-conflict", "exit", "--prompt", "no"], "true");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("SESSION_BUSY");

    const queued = await run(place, [...lock, "--on-conflict", "queue", "--prompt", "later"], "touch ran-it");
    expect(queued).toEqual({ code: 0, out: "Queued: 0002\n", err: "" });
    expect(await place.task("0002")).toMatchObject({ state: "queued", prompt: "later", assignee: null });
    const known = await run(
      place,
      [...lock, "--on-conflict", "queue", "--task", "0002", "--json"],
      "touch ran-it",
    );
    expect(JSON.parse(known.out)).toEqual({ success: true, queued: true, taskId: "0002" });
    expect(place.git("status", "--porcelain")).not.toContain("ran-it");

    for (const more of [[], ["--on-conflict", "fork"]]) {
      const forked = await run(
        place,
        [...lock, ...more, "--prompt", "beside", "--json"],
        "echo $DIBS_SESSION",
      );
      expect(forked.code).toBe(0);
      const { sessionId, taskId } = JSON.parse(forked.out);
      expect(sessionId).toMatch(/^agent_fork_\d+_\d{10}$/);
      expect((await place.task(taskId)).result.output).toBe(sessionId);
    }
    const { locks } = await place.json(["lock", "list"]);
    expect(locks.filter(({ name }: { name: string }) => name.startsWith("agent"))).toHaveLength(1);

    place.leave("go");
    expect(await running.ended).toMatchObject({ code: 0, out: "0001 completed\n" });
    expect(await place.says(["lock", "status", "agent"])).toBe("agent is free\n");
    const free = await run(place, [...lock, "--on-conflict", "queue", "--prompt", "now"], "echo ran");
    expect(free).toMatchObject({ code: 0, out: expect.stringMatching(/^\w+ completed\n$/) });
  });

  test("a lock is free when its runner was killed, and the command is gone", async () => {
    const place = await placeWithStore(way);
    const { running, pid } = await busy(place);
    await running.kill();
    const next = await run(
      place,
      ["--lock", "agent", "--on-conflict", "exit", "--prompt", "next"],
      "echo next",
    );
    expect(next.code).toBe(0);
    await gone(pid);
    // What it was at is handed out again.
    await until("it is", async () => (await place.dibs(["work", "--once", "-q", "--", "true"])).code === 0);
    expect((await place.task("0001")).state).toBe("completed");
  });

  test("told to stop twice it gives the task back and frees the lock", async () => {
    const place = await placeWithStore(way);
    const { running, pid } = await busy(place);
    await running.signalTwice("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 1, out: "0001 released: stopped\n" });
    await gone(pid);
    expect(await place.task("0001")).toMatchObject({ state: "queued", assignee: null, lostCount: 0 });
    expect(await place.says(["lock", "status", "agent"])).toBe("agent is free\n");
  });
});

test("the command's name is the lock where nothing else is named", async () => {
  const place = await placeWithStore();
  const { out } = await run(place, ["--prompt", "x", "--on-conflict", "exit", "--json"], "sleep 0");
  expect(JSON.parse(out)).toMatchObject({ outcome: "completed" });
  await place.says(["lock", "acquire", "sh", "--session", "another"]);
  expect((await run(place, ["--prompt", "x", "--on-conflict", "exit"], "true")).code).toBe(1);
});

test("an agent's kind is the lock where none is named", async () => {
  const place = await placeWithStore();
  place.program("claude", `echo $$ > "$NOTES/pid"; ${waitFor("go")}`);
  const running = place.begin(["run", "--agent", "claude", "--on-conflict", "exit", "--prompt", "x"]);
  await place.noted("pid");
  expect(
    (await place.dibs(["run", "--agent", "claude", "--on-conflict", "exit", "--prompt", "y"])).code,
  ).toBe(1);
  place.leave("go");
  expect((await running.ended).code).toBe(0);
});
