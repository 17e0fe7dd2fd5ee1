// More edges: what stands beside a project, text that looks like a flag, sessions whose process is gone, ids that were reserved.

import { expect, test } from "vitest";
import { openDesk } from "./desk.js";

test("events are the newest of this project, however busy another one was since", async () => {
  const desk = await openDesk();
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
