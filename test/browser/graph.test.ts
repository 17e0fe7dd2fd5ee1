// The dependency graph and the figures, in a real browser.

import { expect, test } from "vitest";
import { dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { makeLively } from "./lively.js";
import { attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();
const open = async (page: import("playwright-core").Page, url: string) => {
  await page.goto(url);
  await isLive(page);
};

test(
  "the graph shows states as they change, the neighbourhood of a task, and opens it",
  visiting(async (visit) => {
    const { page, world } = visit;
    await makeLively(world);
    await open(page, `${world.url}/graph`);
    const node = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
    await node("axe").locator("[data-state=ready]").waitFor();
    await says(page, "longest open chain 3");
    expect(await page.locator(".graph-edge.critical").count()).toBe(2);

    await world.post("/api/tasks/axe/claim", { sessionId: "fin", start: true });
    await node("axe").locator("[data-state=running]").getByText("fin", { exact: true }).waitFor();

    await node("theme").getByRole("button", { name: "Only what is near theme" }).click();
    await says(page, "steps around theme");
    await node("api").waitFor({ state: "detached" });
    expect(page.url()).toContain("focus=theme");
    await page.reload();
    await node("theme").waitFor();
    expect(await node("api").count()).toBe(0);
    await page.getByRole("button", { name: "Show the whole graph" }).click();
    await node("api").waitFor();

    await page.getByLabel("follow what runs").check();
    expect(page.url()).toContain("follow=1");
    await node("axe").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\/demo\/axe$/);
    expectQuiet(visit);
  }),
);

test(
  "a thousand tasks can be drawn and moved about in, and hostile titles are text",
  visiting(async (visit) => {
    const { page, world } = visit;
    const hostile = attackWords.map((title, n) => ({ key: `h${n}`, prompt: title, title }));
    const many = Array.from({ length: 1_000 - hostile.length }, (_, n) => ({
      key: `t${n}`,
      prompt: `task ${n}`,
      dependsOn: n === 0 ? [] : [`t${Math.floor((n - 1) / 2)}`],
    }));
    await world.post("/api/tasks/batch", { tasks: [...hostile, ...many] });
    await open(page, `${world.url}/graph`);
    await says(page, "1000 tasks");
    await page.locator(".react-flow__node").first().waitFor();
    await page.locator(".react-flow__pane").hover();
    await page.mouse.wheel(0, -600);
    await page.locator(".react-flow__node").first().waitFor();
    await page.goto(`${world.url}/graph?focus=0001`);
    await page.locator('.react-flow__node[data-id="0001"]').waitFor();
    await expectHarmless(visit, world.url);
  }),
);

test(
  "tasks of several projects are drawn one project at a time",
  visiting(async ({ page, world }) => {
    await world.post("/api/projects", { id: "other" });
    await world.task({ title: "here" });
    await world.post("/api/tasks", { prompt: "there", project: "other" });
    await open(page, `${world.url}/graph`);
    await page.getByRole("main").getByRole("link", { name: "other" }).click();
    await page.locator(".react-flow__node", { hasText: "there" }).waitFor();
    expect(await page.locator(".react-flow__node").count()).toBe(1);
  }),
);

test(
  "figures come from the store: the same after a reload and in another browser, by agent, over the chosen time",
  visiting(async (visit) => {
    const { page, world, another } = visit;
    await makeLively(world);
    await open(page, `${world.url}/figures`);
    await says(page, "5 completed, 1 failed attempts");
    await says(page, "21 tasks");
    const tile = (name: string) => page.locator(".metrics-now div", { hasText: name });
    expect(await tile("oldest that can be claimed").locator("dd").innerText()).toMatch(/^\d/);
    for (const name of ["waiting in the queue", "in flight"]) {
      const figure = tile(name).getByRole("link");
      const shown = await figure.innerText();
      await figure.click();
      await page.locator(`[aria-rowcount="${Number(shown) + 1}"]`).waitFor();
      await page.goBack();
      await says(page, "21 tasks");
    }
    const ada = page
      .getByRole("row")
      .filter({ has: page.getByRole("rowheader", { name: "ada", exact: true }) });
    expect(await ada.getByRole("cell").allInnerTexts()).toEqual(["3", "2", "0", "0"]);

    await world.post("/api/tasks/ageing/complete", { sessionId: "eve", result: "ok" });
    await says(page, "6 completed, 1 failed attempts");
    await page.getByRole("button", { name: "7d" }).click();
    expect(page.url()).toContain("range=7d");
    await page.reload();
    await says(page, "6 completed, 1 failed attempts");
    await page.locator(".chart", { hasText: "Throughput" }).getByText("As a table").click();
    const cells = page.locator(".chart", { hasText: "Throughput" }).getByRole("cell");
    expect((await cells.allInnerTexts()).slice(0, 2)).toEqual(["6", "1"]);

    const other = await another();
    await other.page.goto(world.server.link());
    await isLive(other.page);
    await other.page.getByRole("link", { name: "Metrics" }).click();
    await says(other.page, "6 completed, 1 failed attempts");
    expectQuiet(visit);
  }),
);
