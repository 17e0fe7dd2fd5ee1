// Resources in `dibs watch`: what is in use, held and spent; one is held and resumed from there.

import { expect, onTestFinished, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { until } from "../support.js";
import { keys, repository, watch } from "./terminal.js";

test("resources are listed with what waits for them, held and resumed", async () => {
  const { directory, database } = repository();
  const dibs = await openDibs({ path: database, project: "shop" });
  onTestFinished(() => dibs.close());
  const terminal = watch({ directory, columns: 120, rows: 30 });
  await terminal.shows("u resources");
  terminal.press("u");
  await terminal.shows("None yet. Add one with: dibs resource set test-db --capacity 2");
  const budgets = [{ amount: 20, unit: "usd" as const, period: "day" as const }];
  await dibs.resources.set({ id: "claude-max", budgets });
  await dibs.resources.set({ id: "test-db", capacity: 1 });
  await dibs.tasks.create({ prompt: "first", uses: { "test-db": 1 } });
  await dibs.tasks.create({ prompt: "second", uses: { "test-db": 1 } });
  const { claim } = await dibs.tasks.claimNext({ sessionId: "a", register: true });
  await dibs.tasks.usage({ taskId: claim!.taskId, sessionId: "a", usd: 0.25, inputTokens: 1200 });
  await terminal.shows(/test-db +1\/1 +1 +open/, /claude-max +0 +0 +0 of 20 usd\/day +open/);

  terminal.press("j");
  await terminal.shows(/▌ claude-max/);
  terminal.press("h");
  await terminal.shows(
    "Let no claim get claude-max until it is resumed? y/n",
    "dibs resource hold claude-max",
  );
  terminal.press("n");
  await terminal.shows("left as it is");
  terminal.press("h");
  await terminal.shows("y/n");
  terminal.press("y");
  await terminal.shows("held claude-max", /▌ claude-max .* held \(manual\)/, "1 held");
  const stateOf = async () =>
    (await dibs.resources.list()).resources.find(({ id }) => id === "claude-max")?.state;
  expect(await stateOf()).toBe("held");
  terminal.press("r");
  await terminal.shows("End the holds of claude-max? y/n", "dibs resource resume claude-max");
  terminal.press("y");
  await terminal.shows("resumed claude-max");
  await until("claude-max is resumed", async () => (await stateOf()) !== "held");
  terminal.press(keys.escape);
  await terminal.hides("RESOURCE");

  terminal.press("2", "g", keys.enter);
  await terminal.shows(/uses +test-db/);
  terminal.press("q");
  expect(await terminal.ended).toBe(0);
});
