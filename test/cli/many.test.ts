// One command for many tasks: several ids act at once, a filter is previewed first.

import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { type Called, type Desk, openDesk, ways } from "./desk.js";

const as = { env: { DIBS_SESSION: "agent-1" } };

/** 0001 is completed, 0002 failed, 0003 claimed, 0004 and 0005 are ready. */
async function five(desk: Desk): Promise<void> {
  const plan = ["One", "Two", "Three", "Four", "Five"].map((title) => `- [ ] ${title}\n`).join("");
  await desk.says(["plan", "-", "--yes"], { input: plan });
  for (const id of ["0001", "0002", "0003"]) await desk.says(["claim", id], as);
  await desk.says(["done", "0001", "well"], as);
  await desk.says(["fail", "0002", "no", "--no-retry"], as);
  await desk.says(["edit", "0003", "0004", "--label", "ui"]);
}

async function states(desk: Desk): Promise<Record<string, string>> {
  const { tasks } = await desk.json(["list"]);
  return Object.fromEntries(tasks.map(({ id, state }: { id: string; state: string }) => [id, state]));
}

const judge = operations.find(({ name }) => name === "tasks.bulk")!.output;

function bulkAnswer({ out }: Called) {
  const body = JSON.parse(out);
  expect(judge.safeParse(body).error?.issues ?? []).toEqual([]);
  return body;
}

describe.each(ways)("many tasks, %s", (way) => {
  test("several ids are cancelled at once, and a refusal names its task without holding up the others", async () => {
    const desk = await openDesk(way);
    await five(desk);
    const { code, out, err } = await desk.dibs(["cancel", "0004", "0001", "0005"]);
    expect(out).toBe("cancelled 2 tasks: 0004, 0005\n");
    expect(err).toMatch(
      /^1 task was refused:\n {2}0001 {2}Task 0001 is already completed.*TASK_NOT_CANCELLABLE\)\n$/,
    );
    expect(code).toBe(1);
    expect(await states(desk)).toMatchObject({
      "0001": "completed",
      "0004": "cancelled",
      "0005": "cancelled",
    });
  });

  test("an id that does not exist is exit code 3, and the others are done", async () => {
    const desk = await openDesk(way);
    await five(desk);
    const called = await desk.dibs(["retry", "0002", "0001", "0099", "--json"]);
    expect(called.code).toBe(3);
    const { refused, ...counts } = bulkAnswer(called);
    expect(counts).toMatchObject({ action: "retry", matched: 3, done: 1, refusedCount: 2, dryRun: false });
    expect(refused.map(({ taskId, error }: { taskId: string; error: string }) => [taskId, error])).toEqual([
      ["0001", "TASK_NOT_RETRYABLE"],
      ["0099", "TASK_NOT_FOUND"],
    ]);
    expect(await states(desk)).toMatchObject({ "0002": "queued" });
  });

  test("a filter only shows what would happen, and the command that does it", async () => {
    const desk = await openDesk(way);
    await five(desk);
    const { code, out } = await desk.dibs(["cancel", "--filter=-label:ui", "--reason", "it's old"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^Would cancel 1 task\.\n/);
    expect(out).toMatch(/0005 {2}Five/);
    expect(out).toContain("2 more match, but cannot be cancelled: 1 completed, 1 failed.\n");
    const command = `dibs cancel --filter=-label:ui --reason 'it'\\''s old' --yes`;
    expect(out).toContain(`Nothing was changed. Run: ${command}\n`);
    expect(await states(desk)).toMatchObject({ "0005": "queued" });
    const done = await desk.dibs(["cancel", "--filter=-label:ui", "--reason", "it's old", "--yes"]);
    expect(done).toEqual({ code: 0, out: "cancelled 1 task: 0005\n", err: "" });
    expect(await states(desk)).toMatchObject({ "0003": "claimed", "0004": "queued", "0005": "cancelled" });
  });

  test("a preview says what would be refused and why", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "Whole"]);
    for (const part of ["Part", "Other"]) await desk.says(["add", part, "--parent", "0001"]);
    await desk.says(["cancel", "0001_t1", "0001_t2"]);
    await desk.says(["claim", "0001"], as);
    await desk.says(["done", "0001"], as);
    const called = await desk.dibs(["retry", "--filter", "is:cancelled"]);
    expect(called.out).toMatch(
      /^Would retry 0 tasks; 2 would be refused:\n {2}0001_t1 {2}Task 0001_t1 belongs to/,
    );
    const answer = bulkAnswer(await desk.dibs(["retry", "--filter", "is:cancelled", "--json"]));
    expect(answer).toMatchObject({ dryRun: true, matched: 2, done: 0, refusedCount: 2 });
  });

  test("a filter that finds nothing to do is exit code 5", async () => {
    const desk = await openDesk(way);
    await five(desk);
    const { code, out } = await desk.dibs(["retry", "--filter", "label:ui", "--yes"]);
    expect(out).toBe("No task to retry matches. 2 more match, but cannot be retried: 1 claimed, 1 queued.\n");
    expect(code).toBe(5);
  });

  test("several tasks are edited at once, by id and by filter", async () => {
    const desk = await openDesk(way);
    await five(desk);
    expect(await desk.says(["edit", "0004", "0005", "-p", "high"])).toBe("edited 2 tasks: 0004, 0005\n");
    await desk.says(["edit", "--filter", "is:ready priority:high", "--add-label", "soon", "--yes"]);
    const { tasks } = await desk.json(["list", "--label", "soon"]);
    expect(tasks.map(({ id }: { id: string }) => id)).toEqual(["0004", "0005"]);
  });

  test("a failed task is edited before it is retried", async () => {
    const desk = await openDesk(way);
    await five(desk);
    expect(await desk.says(["edit", "0002", "--prompt", "Two, but with care", "-p", "high"])).toMatch(
      /state +failed[\s\S]*Two, but with care/,
    );
    await desk.says(["retry", "0002"]);
    expect(await desk.says(["claim", "0002"], as)).toContain("Two, but with care");
    const { code, err } = await desk.dibs(["edit", "0001", "--prompt", "late"]);
    expect(err).toContain("Task 0001 is completed and cannot be edited. (INVALID_STATE)");
    expect(code).toBe(1);
  });

  test("a holder gives back several of its own; others' are taken by force only", async () => {
    const desk = await openDesk(way);
    await five(desk);
    await desk.says(["claim", "0004", "--session", "agent-2"]);
    const own = await desk.dibs(["release", "0003", "0004", "time to go"], as);
    expect(own.out).toBe("released 1 task: 0003\n");
    expect(own.err).toMatch(/0004 .*NOT_CLAIM_OWNER/);
    expect(own.code).toBe(1);
    const events = await desk.json(["events", "0003"]);
    expect(events.events.at(-1)).toMatchObject({ type: "task:released", data: { reason: "time to go" } });
    const unforced = await desk.dibs(["release", "--filter", "agent:agent-2"], as);
    expect(unforced.code).toBe(2);
    expect(unforced.err).toContain("Run: dibs release --filter agent:agent-2 --force");
    expect(await desk.says(["release", "--filter", "agent:agent-2", "--force", "--yes"])).toBe(
      "released 1 task: 0004\n",
    );
  });

  test("ids of one's own are told from the reason: they name tasks, or stand before --", async () => {
    const desk = await openDesk(way);
    for (const id of ["docs", "tests"]) {
      await desk.says(["add", id, "--id", id]);
      await desk.says(["claim", id], as);
    }
    expect(await desk.says(["release", "docs", "tests", "hangs", "--force"])).toBe(
      "released 2 tasks: docs, tests\n",
    );
    for (const id of ["docs", "tests"]) await desk.says(["claim", id, "--session", "agent-2"]);
    expect(await desk.says(["release", "docs", "--force", "--", "tests", "hang"])).toBe("released docs\n");
  });

  test("words of a prompt are searched as in the dashboard", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "Repair the pump\nIt stands in the cellar", "--title", "Pump"]);
    expect(await desk.says(["cancel", "--filter", "cellar", "--yes"])).toBe("cancelled 1 task: 0001\n");
  });

  test("more than a call takes is done in several", async () => {
    const desk = await openDesk(way);
    const plan = Array.from({ length: 1_205 }, (_, at) => `- [ ] Number ${at + 1}\n`).join("");
    await desk.says(["plan", "-", "--yes"], { input: plan });
    const preview = await desk.says(["cancel", "--filter", "is:ready"]);
    expect(preview).toMatch(/^Would cancel 1205 tasks\.\n/);
    expect(preview).toContain("… and 1195 more\n");
    expect(await desk.says(["cancel", "--filter", "is:ready", "--yes"])).toBe("cancelled 1205 tasks\n");
  });
});

test.each([
  [["cancel"], /Missing <id>/],
  [["cancel", "0001", "--filter", "is:open"], /Ids and --filter/],
  [["cancel", "0001", "--yes"], /--yes needs --filter/],
  [["cancel", "--filter", " "], /--filter is empty/],
  [["cancel", "--filter", "is:nonsense"], /is:nonsense is not known/],
  [["edit", "--filter", "is:open", "--yes"], /No changes given/],
])("dibs %j is a usage error", async (argv, says) => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  const { code, err } = await desk.dibs(argv);
  expect(err).toMatch(says);
  expect(code).toBe(2);
});
