// The inbox in a real browser: people answer, two at once too; failures and notifications are seen to.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.js";
import type { World } from "../http/support.js";
import { repository, watch } from "../tui/terminal.js";
import {
  axeFindings,
  dashboard,
  expectQuiet,
  isLive,
  placeOf,
  pressHere,
  says,
  type Visit,
} from "./dashboard.js";
import { openWorkshop } from "./worker.js";
import { attacks, attackText, attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();

async function openInbox(page: Page, world: World): Promise<void> {
  await page.goto(`${world.url}/inbox`);
  await isLive(page);
  await page.getByRole("heading", { name: /^Questions/ }).waitFor();
}

/** A session of its own asks about a task of its own. */
async function asked(world: World, sessionId: string, question: object): Promise<string> {
  await world.session(sessionId, { agentType: "claude" });
  const id = await world.task({ title: `Task of ${sessionId}` });
  await world.post(`/api/tasks/${id}/claim`, { sessionId, start: true });
  await world.post(`/api/tasks/${id}/progress`, { sessionId, note: "half way", percent: 50 });
  await world.post(`/api/tasks/${id}/ask`, { sessionId, ...question });
  return id;
}

async function failed(world: World, error: string): Promise<string> {
  await world.session("unlucky");
  const id = await world.task({ title: `Fails with ${error.slice(0, 9)}`, maxRetries: 0 });
  await world.post(`/api/tasks/${id}/claim`, { sessionId: "unlucky", start: true });
  await world.post(`/api/tasks/${id}/fail`, { sessionId: "unlucky", error });
  return id;
}

const question = (page: Page, text: string) => page.locator(".inbox-question", { hasText: text });
const failure = (page: Page, text: string) => page.locator(".inbox-failure", { hasText: text });
const send = (page: Page, text: string) =>
  question(page, text).getByRole("button", { name: "Answer", exact: true });
const taskOf = async (world: World, id: string) => (await world.get(`/api/tasks/${id}`)).body.task;

describe("questions", () => {
  test(
    "are answered by keyboard alone, and the child that waits goes on",
    visiting(async (visit) => {
      const { page, world } = visit;
      const { workOnce } = await openWorkshop(world);
      const id = await world.task({ title: "Choose a colour", prompt: "Choose." });
      await openInbox(page, world);
      await says(page, "No open questions.");
      const running = workOnce(
        'dibs progress "two are left" --percent 80 >/dev/null; dibs ask --wait "Which?" --option teal --option blue',
      );
      const item = question(page, "Which?");
      await item.getByRole("link", { name: `demo/${id} Choose a colour` }).waitFor();
      await item.getByText(/So far 80%: two are left/).waitFor();
      await page.getByTitle("questions, reviews, held landings and failures").getByText("1").waitFor();

      await page.keyboard.press("j");
      await page.keyboard.press("2");
      await item.getByText(`dibs answer ${id} --question q1 -- blue`).waitFor();
      await page.keyboard.press("Enter");
      expect((await running.ended).code).toBe(0);
      await item.getByText("Answered: “blue” (you)").waitFor();
      await eventually(async () => (await taskOf(world, id)).result?.output).toBe("blue");
      // It stays while it has the focus, and goes with it.
      await page.getByRole("heading", { name: "Inbox" }).click();
      await says(page, "No open questions.");
      expectQuiet(visit);
    }),
  );

  test(
    "take no more keys once they are answered: the next key goes to the next question",
    visiting(async (visit) => {
      const { page, world } = visit;
      await asked(world, "a1", { question: "The first?" });
      await asked(world, "a2", { question: "The second?" });
      await openInbox(page, world);
      await question(page, "The first?").getByRole("textbox").fill("teal");
      await page.keyboard.press("Enter");
      await question(page, "The first?").getByText("Answered: “teal” (you)").waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("a");
      await page.keyboard.type("blue");
      await page.keyboard.press("Enter");
      await question(page, "The second?").getByText("Answered: “blue” (you)").waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "keep what is typed, and their place, whatever happens to others meanwhile",
    visiting(async (visit) => {
      const { page, world } = visit;
      const first = await asked(world, "a1", { question: "The first?" });
      const second = await asked(world, "a2", { question: "The second?", default: "as before" });
      await openInbox(page, world);
      const field = question(page, "The second?").getByRole("textbox");
      await field.fill("a long answer, half");
      const place = async () => (await question(page, "The second?").boundingBox())?.y;
      const before = await place();
      await world.post(`/api/tasks/${first}/respond`, { response: "by somebody" });
      await question(page, "The first?").getByText("Answered: “by somebody”").waitFor();
      await asked(world, "a3", { question: "The third?" });
      await question(page, "The third?").waitFor();
      expect(await place()).toBe(before);
      expect(await field.inputValue()).toBe("a long answer, half");

      await page.getByRole("link", { name: "Fleet" }).click();
      await page.getByRole("link", { name: /^Inbox/ }).click();
      expect(await field.inputValue()).toBe("a long answer, half");
      expect(await question(page, "The first?").count()).toBe(0);
      await field.fill("");
      await field.press("Enter");
      await question(page, "The second?").getByText("Answered: “as before” (you)").waitFor();
      expect((await taskOf(world, second)).response).toBe("as before");
      expectQuiet(visit);
    }),
  );

  test(
    "answered by two at once: the second hears that it was not taken, and the answer that was",
    visiting(async (visit) => {
      const { page, world, another } = visit;
      const id = await asked(world, "a1", { question: "Tabs or spaces?", options: ["tabs", "spaces"] });
      const other = await another();
      await other.page.goto(world.server.link());
      await openInbox(page, world);
      await openInbox(other.page, world);
      // The other one's network is slow: the answer is under way while the first one's arrives.
      let release = () => undefined as unknown;
      const gate = new Promise((resolve) => {
        release = () => resolve(undefined);
      });
      await other.page.route("**/respond", async (route) => {
        await gate;
        await route.continue();
      });
      const slow = question(other.page, "Tabs or spaces?");
      await slow.getByRole("textbox").fill("spaces, of course");
      await send(other.page, "Tabs or spaces?").click();
      await question(page, "Tabs or spaces?").getByRole("button", { name: "tabs" }).click();
      await send(page, "Tabs or spaces?").click();
      await question(page, "Tabs or spaces?").getByText("Answered: “tabs” (you)").waitFor();
      release();
      await slow
        .getByText(/Your answer was rejected: Task \S+ is running and has no open question\./)
        .waitFor();
      await slow.getByText("Answered: “tabs” (user:").waitFor();
      expect(await slow.getByRole("textbox").inputValue()).toBe("spaces, of course");
      expect((await taskOf(world, id)).response).toBe("tabs");
      expectQuiet(visit);
    }),
  );
});

describe("failures and notifications", () => {
  test(
    "a failure is retried, another one set aside",
    visiting(async (visit) => {
      const { page, world } = visit;
      const first = await failed(world, "first line\nsecond\nthird\nfourth line");
      const second = await failed(world, "broken twice");
      await openInbox(page, world);
      await failure(page, "first line").getByText("third").waitFor();
      expect(await failure(page, "first line").textContent()).not.toContain("fourth line");
      await failure(page, "first line").focus();
      await page.keyboard.press("r");
      await page.getByRole("dialog").getByText(`dibs retry ${first}`).waitFor();
      // Keys of the item behind a dialog are not meant in it, and Enter does what the dialog asks.
      await page.keyboard.press("d");
      await page.keyboard.press("Enter");
      await eventually(async () => (await taskOf(world, first)).state).toBe("queued");
      expect(await page.locator(".toasts").textContent()).not.toContain("set aside");
      await failure(page, "broken twice").getByRole("button", { name: "Set aside" }).click();
      await page.mouse.move(2, 2);
      await page.getByRole("heading", { name: "Inbox" }).click();
      await says(page, "No new failures.");
      await says(page, "0 unread");
      expect((await taskOf(world, second)).state).toBe("failed");
      expectQuiet(visit);
    }),
  );

  test(
    "keep their place under the pointer, whatever is asked, fails and is seen to meanwhile",
    visiting(async (visit) => {
      const { page, world } = visit;
      const waiting = await asked(world, "a1", { question: "The first?" });
      const newer = [];
      const own = await failed(world, "own error");
      for (const error of ["newer error", "newest error"]) newer.push(await failed(world, error));
      await openInbox(page, world);
      const item = failure(page, "own error");
      await item.getByRole("button", { name: "Retry" }).hover();
      const place = await placeOf(item);
      await asked(world, "a2", { question: "The second?" });
      await world.post(`/api/tasks/${waiting}/respond`, { response: "so" });
      await question(page, "The first?").getByText("Answered: “so”").waitFor();
      await page
        .getByRole("region", { name: /^Questions/ })
        .getByRole("button", { name: "1 new" })
        .waitFor();
      await world.post(`/api/tasks/${newer[0]}/retry`);
      await failure(page, "newer error").getByText("seen to").waitFor();
      await failed(world, "last error");
      await page
        .getByRole("region", { name: /^Failures/ })
        .getByRole("button", { name: "1 new" })
        .waitFor();
      expect(await question(page, "The second?").count()).toBe(0);
      expect(await placeOf(item)).toEqual(place);
      await pressHere(page);
      await page.getByRole("dialog", { name: `Retry ${own}?` }).waitFor();
      await page.keyboard.press("Escape");
      // It gives the focus back when it goes, and who has the focus holds the list.
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.mouse.move(2, 2);
      await page.getByRole("heading", { name: "Inbox" }).click();
      await question(page, "The second?").waitFor();
      await failure(page, "last error").waitFor();
      await failure(page, "newer error").waitFor({ state: "detached" });
      expectQuiet(visit);
    }),
  );

  test(
    "more than a hundred are told as such, and come step by step",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("unlucky");
      const tasks = Array.from({ length: 130 }, (_, at) => ({
        id: `f${at}`,
        prompt: `Fail ${at}`,
        maxRetries: 0,
      }));
      await world.post("/api/tasks/batch", { tasks });
      await Promise.all(
        tasks.map(async ({ id }) => {
          await world.post(`/api/tasks/${id}/claim`, { sessionId: "unlucky" });
          await world.post(`/api/tasks/${id}/fail`, { sessionId: "unlucky", error: `error of ${id}` });
        }),
      );
      await openInbox(page, world);
      await page.getByRole("heading", { name: "Failures 100+" }).waitFor();
      expect(await page.locator(".inbox-failure").count()).toBe(100);
      await page.getByRole("button", { name: "Show more failures" }).click();
      await page.getByRole("heading", { name: /^Failures 130$/ }).waitFor();
      expect(await page.locator(".inbox-failure").count()).toBe(130);
      expectQuiet(visit);
    }),
  );

  test(
    "notifications are read one by one and all at once, and older ones come page by page",
    visiting(async (visit) => {
      const { page, world } = visit;
      await Promise.all(Array.from({ length: 33 }, (_, at) => failed(world, `error number ${at}.`)));
      // One each, and one about the agent that failed so often in a row.
      await openInbox(page, world);
      const notes = page.locator(".inbox-note");
      await eventually(() => notes.count()).toBe(30);
      await page.getByRole("button", { name: "Show older" }).click();
      await eventually(() => notes.count()).toBe(34);
      await notes.first().focus();
      await page.keyboard.press("d");
      await says(page, "33 unread");
      expect(await axeFindings(page)).toEqual([]);
      await page.getByLabel("only unread").check();
      await eventually(() => notes.count()).toBe(33);
      await page.getByRole("button", { name: "Mark all as read" }).click();
      await page.mouse.move(2, 2);
      await says(page, "0 unread");
      await says(page, "No notifications.");
      await failed(world, "one more");
      await says(page, "1 unread");
      await notes.filter({ hasText: "one more" }).waitFor();
      expectQuiet(visit);
    }),
  );
});

test(
  "the badge counts questions and failures, the same as dibs watch does",
  visiting(async (visit) => {
    const { page, world } = visit;
    const { directory } = repository();
    const terminal = watch({
      directory,
      args: ["--url", world.url, "--project", "demo"],
      env: { DIBS_TOKEN: world.token },
    });
    const badge = page.getByTitle("questions, reviews, held landings and failures");
    const both = async (count: string) => {
      await badge.getByText(count, { exact: true }).waitFor();
      await terminal.shows(new RegExp(`3 Inbox ${count} `));
    };
    await both("0");
    await world.patch("/api/projects/demo", { settings: { notifications: { taskCompleted: true } } });
    await asked(world, "a1", { question: "Which?" });
    await both("1");
    const [first] = [await failed(world, "first error"), await failed(world, "second error")];
    await both("3");
    await world.session("lucky");
    const id = await world.task({ title: "Succeeds" });
    await world.post(`/api/tasks/${id}/claim`, { sessionId: "lucky", start: true });
    await world.post(`/api/tasks/${id}/complete`, { sessionId: "lucky", result: "done" });
    await eventually(async () => (await world.get("/api/inbox")).body.unread).toBe(4);
    await world.post(`/api/tasks/${first}/retry`, {});
    await both("2");
    expect(await page.title()).toMatch(/^\(2\) /);
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    expectQuiet(visit);
  }),
);

test(
  "what agents write is text in the inbox, whatever it looks like",
  visiting(async (visit: Visit) => {
    const { page, world } = visit;
    await world.session("agent", { agentType: attackWords[1]! });
    const by = { sessionId: "agent" };
    const id = await world.task({ title: attacks[1]!, prompt: attackText });
    await world.post(`/api/tasks/${id}/claim`, { ...by, start: true });
    await world.post(`/api/tasks/${id}/progress`, { ...by, note: attackText, percent: 5 });
    const options = attacks.slice(0, 20);
    await world.post(`/api/tasks/${id}/ask`, { ...by, question: attackText, options, default: attacks[1]! });
    await failed(world, attackText);
    await openInbox(page, world);
    const folded = page.getByRole("button", { name: /^Show all/ });
    await folded.first().waitFor();
    while ((await folded.count()) > 0) await folded.first().click();
    await page.locator("summary", { hasText: "Prompt" }).click();
    await page.keyboard.press("j");
    for (const key of "123456789") await page.keyboard.press(key);
    await expectHarmless(visit, world.url);
    await world.post(`/api/tasks/${id}/respond`, { response: attackText });
    await page.locator(".answer-foot", { hasText: "Answered" }).waitFor();
    await expectHarmless(visit, world.url);
  }),
);
