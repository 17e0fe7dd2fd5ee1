// Completing, failing, releasing or reporting progress without the claim: each refusal says what happened to the task and what to run.

import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { type Desk, openDesk, ways } from "./desk.js";

const as = (session: string) => ["--session", session];

/** What people read, without the code: the sentence and the command. */
async function refused(desk: Desk, argv: string[], code = 1): Promise<string[]> {
  const ended = await desk.dibs(argv);
  expect(ended.code, ended.out + ended.err).toBe(code);
  const problem = await desk.json(argv);
  const lines = ended.err.trimEnd().split("\n");
  expect(lines).toEqual([`dibs: ${problem.message} (${problem.error})`, problem.hint]);
  return [problem.message, problem.hint];
}

async function claimed(desk: Desk, ...flags: string[]): Promise<void> {
  await desk.says(["add", "One", ...flags]);
  await desk.says(["claim", "0001", "--start", ...as("a1")]);
}

describe.each(ways)("%s", (way) => {
  test("after a failure: wait for the retry and claim it again, or retry what failed for good", async () => {
    const desk = await openDesk(way);
    await claimed(desk);
    await desk.says(["fail", "0001", "broken", ...as("a1")]);
    for (const line of [
      ["done", "0001"],
      ["progress", "0001", "x"],
      ["release", "0001"],
    ]) {
      expect(await refused(desk, [...line, ...as("a1")])).toEqual([
        "Session a1 reported task 0001 as failed; it is waiting for a retry.",
        "Run: dibs claim 0001 --session a1 --wait 5m",
      ]);
    }
    desk.clock.advance(60_000);
    await desk.says(["claim", "0001", "--start", ...as("a1")]);
    await desk.says(["fail", "0001", "broken", "--no-retry", ...as("a1")]);
    expect(await refused(desk, ["done", "0001", ...as("a1")])).toEqual([
      "Task 0001 failed and is not claimed.",
      "Run: dibs retry 0001",
    ]);
  });

  test("on a group: it completes by itself", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "Whole", "--group"]);
    await desk.says(["add", "Part", "--parent", "0001"]);
    await desk.says(["claim", "0001_t1", ...as("a1")]);
    expect(await refused(desk, ["done", "0001", ...as("a1")])).toEqual([
      "Task 0001 is a group: it completes by itself when its subtasks are completed.",
      "Run: dibs list --parent 0001",
    ]);
  });

  test("while its question is open", async () => {
    const desk = await openDesk(way);
    await claimed(desk);
    await desk.says(["ask", "0001", "Teal or orange?", ...as("a1")]);
    const sentences: [string[], string][] = [
      [["done", "0001"], "it can't be completed yet"],
      [["progress", "0001", "half"], "it takes no progress yet"],
      [["heartbeat", "0001"], "its lease is paused and can't be renewed"],
      [["ask", "0001", "And now?"], "it can't ask another question yet"],
    ];
    for (const [line, cannot] of sentences) {
      expect(await refused(desk, [...line, ...as("a1")])).toEqual([
        `Task 0001 is waiting for an answer, so ${cannot}.`,
        "Run: dibs inbox",
      ]);
    }
  });

  test("by another session, after a release, and after it was completed", async () => {
    const desk = await openDesk(way);
    await claimed(desk);
    await desk.says(["add", "Two"]);
    await desk.says(["claim", "0002", ...as("b1")]);
    for (const line of [
      ["done", "0001"],
      ["fail", "0001", "x"],
      ["release", "0001"],
      ["progress", "0001", "x"],
    ]) {
      const [message, hint] = await refused(desk, [...line, ...as("b1")], 4);
      expect(message).toBe("Task 0001 is claimed by session a1, not by b1.");
      expect(hint).toBe("Stop working on it. For another task, run: dibs claim --session b1");
    }
    await desk.says(["release", "0001", ...as("a1")]);
    expect(await refused(desk, ["done", "0001", ...as("a1")])).toEqual([
      "Session a1 released task 0001.",
      "Run: dibs claim 0001 --session a1",
    ]);
    expect(await refused(desk, ["done", "0001", ...as("b1")])).toEqual([
      "Task 0001 is not claimed.",
      "Run: dibs claim 0001 --session b1",
    ]);
    await desk.says(["done", "0002", ...as("b1")]);
    expect(await refused(desk, ["fail", "0002", "x", ...as("b1")])).toEqual([
      "Task 0002 is already completed.",
      "Run: dibs show 0002",
    ]);
  });

  test("with open subtasks, after its timeout, and after it was cancelled", async () => {
    const desk = await openDesk(way);
    await claimed(desk, "--timeout", "10m");
    await desk.says(["add", "Part", "--parent", "0001"]);
    expect(await refused(desk, ["done", "0001", ...as("a1")])).toEqual([
      "Task 0001 has 1 open subtask, so it can't be completed yet.",
      "Run: dibs list --parent 0001",
    ]);
    desk.clock.advance(11 * 60_000);
    expect((await refused(desk, ["done", "0001", ...as("a1")]))[0]).toBe(
      "The claim of session a1 on task 0001 timed out after 10m.",
    );
    await desk.says(["cancel", "0001"]);
    expect(await refused(desk, ["done", "0001", ...as("a1")])).toEqual([
      "Task 0001 was cancelled.",
      "Stop working on it. To queue it again, run: dibs retry 0001",
    ]);
  });
});

test("explain, sessions and doctor say that an agent type is held back, and what to run", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  await desk.says(["project", "set", "retry.delayMs", "600000"]);
  const dibs = await openDibs({ path: desk.database, clock: desk.clock });
  try {
    for (let n = 0; n < 5; n++) await dibs.tasks.create({ prompt: "do it" });
    await dibs.sessions.register({ id: "runner", agentType: "claude" });
    for (let n = 0; n < 5; n++) {
      const { claim } = await dibs.tasks.claimNext({ sessionId: "runner", start: true });
      const { taskId, epoch } = claim!;
      await dibs.tasks.fail({ taskId, sessionId: "runner", epoch, error: "no login", quick: true });
    }
    const answer = await dibs.tasks.claimNext({ sessionId: "runner", heedBreaker: true });
    expect(answer).toMatchObject({
      claim: null,
      why: {
        message: expect.stringContaining("1 ready, agent type held back after 5 quick failures in a row"),
      },
    });
  } finally {
    await dibs.close();
  }
  const ready = (await desk.json(["ready"])).tasks[0].id;
  expect((await desk.json(["explain", ready])).reasons).toContainEqual(
    expect.objectContaining({
      code: "AGENT_HELD_BACK",
      fix: "dibs work --once --agent-type claude -- <command>",
    }),
  );
  expect((await desk.json(["explain", ready, "--session", "runner"])).reasons).toHaveLength(1);
  const held = "Agent type claude is held back after 5 quick failures in a row; next attempt in 10m.";
  expect(await desk.says(["sessions"])).toContain(`${held} Run: dibs inbox\n`);
  expect(await desk.says(["sessions", "--ended"])).toContain(held);
  expect((await desk.json(["doctor"])).findings).toContainEqual(
    expect.objectContaining({ check: "agents", status: "warn", message: held }),
  );
});
