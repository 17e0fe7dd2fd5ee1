// Resources in a real browser: the panel of the fleet, hold and resume from there, and what work has cost.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { World } from "../http/support.js";
import { axeFindings, dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { attacks, attackText, expectHarmless } from "./xss.js";

const visiting = dashboard();

const panel = (page: Page) => page.getByRole("region", { name: /^Resources \d+$/ });
const row = (page: Page, id: string) => panel(page).getByRole("row").filter({ hasText: id });

const set = (world: World, id: string, body: object = {}) => world.ask("PUT", `/api/resources/${id}`, body);

test(
  "the panel shows use, waiting tasks and spent budgets live; a resource is held and resumed",
  visiting(async (visit) => {
    const { page, world } = visit;
    await world.session("agent-7");
    await world.task({ prompt: "Write the docs" });
    await page.locator(".card", { hasText: "agent-7" }).waitFor();
    expect(await panel(page).count()).toBe(0);
    await set(world, "test-db", { capacity: 2 });
    await set(world, "claude-max", { budgets: [{ amount: 20, unit: "usd", period: "day" }] });
    await row(page, "test-db").getByText("0/2").waitFor();
    const uses = { "test-db": 2 };
    const first = await world.task({ prompt: "Migrate", uses });
    await world.task({ prompt: "Migrate again", uses });
    await world.post(`/api/tasks/${first}/claim`, { sessionId: "agent-7", start: true });
    await row(page, "test-db").getByText("2/2").waitFor();
    await row(page, "test-db").getByText("1 task", { exact: true }).waitFor();
    await row(page, "claude-max").getByText("0 of 20 usd/day").waitFor();

    await page.getByRole("button", { name: "Hold test-db" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("How long").selectOption("1h");
    await dialog.getByLabel("Reason (optional)").fill("it's slow");
    await dialog.getByText(`dibs resource hold test-db --for 1h --reason 'it'\\''s slow'`).waitFor();
    await dialog.getByRole("button", { name: "Hold", exact: true }).click();
    await says(page, "test-db is held.");
    await row(page, "test-db")
      .getByText(/manual, ends in \d+m: it's slow/)
      .waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Resume test-db" }).click();
    await dialog.getByText("dibs resource resume test-db").waitFor();
    await dialog.getByRole("button", { name: "Resume", exact: true }).click();
    await says(page, "test-db can be claimed again.");
    await page.getByRole("button", { name: "Hold test-db" }).waitFor();
    expectQuiet(visit);
  }),
);

test(
  "what an attempt cost is on the task page and in the metrics",
  visiting(async (visit) => {
    const { page, world } = visit;
    await set(world, "claude-max");
    await world.session("agent-7", { agentType: "claude", uses: { "claude-max": 1 } });
    const id = await world.task({ prompt: "Paint it", labels: ["ui"], uses: { "claude-max": 1 } });
    await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
    await world.post(`/api/tasks/${id}/usage`, { sessionId: "agent-7", usd: 0.42, inputTokens: 12_000 });
    await world.post(`/api/tasks/${id}/complete`, { sessionId: "agent-7", result: "done" });
    await page.goto(`${world.url}/tasks/demo/${id}`);
    await isLive(page);
    await page.getByText("$0.42, 12000 tokens in").waitFor();
    await page.getByText("claude-max", { exact: true }).waitFor();
    await page.goto(`${world.url}/figures`);
    await isLive(page);
    await page.getByText("$0.42 reported").waitFor();
    const costs = page.getByRole("region", { name: "Cost so far" });
    await costs.getByText("as far as attempts said · $0.42 per completed task").waitFor();
    for (const name of ["All", "claude", "ui", "claude-max"])
      await costs.getByRole("row", { name: `${name} $0.42 12,000 0` }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expectQuiet(visit);
  }),
);

test(
  "a hostile reason and label are shown as text",
  visiting(async (visit) => {
    const { page, world } = visit;
    await set(world, "db");
    await world.session("agent-7");
    const id = await world.task({ prompt: "x", labels: [attacks[0]!] });
    await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
    await world.post(`/api/tasks/${id}/usage`, { sessionId: "agent-7", usd: 1 });
    await world.post("/api/resources/db/hold", { reason: attackText.slice(0, 900) });
    await panel(page).getByText("manual, until it is resumed").waitFor();
    await expectHarmless(visit, world.url);
    await page.goto(`${world.url}/figures`);
    await isLive(page);
    await page.getByText("$1.00 reported").waitFor();
    await expectHarmless(visit, world.url);
  }),
);
