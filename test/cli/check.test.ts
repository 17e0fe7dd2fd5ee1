// Checks: kept in the settings of the project, run in the working tree as the lander runs them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gone, openPlace, type Place, placeWithStore, sh } from "./run-place.js";

const add = (place: Place, name: string, script: string, ...flags: string[]) =>
  place.says(["check", "add", name, ...flags, "--", ...sh(script)]);

test("a check is added, replaced, listed and removed", async () => {
  const place = await placeWithStore();
  expect(await place.says(["check", "list"])).toMatch(
    /^No checks: .* Run: dibs check add test -- npm test\n$/,
  );
  const added = await place.says(["check", "add", "test", "--", "npm", "test"]);
  expect(added).toContain("added check test of project shop: npm test\n");
  expect(added).toContain("The command is in the store's settings. What it runs");
  expect(added).toContain("Run: dibs init --land <branch>");
  const flags = ["--timeout", "90s", "--path", "docs/**", "--path", "*.md"];
  expect(await add(place, "test", "echo 'it is' well", ...flags)).toMatch(/^replaced check test/);
  await add(place, "lint", "true");
  expect((await place.json(["check", "list"])).checks).toEqual([
    { name: "test", run: sh("echo 'it is' well"), timeoutMs: 90_000, paths: ["docs/**", "*.md"] },
    { name: "lint", run: sh("true"), timeoutMs: 600_000, paths: [] },
  ]);
  expect(await place.says(["check", "list"])).toMatch(/^test +90s +docs\/\*\*, \*\.md +sh -c /m);
  expect(await place.says(["check", "remove", "lint"])).toBe("removed check lint of project shop\n");
  expect((await place.json(["check", "list"])).checks).toHaveLength(1);
  expect(await place.says(["check", "remove", "test"])).toContain("No checks: landing only merges.");
});

test.each([
  [["add", "test", "npm", "run", "a b"], 2, "Run: dibs check add test -- npm run 'a b'"],
  [["add", "a b", "--", "true"], 2, "'a b' cannot be the name of a check"],
  [["add", "-x", "--", "true"], 2, "Unknown flag -x."],
  [["add", "test"], 2, "Usage: dibs check add <check> [flags] -- <command>"],
  [["add", "test", "more", "--", "true"], 2, "Unexpected argument 'more'."],
  [["add", "test", "--", ""], 2, "Missing command."],
  [["add", "test", "--timeout", "5", "--", "true"], 2, "--timeout needs a unit: 5s, 5m or 5h."],
  [["add", "test", "--timeout", "0", "--", "true"], 2, "--timeout must be longer than 0."],
  [["add", "test", "--", ...Array<string>(101).fill("x")], 2, "too many words"],
  [["remove", "test"], 3, "Check test not found in project shop."],
  [["run", "test"], 3, "Run: dibs check list"],
])("check %j is refused", async (words, code, text) => {
  const place = await placeWithStore();
  const ended = await place.dibs(["check", ...words]);
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(text)]);
  expect((await place.json(["check", "list"])).checks).toEqual([]);
});

test("only an admin changes checks; every user of the project can run them", async () => {
  const place = await openPlace("server");
  await place.says(["check", "add", "test", "--", "true"]);
  const { token } = await place.json(["token", "create", "--role", "worker"]);
  const refused = await place.dibs(["check", "add", "lint", "--token", token, "--", "true"]);
  expect([refused.code, refused.err]).toEqual([4, expect.stringContaining("FORBIDDEN")]);
  expect((await place.dibs(["check", "run", "--token", token])).code).toBe(0);
});

test("only an admin turns landing on", async () => {
  const place = await openPlace("server");
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  for (const role of ["worker", "leader"]) {
    const { token } = await place.json(["token", "create", "--role", role]);
    const refused = await place.dibs(["init", "--land", "main", "--yes", "--no-agents", "--token", token]);
    expect([role, refused.code, refused.err]).toEqual([role, 4, expect.stringContaining("FORBIDDEN")]);
  }
  expect((await place.json(["project", "show"])).project.settings.land.target).toBeNull();
});

test("checks run one after the other in the root of the repository, without secrets", async () => {
  const place = await placeWithStore();
  await add(place, "first", 'pwd -P; echo "task=$DIBS_TASK key=$API_KEY user=$NAME"; printf "open line"');
  await add(place, "second", "test -e seen; echo gone >&2; exit 3");
  await add(place, "third", "touch seen");
  mkdirSync(join(place.cwd, "deep/inside"), { recursive: true });
  const env = { DIBS_TASK: "0001", API_KEY: "secret", NAME: "ann" };
  const { code, out } = await place.dibs(["check", "run"], { cwd: join(place.cwd, "deep/inside"), env });
  expect(code).toBe(1);
  expect(out).toContain(`\n${place.cwd}\ntask= key= user=ann\nopen line\n$ sh -c `);
  expect(out).toMatch(
    /gone\n[\s\S]*\npassed +first +\d+\.\ds\nfailed +second +\d+\.\ds {2}exit code 3\npassed +third/,
  );
  const some = await place.dibs(["check", "run", "third", "first", "--json"]);
  expect([some.code, JSON.parse(some.out)]).toMatchObject([
    0,
    { success: true, root: place.cwd, results: [{ name: "first", state: "passed" }, { name: "third" }] },
  ]);
  expect(some.err).toContain("open line");
});

test("a check that takes too long is ended with all that it started, and counts as red", async () => {
  const place = await placeWithStore();
  await add(place, "slow", 'sleep 600 & echo $! > "$NOTES/pid"; wait', "--timeout", "3s");
  const { code, out } = await place.dibs(["check", "run", "--json"]);
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    { success: false, results: [{ state: "timed-out", exitCode: null }] },
  ]);
  await gone(Number(await place.noted("pid")));
});

test("a check that cannot start is red, and the others run", async () => {
  const place = await placeWithStore();
  await place.says(["check", "add", "none", "--", "no-such-program"]);
  writeFileSync(join(place.cwd, "plain.txt"), "");
  await place.says(["check", "add", "plain", "--", "./plain.txt"]);
  await add(place, "last", "true");
  const { code, out } = await place.dibs(["check", "run"]);
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +none .* cannot start: no-such-program was not found$/m);
  expect(out).toMatch(/^failed +plain .* cannot start: \.\/plain\.txt is not executable$/m);
  expect(out).toMatch(/^passed +last/m);
});

test("a signal ends the running check, and those after it do not run", async () => {
  const place = await placeWithStore();
  await add(place, "slow", 'echo $$ > "$NOTES/pid"; sleep 600');
  await add(place, "last", 'touch "$NOTES/last"');
  const running = place.begin(["check", "run"]);
  const pid = Number(await place.noted("pid"));
  running.signal("SIGTERM");
  const { code, out } = await running.ended;
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +slow .* ended by a signal\nnot run +last$/m);
  expect(place.has("last")).toBe(false);
  await gone(pid);
});

test("outside of a repository nothing runs", async () => {
  const place = await placeWithStore();
  await add(place, "test", "true");
  const elsewhere = join(place.home, "elsewhere");
  mkdirSync(elsewhere);
  const ended = await place.dibs(["check", "run", "--db", join(place.cwd, ".dibs/dibs.db")], {
    cwd: elsewhere,
    env: { GIT_CEILING_DIRECTORIES: place.home },
  });
  expect([ended.code, ended.err]).toEqual([2, expect.stringContaining("Run: git init")]);
});
