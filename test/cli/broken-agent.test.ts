// An agent that exits 1 at once, as people meet it: no login, no credit, a typo in its command line.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ways } from "./desk.js";
import { placeWithStore, sh, until } from "./run-place.js";

describe.each(ways)("%s", (way) => {
  test("a broken agent makes a handful of attempts, fails no task, is reported once, and recovers", async () => {
    const place = await placeWithStore(way);
    await place.says(["project", "set", "retry.delayMs", "2000"]);
    await place.add(...Array.from({ length: 20 }, (_, n) => ({ title: `Task ${n}`, prompt: "do it" })));
    const repaired = join(place.cwd, "repaired");
    const script = `echo x >> "$NOTES/ran"; [ -e '${repaired}' ] || { echo "not logged in" >&2; exit 1; }`;
    const runner = place.begin(["work", "-n", "2", "--agent-type", "claude", "--", ...sh(script)]);
    await runner.says("failed at once");
    // A probe or two later it is still one item, and every task is as good as new.
    const attempts = () => place.note("ran").trim().split("\n").length;
    const before = attempts();
    expect(before).toBeLessThanOrEqual(7);
    await until("it has tried again", () => attempts() > before);
    expect(attempts()).toBeLessThanOrEqual(10);
    const { notifications } = await place.json(["inbox"]);
    expect(notifications).toMatchObject([{ type: "AGENT_FAILING", title: "Agent claude fails at once" }]);
    expect(notifications[0].message).toContain("not logged in");
    const { tasks } = await place.json(["list", "--limit", "100"]);
    type Row = { state: string; retryCount: number };
    expect(tasks.filter(({ state, retryCount }: Row) => state === "failed" || retryCount > 0)).toEqual([]);
    writeFileSync(repaired, "");
    const isDone = ({ state }: Row) => state === "completed";
    await until("all is done", async () =>
      (await place.json(["list", "--limit", "100"])).tasks.every(isDone),
    );
    expect((await place.json(["inbox"])).notifications).toEqual([]);
    expect(runner.err.match(/failed at once/g)).toHaveLength(1);
    runner.signal("SIGTERM");
    expect((await runner.ended).code).toBe(0);
  });
});

test("an agent that commits before it fails is not a broken one, also without a worktree", async () => {
  const place = await placeWithStore();
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  await place.says(["project", "set", "retry.delayMs", "1"]);
  await place.add({ title: "One", prompt: "x", maxRetries: 1 });
  const script = 'git commit --quiet --allow-empty -m "$DIBS_EPOCH"; exit 3';
  const { code, out } = await place.dibs(["work", "--until-empty", "--", ...sh(script)]);
  expect([code, out]).toEqual([1, expect.stringMatching(/0001 +failed +2 +One/)]);
  expect(place.git("log", "--format=%s").split("\n")).toEqual(["2", "1", "first"]);
});

test("--until-idle exits with 1 while the agent is held back", async () => {
  const place = await placeWithStore();
  await place.says(["project", "set", "retry.delayMs", "600000"]);
  await place.add(...Array.from({ length: 7 }, (_, n) => ({ title: `Task ${n}`, prompt: "x" })));
  for (const command of ["false", "true"]) {
    const { code, err } = await place.dibs(["work", "--until-idle", "-q", "--", command]);
    expect([code, err]).toEqual([1, expect.stringContaining("failed at once 5 times in a row")]);
  }
});
