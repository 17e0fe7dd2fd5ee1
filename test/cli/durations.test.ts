// Durations are typed with a unit: a bare number is seconds for some people and minutes for others.

import { expect, test } from "vitest";
import { commandsTyped } from "./catalogue.js";
import { deskWithStore, openDesk } from "./desk.js";

const takesDuration = /duration|time/;

test("every flag that takes a duration refuses a bare number, and says how to write it", async () => {
  const desk = await deskWithStore();
  const refused: string[] = [];
  for (const { spec, words } of await commandsTyped()) {
    for (const [flag, { value = "" }] of Object.entries(spec.flags ?? {})) {
      if (!takesDuration.test(value)) continue;
      const name = `${spec.name} --${flag}`;
      const { code, err } = await desk.dibs([...words.before, `--${flag}`, "30", ...words.after], {
        input: "x",
      });
      expect([code, err], name).toEqual([
        2,
        `dibs: --${flag} needs a unit: 30s, 30m or 30h. (VALIDATION_FAILED)\n`,
      ]);
      refused.push(name);
    }
  }
  expect(refused).toEqual(
    expect.arrayContaining([
      "add --timeout",
      "add --not-before",
      "claim --ttl",
      "claim --wait",
      "work --ttl",
    ]),
  );
  expect(refused).toEqual(
    expect.arrayContaining(["serve --retain-tasks", "token create --expires", "heartbeat --extend"]),
  );
});

test("0 needs no unit, and milliseconds have one", async () => {
  const desk = await deskWithStore();
  expect((await desk.dibs(["claim", "--session", "a", "--wait", "0"])).code).toBe(5);
  expect((await desk.json(["add", "One", "--timeout", "1500ms"])).task.timeoutMs).toBe(1500);
});

test("a setting whose name ends with Ms says its unit itself", async () => {
  const desk = await deskWithStore();
  const { project } = await desk.json([
    "project",
    "set",
    "claim.minTtlMs",
    "1500",
    "claim.defaultTtlMs",
    "2m",
  ]);
  expect(project.settings.claim).toMatchObject({ minTtlMs: 1500, defaultTtlMs: 120_000 });
});

test("a default lease outside of the bounds is shown with its unit, and with a warning", async () => {
  const desk = await deskWithStore();
  const set = (...words: string[]) => desk.dibs(["project", "set", ...words]);
  expect(await set("claim.defaultTtlMs", "30")).toEqual({
    code: 0,
    out: "claim.defaultTtlMs  30ms\n",
    err:
      "dibs: claim.defaultTtlMs is 30ms, below claim.minTtlMs (1m): claims without --ttl get a lease of 30ms. " +
      "A number without a unit is milliseconds. Run: dibs project set claim.defaultTtlMs 30m\n",
  });
  expect(await desk.says(["project", "list"])).toMatch(/open +\S+ +30ms/);
  expect((await set("order", "depth-first")).err).toBe("");
  expect((await set("claim.defaultTtlMs", "30h")).err).toContain("30h, above claim.maxTtlMs (2h)");
  expect((await set("claim.defaultTtlMs", "30m")).err).toBe("");
  const created = await desk.dibs(["project", "create", "docs", "claim.defaultTtlMs", "30"]);
  expect(created.err).toContain("Run: dibs project set claim.defaultTtlMs 30m --project docs\n");
});

test("an add that is refused creates no store", async () => {
  const desk = await openDesk();
  expect((await desk.dibs(["add", "One", "--timeout", "30"])).code).toBe(2);
  expect((await desk.dibs(["list"])).code).toBe(6);
});
