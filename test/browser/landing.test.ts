// The landing view in a real browser: a submission on its whole way, what holds it, and the page where nothing lands.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { World } from "../http/support.js";
import { axeFindings, dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { commitOf, Landing } from "./landing.js";
import { attacks, attackText, attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();

async function openLanding(page: Page, world: World): Promise<void> {
  await page.goto(`${world.url}/landing`);
  await isLive(page);
  await page.getByRole("heading", { name: "Landing", exact: true }).waitFor();
}

/** A section, by its heading. */
const section = (page: Page, name: string) =>
  page.getByRole("region", { name: new RegExp(`^${name} \\d+$`), exact: true });
const item = (page: Page, name: string, text: string) =>
  section(page, name).locator(".landing-item", { hasText: text });
const approve = (world: World, taskId: string, submission: number) =>
  world.post(`/api/tasks/${taskId}/approve`, { submission });

test(
  "a submission is followed from its checks through the review to the target, live",
  visiting(async (visit) => {
    const { page, world } = visit;
    const landing = await Landing.open(world, { review: "human" });
    await landing.lease();
    await openLanding(page, world);
    await says(page, "Nothing is checked.");
    await page.getByText("Lander lander-1 on build").waitFor();

    const task = await landing.submit({ title: "Paint it teal", agent: "ada" });
    const checking = item(page, "Checking", "Paint it teal");
    await checking.getByRole("link", { name: `demo/${task.taskId} Paint it teal` }).waitFor();
    await checking.getByText("submission 1").waitFor();
    await checking.getByText("by ada").waitFor();
    await checking.locator("time").waitFor();

    const id = await landing.begin(task);
    await checking.getByText("checks run now").waitFor();
    await page.getByText("checks 1 submission").waitFor();
    await landing.inspect(id, task);
    await item(page, "Review", "Paint it teal").getByText("needs a person").waitFor();
    await section(page, "Checking").getByText("Nothing is checked.").waitFor();

    await approve(world, task.taskId, 1);
    await item(page, "Waiting to land", "Paint it teal").waitFor();
    await landing.intend(id, task, 7);
    await item(page, "Landing now", "Paint it teal").waitFor();
    await page.getByText("lands 1 submission").waitFor();
    await landing.landed(id);
    await item(page, "Landed", "Paint it teal")
      .getByText(`${commitOf(7).slice(0, 12)} on main`)
      .waitFor();
    await item(page, "Landed", "Paint it teal").getByText("by ada").waitFor();
    await section(page, "Landing now").getByText("Nothing lands at this moment.").waitFor();
    expectQuiet(visit);
  }),
);

test(
  "what comes back is listed with its reason, and what is held with the command that helps",
  visiting(async (visit) => {
    const { page, world } = visit;
    const landing = await Landing.open(world);
    const red = await landing.submit({ title: "Breaks a test" });
    await landing.returned(red, "check-failed", "test failed: 3 of 12\nsecond line");
    const waits = await landing.submit({ title: "Touches a dirty file", agent: "bo" });
    await openLanding(page, world);
    await item(page, "Returned", "Breaks a test").getByText("check failed: test failed: 3 of 12").waitFor();
    await landing.held({
      reason: "TARGET_RED",
      message: "Check test is red on main.",
      fix: "dibs check run test",
    });
    await item(page, "Held", "Touches a dirty file").getByText("Check test is red on main.").waitFor();
    const lander = page.getByRole("region", { name: "Lander of main" });
    await lander.getByText("TARGET_RED: Check test is red on main.").waitFor();
    await lander.getByText("dibs check run test", { exact: true }).waitFor();
    await lander.getByText("held", { exact: true }).waitFor();

    // The reason stays known when its lander goes.
    await landing.release();
    await lander.getByText("No lander runs").waitFor();
    await lander.getByText("dibs land", { exact: true }).waitFor();
    await lander.getByText("Check test is red on main.").waitFor();

    await landing.held();
    await item(page, "Checking", "Touches a dirty file").waitFor();
    await lander.getByText("runs", { exact: true }).waitFor();
    expect(await page.locator(".landing-hold").count()).toBe(0);

    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/tasks/demo/${waits.taskId}`);
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.waitForURL("**/landing");
    expectQuiet(visit);
  }),
);

test(
  "where nothing lands, it says how landing is turned on; another project's submissions are not shown",
  visiting(async (visit) => {
    const { page, world } = visit;
    await world.task();
    await openLanding(page, world);
    await says(page, "No project lands its work on a branch.");
    await says(page, "dibs init --land main");
    expect(await axeFindings(page)).toEqual([]);
    await world.post("/api/projects", { id: "shop" });
    const landing = await Landing.open(world, {}, "shop");
    const task = await landing.submit({ title: "In the shop" });
    await item(page, "Checking", `shop/${task.taskId} In the shop`).waitFor();
    await page.goto(`${world.url}/landing?project=demo`);
    await says(page, "Project demo does not land its work on a branch.");
    await page.goto(`${world.url}/landing?project=shop`);
    await item(page, "Checking", "In the shop").waitFor();
    expectQuiet(visit);
  }),
);

test(
  "lists, cards and the graph know the stage of a submitted task",
  visiting(async (visit) => {
    const { page, world } = visit;
    const landing = await Landing.open(world, { review: "human" });
    const task = await landing.toReview({ title: "Paint it teal", agent: "ada" });
    await page.goto(`${world.url}/queue`);
    const row = page.locator(".queue-row", { hasText: "Paint it teal" });
    await row.getByText("submitted").waitFor();
    await row.getByText("waiting for review").waitFor();
    await page.goto(world.url);
    const card = page.locator(".card", { hasText: "#ada" });
    await card.getByText("submitted").waitFor();
    await card.getByText("waiting for review").waitFor();
    await page.goto(`${world.url}/graph?project=demo`);
    const node = page.locator(".graph-node", { hasText: "Paint it teal" });
    await node.getByText("submitted, waiting for review").waitFor();
    await approve(world, task.taskId, 1);
    await node.getByText("submitted, waiting to land").waitFor();
    expectQuiet(visit);
  }),
);

test(
  "hostile names and texts are shown as text",
  visiting(async (visit) => {
    const { page, world } = visit;
    const landing = await Landing.open(world);
    for (const [at, title] of attackWords.entries()) {
      const task = await landing.submit({ title, agent: `a${at}`, summary: attackText });
      if (at < 10) await landing.returned(task, "conflict", attacks[at]);
    }
    await landing.held({ reason: attackWords[0]!, message: attackText, fix: attackText.slice(0, 900) });
    await openLanding(page, world);
    await page
      .locator(".landing-item")
      .nth(attackWords.length - 1)
      .waitFor();
    await item(page, "Returned", attackWords[0]!).first().waitFor();
    await page.locator(".landing-hold").getByText("⟨U+202E⟩exe.gnp").waitFor();
    await expectHarmless(visit, world.url);
  }),
);
