// A task that timed out says so wherever people look.

import { expect, test } from "vitest";
import { openDesk } from "./desk.js";

test("list, show, explain, events and the inbox say that an attempt timed out, and after how long", async () => {
  const desk = await openDesk();
  await desk.says(["add", "Slow", "--timeout", "10m", "--max-retries", "0"]);
  await desk.says(["claim", "0001", "--start", "--session", "a1"]);
  desk.clock.advance(11 * 60_000);
  for (const argv of [["list"], ["show", "0001"], ["explain", "0001"], ["events", "0001"], ["inbox"]])
    expect(await desk.says(argv, { columns: 120 }), argv.join(" ")).toContain("timed out after 10m");
  expect((await desk.json(["list"])).tasks[0]).toMatchObject({
    state: "failed",
    error: "timed out after 10m",
  });
});

test("a retry after a timeout shows its reason on the task", async () => {
  const desk = await openDesk();
  await desk.says(["add", "Slow", "--timeout", "10m"]);
  await desk.says(["claim", "0001", "--start", "--session", "a1"]);
  desk.clock.advance(11 * 60_000);
  for (const argv of [
    ["show", "0001"],
    ["events", "0001"],
  ])
    expect(await desk.says(argv, { columns: 120 }), argv.join(" ")).toContain("timed out after 10m");
});
