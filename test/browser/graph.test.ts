// The dependency graph and the figures, in a real browser.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { eventually } from "../eventually.js";
import { dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { makeLively } from "./lively.js";
import { attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();
const open = async (page: Page, url: string) => {
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

    await node("theme").getByRole("button", { name: "Only tasks near theme" }).click();
    await says(page, "steps around theme");
    await node("api").waitFor({ state: "detached" });
    await page.waitForURL((url) => url.href.includes("focus=theme"));
    await page.reload();
    await node("theme").waitFor();
    expect(await node("api").count()).toBe(0);
    await page.getByRole("button", { name: "Show the whole graph" }).click();
    await node("api").waitFor();

    await page.getByRole("button", { name: "Light or dark" }).click();
    await page.locator(".react-flow.dark").waitFor();
    await node("axe").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\/demo\/axe$/);
    await page.getByRole("link", { name: "In the graph" }).click();
    await says(page, "near axe");
    expectQuiet(visit);
  }),
);

const boxOf = (page: Page, id: string) => page.locator(`.react-flow__node[data-id="${id}"]`).boundingBox();

/** The whole of it, and large enough. */
async function canBeRead(page: Page, id: string): Promise<boolean> {
  if ((await page.locator(`.react-flow__node[data-id="${id}"]`).count()) === 0) return false;
  const [node, frame] = [await boxOf(page, id), await page.locator(".graph").boundingBox()];
  if (!node || !frame) return false;
  const isAcross = node.x >= frame.x && node.x + node.width <= frame.x + frame.width;
  const isAlong = node.y >= frame.y && node.y + node.height <= frame.y + frame.height;
  return isAcross && isAlong && node.height >= 66 * 0.74;
}

async function nodeAtCentre(page: Page): Promise<string> {
  const frame = (await page.locator(".graph").boundingBox())!;
  const found: { id: string; distance: number }[] = [];
  for (const node of await page.locator(".react-flow__node").all()) {
    const box = (await node.boundingBox())!;
    const across = box.x + box.width / 2 - frame.x - frame.width / 2;
    const along = box.y + box.height / 2 - frame.y - frame.height / 2;
    found.push({ id: (await node.getAttribute("data-id"))!, distance: Math.hypot(across, along) });
  }
  return found.sort((one, other) => one.distance - other.distance)[0]!.id;
}

test(
  "the view is theirs who moved it: a new task moves nothing under their eyes",
  visiting(async ({ page, world }) => {
    await makeLively(world);
    await open(page, `${world.url}/graph`);
    await page.locator('.react-flow__node[data-id="api"]').waitFor();
    await page.getByRole("button", { name: "Zoom In" }).click();
    await page.mouse.move(640, 690);
    await page.mouse.down();
    await page.mouse.move(560, 640, { steps: 4 });
    await page.mouse.up();
    const isSteady = async () => {
      const before = await boxOf(page, "api");
      await page.evaluate("new Promise((done) => requestAnimationFrame(done))");
      return before?.x === (await boxOf(page, "api"))?.x;
    };
    await eventually(isSteady).toBe(true);
    const centre = await nodeAtCentre(page);
    const before = (await boxOf(page, centre))!;
    await world.post("/api/tasks", { id: "extra", prompt: "x", dependsOn: ["schema"], parentId: "release" });
    await page.locator('.react-flow__node[data-id="extra"]').waitFor();
    const after = (await boxOf(page, centre))!;
    expect(Math.hypot(after.x - before.x, after.y - before.y)).toBeLessThan(2);
    expect(after.width).toBeCloseTo(before.width, 0);
  }),
);

test(
  "a large graph begins with what runs at a readable size, and follows what runs if asked",
  visiting(async (visit) => {
    const { page, world } = visit;
    const tasks = Array.from({ length: 300 }, (_, n) => ({
      key: `t${n}`,
      id: `t${n}`,
      prompt: `task ${n}`,
      dependsOn: n % 8 === 0 ? [] : [`t${n - 1}`],
    }));
    await world.post("/api/tasks/batch", { tasks });
    const start = (id: string) =>
      world.post(`/api/tasks/${id}/claim`, { sessionId: `at-${id}`, start: true, register: true });
    await start("t80");
    await open(page, `${world.url}/graph`);
    await says(page, "80 of 300 tasks");
    // Places are worked out beside the page.
    await eventually(() => page.workers().map((worker) => worker.url())).toEqual([
      expect.stringContaining("/elk-worker"),
    ]);
    const isReadable = (id: string) => eventually(() => canBeRead(page, id)).toBe(true);
    await isReadable("t80");

    await start("t160");
    await page.getByLabel("follow running tasks").check();
    await isReadable("t160");
    await start("t40");
    await isReadable("t40");
    await page.getByRole("button", { name: "Show the whole graph" }).click();
    await says(page, /^300 tasks/);
    await isReadable("t40");
    expectQuiet(visit);
  }),
);

test(
  "a thousand tasks in long chains can be seen at once and moved about in, and hostile titles are text",
  visiting(async (visit) => {
    const { page, world } = visit;
    const hostile = attackWords.map((title, n) => ({ key: `h${n}`, prompt: title, title }));
    const many = Array.from({ length: 1_000 - hostile.length }, (_, n) => ({
      key: `t${n}`,
      prompt: `task ${n}`,
      dependsOn: n === 0 ? [] : [`t${n - 1 - ((n * 7) % Math.min(n, 5))}`],
    }));
    await world.post("/api/tasks/batch", { tasks: [...hostile, ...many] });
    await open(page, `${world.url}/graph?whole=1`);
    await says(page, /^1000 tasks/);
    await page.locator(".react-flow__node").first().waitFor();
    await page.getByRole("button", { name: "Fit View" }).click();
    const zoom =
      "new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a";
    await eventually(() => page.evaluate(zoom)).toBeLessThan(0.5);
    expect(await page.evaluate(zoom)).toBeGreaterThan(0.06);
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
    expect(await tile("oldest ready task").locator("dd").innerText()).toMatch(/^\d/);
    for (const name of ["waiting in the queue", "in flight"]) {
      const figure = tile(name).getByRole("link", { name: /^\d/ });
      const shown = await figure.innerText();
      await figure.click();
      await page.locator(`[aria-rowcount="${Number(shown) + 1}"]`).waitFor();
      await page.goBack();
      await says(page, "21 tasks");
    }
    const ada = page
      .getByRole("row")
      .filter({ has: page.getByRole("rowheader", { name: "ada", exact: true }) });
    const time = expect.stringMatching(/^\d.* m?s$/);
    expect(await ada.getByRole("cell").allInnerTexts()).toEqual(["3", "2", "0", "0", time, time, "–"]);
    const chart = (title: string) => page.getByRole("heading", { name: title, exact: true });
    await page.getByRole("img", { name: /^Queue age: oldest .* now$/ }).waitFor();
    await ada.getByRole("link", { name: "ada" }).click();
    await says(page, "The charts show the work of ada only.");
    await says(page, "2 completed, 0 failed attempts");
    await page.waitForURL((url) => url.href.includes("agent=ada"));
    for (const title of ["Created", "Queue", "Queue age"]) expect(await chart(title).count(), title).toBe(0);
    await page.getByRole("link", { name: "Show all agents" }).click();
    await chart("Queue age").waitFor();

    await world.post("/api/tasks/ageing/complete", { sessionId: "eve", result: "ok" });
    await says(page, "6 completed, 1 failed attempts");
    await page.getByRole("button", { name: "7d" }).click();
    await page.waitForURL((url) => url.href.includes("range=7d"));
    await page.reload();
    await says(page, "6 completed, 1 failed attempts");
    await page.locator(".chart", { hasText: "Throughput" }).getByText("As a table").click();
    const cells = page.locator(".chart", { hasText: "Throughput" }).getByRole("cell");
    // A row per hour: what was done around the full hour stands in two.
    const figures = (await cells.allInnerTexts()).map(Number);
    const sum = (column: number) =>
      figures.filter((_, at) => at % 2 === column).reduce((total, each) => total + each, 0);
    expect([sum(0), sum(1)]).toEqual([6, 1]);

    const drawn = (said: RegExp) => page.getByRole("img", { name: said }).waitFor();
    await drawn(/^Wait for a claim: \d.* on average$/);
    await drawn(/^Wait for a human: none yet$/);
    await drawn(/^Lost leases: 0 lost$/);
    await world.post("/api/tasks/mcp/respond", { response: "All of them" });
    await world.delete("/api/sessions/bo");
    await drawn(/^Wait for a human: \d.* on average$/);
    await drawn(/^Lost leases: 1 lost$/);

    const other = await another();
    await other.page.goto(world.server.link());
    await isLive(other.page);
    await other.page.getByRole("link", { name: "Metrics" }).click();
    await says(other.page, "6 completed, 1 failed attempts");
    expectQuiet(visit);
  }),
);
