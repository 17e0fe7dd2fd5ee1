// What people are told about resources: who has them, who waits for them, and which command helps.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDesk } from "./desk.js";
import { placeWithStore, sh } from "./run-place.js";

test("explain names the project of a holder elsewhere, and its command shows that task", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--no-agents"]);
  await desk.says(["resource", "set", "db", "--capacity", "1"]);
  await desk.says(["project", "create", "other"]);
  await desk.says(["add", "Theirs", "--project", "other", "--uses", "db"]);
  await desk.says(["claim", "--start", "--session", "so", "--project", "other"]);
  await desk.says(["ask", "0001", "Which?", "--session", "so", "--project", "other"]);
  await desk.says(["add", "Mine"]);
  await desk.says(["add", "Mine, too", "--uses", "db"]);
  const [reason] = (await desk.json(["explain", "0002"])).reasons;
  expect(reason.message).toContain("held by so (0001 of project other)");
  expect(reason.fix).toBe("dibs show 0001 --project other");
  expect(reason).not.toHaveProperty("taskIds");
  expect(await desk.says(reason.fix.split(" ").slice(1))).toContain("Theirs");
});

test("nobody is sent to a list of resources that is empty", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--no-agents"]);
  await desk.says(["project", "set", 'scopes.exclusive=["package-lock.json"]']);
  await desk.says(["add", "One", "--files", "package-lock.json"]);
  await desk.says(["add", "Two", "--files", "package-lock.json"]);
  await desk.says(["claim", "--session", "a"]);
  const { why } = await desk.json(["claim", "--session", "b"]);
  expect(why.fix).toBe("dibs list");
  const [reason] = (await desk.json(["explain", "0002"])).reasons;
  expect(reason).toMatchObject({ code: "RESOURCE_BUSY", fix: "dibs show 0001", taskIds: ["0001"] });
});

test("--until-empty ends with 1 where tasks wait for a hold that only people end", async () => {
  const place = await placeWithStore();
  await place.says(["resource", "set", "acct"]);
  await place.says(["resource", "hold", "acct"]);
  await place.says(["add", "Work", "--uses", "acct"]);
  const { code, err, out } = await place.dibs(["work", "--until-empty", "--", ...sh("true")]);
  expect({ code, text: err + out }).toMatchObject({
    code: 1,
    text: expect.stringContaining("held resource"),
  });
});

test("--until-empty --label looks only at holds of tasks with the label", async () => {
  const place = await placeWithStore();
  await place.says(["resource", "set", "acct"]);
  await place.says(["resource", "hold", "acct"]);
  await place.says(["add", "Work", "--uses", "acct", "--label", "docs"]);
  const work = (label: string) =>
    place.dibs(["work", "--until-empty", "--label", label, "--", ...sh("true")]);
  const held = await work("docs");
  expect({ code: held.code, text: held.err + held.out }).toMatchObject({
    code: 1,
    text: expect.stringContaining("Nothing to claim: 1 waits for a held resource. Run: dibs resources"),
  });
  const other = await work("web");
  expect({ code: other.code, text: other.err + other.out }).toMatchObject({
    code: 0,
    text: expect.not.stringContaining("held resource"),
  });
});

test("uses of a plan are units of its tasks; an unknown resource is reported with its line", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--no-agents"]);
  const plan = (uses: object) =>
    writeFileSync(
      join(desk.directory, "plan.json"),
      JSON.stringify([{ title: "One" }, { title: "Two", uses }], null, 1),
    );
  plan({ db: 2 });
  for (const more of [[], ["--yes"], ["--yes", "--name", "again"]]) {
    const unknown = await desk.dibs(["plan", "plan.json", ...more]);
    expect(unknown).toMatchObject({
      code: 3,
      err: expect.stringContaining(
        "plan.json:5: Resource db not found. (RESOURCE_NOT_FOUND)\nRun: dibs resource set db",
      ),
    });
  }
  await desk.says(["resource", "set", "db", "--capacity", "1"]);
  const tooMany = await desk.dibs(["plan", "plan.json", "--yes", "--json"]);
  expect(JSON.parse(tooMany.out + tooMany.err)).toMatchObject({
    error: "VALIDATION_FAILED",
    message: "plan.json:5: A claim would need 2 units of resource db, which has 1.",
    line: 5,
  });
  plan({ db: 1 });
  expect(await desk.says(["plan", "plan.json"])).toContain("Two  uses db");
  await desk.says(["plan", "plan.json", "--yes"]);
  expect((await desk.json(["show", "0002"])).task).toMatchObject({ prompt: "Two", uses: { db: 1 } });
  plan({});
  await desk.says(["plan", "plan.json", "--yes"]);
  expect((await desk.json(["show", "0002"])).task.uses).toEqual({});
});

test("what is wrong with a hold or a budget is said by the names of flags", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--no-agents"]);
  await desk.says(["resource", "set", "db", "--capacity", "3"]);
  const refused = async (...argv: string[]) => {
    const { code, err } = await desk.dibs(["resource", ...argv]);
    expect(code).toBe(2);
    return err;
  };
  expect(await refused("hold", "db", "--until", "yesterday")).toContain(
    "--until must be a time or a duration, not 'yesterday'.",
  );
  expect(await refused("hold", "db", "--until", "2h", "--for", "2h")).toContain(
    "--until and --for cannot be combined.",
  );
  expect(await refused("set", "db", "--budget", "0usd/day")).toMatch(/must be more than 0/);
  expect(await desk.says(["resource", "hold", "db", "--until", "2h"])).toContain("held db until ");
  await desk.says(["add", "One", "--uses", "db=2"]);
  await desk.says(["add", "Two", "--uses", "db=2"]);
  expect(await desk.says(["resource", "resume", "db"])).toBe("db is not held\n");
  expect(await desk.says(["resource", "resume", "db"])).toBe("db is not held\n");
  await desk.says(["claim", "--session", "a"]);
  expect((await desk.json(["explain", "0002"])).reasons[0].message).toContain("1 is free");
});

test("what a project uses, and its exclusive paths, are set and unset", async () => {
  const desk = await openDesk();
  await desk.says(["init", "--no-agents"]);
  await desk.says(["resource", "set", "ci"]);
  const settings = async (...argv: string[]) =>
    (await desk.json(["project", "set", ...argv])).project.settings;
  expect((await settings("uses", '{"ci": 1}')).uses).toEqual({ ci: 1 });
  expect((await settings("uses=")).uses).toEqual({});
  expect(await desk.dibs(["project", "set", "uses", "ci"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("Run: dibs project set uses '{\"ci\": 1}'"),
  });
  const exclusive = ["package-lock.json", "migrations/**"];
  expect((await settings("scopes.exclusive", exclusive.join(","))).scopes.exclusive).toEqual(exclusive);
  expect((await settings("scopes.exclusive=")).scopes.exclusive).toEqual([]);
});
