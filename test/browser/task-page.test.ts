// A task's page in a real browser, with real workers: what it shows, that it follows, and what people do on it.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { gone, waitFor } from "../cli/run-place.js";
import { eventually } from "../eventually.js";
import type { World } from "../http/support.js";
import { axeFindings, dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { openWorkshop } from "./worker.js";
import { attacks, attackText, attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();

async function open(page: Page, world: World, id: string): Promise<void> {
  await page.goto(`${world.url}/tasks/demo/${id}`);
  await isLive(page);
  await page.getByRole("heading", { level: 1 }).waitFor();
}

const state = (page: Page, word: string) =>
  page.locator(".task-header").getByText(word, { exact: true }).waitFor();
const story = (page: Page, text: string | RegExp) => page.locator(".task-entry", { hasText: text }).first();
const part = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const dialog = (page: Page) => page.getByRole("dialog");
const confirm = (page: Page, verb: string) =>
  dialog(page).getByRole("button", { name: verb, exact: true }).click();

describe("with real workers", () => {
  test(
    "an answer un-parks a child that waits for it; its log grows on the page, its result stays",
    visiting(async (visit) => {
      const { page, world } = visit;
      const { workOnce } = await openWorkshop(world);
      const id = await world.task({ title: "Paint the button", prompt: "Paint it." });
      await open(page, world, id);
      await state(page, "ready");
      const running = workOnce(
        `echo "reading the prompt"; answer=$(dibs ask --wait "Which colour?" --option teal --option blue)
         echo "chosen: $answer"; echo "painted $answer" > "$DIBS_RESULT_FILE"`,
      );
      await state(page, "waiting for an answer");
      await page.getByText("Log of attempt 1").click();
      await page.locator(".task-log", { hasText: "reading the prompt" }).waitFor();
      await part(page, "Holder").getByText("the lease clock is stopped until the answer").waitFor();

      await page.keyboard.press("a");
      await page.getByRole("button", { name: "blue" }).click();
      await page.getByText(`dibs answer ${id} --question q1 -- blue`).waitFor();
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      expect((await running.ended).code).toBe(0);
      await state(page, "completed");
      await part(page, "Result").getByText("painted blue").waitFor();
      await page.locator(".task-log", { hasText: "chosen: blue" }).waitFor();
      await story(page, /^asked.*Which colour\?/).waitFor();
      await story(page, /^answered.*blue/).waitFor();
      await story(page, "completed").waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "a failure is shown with its last words and retried; cancelling ends the child that runs",
    visiting(async (visit) => {
      const { page, world } = visit;
      const { place, workOnce } = await openWorkshop(world);
      const id = await world.task({ prompt: "Break.", maxRetries: 0 });
      await open(page, world, id);
      expect((await workOnce('echo "it broke here" >&2; exit 3').ended).code).toBe(1);
      await state(page, "failed");
      await part(page, "Error").getByText("it broke here").waitFor();
      await page.keyboard.press("r");
      await dialog(page).getByText(`dibs retry ${id}`).waitFor();
      await confirm(page, "Retry");
      await state(page, "ready");
      await story(page, "retried, it was failed").waitFor();

      const running = workOnce(`echo $$ > "$NOTES/pid"; ${waitFor("never")}`);
      const pid = Number(await place.noted("pid"));
      await state(page, "running");
      await page.keyboard.press("c");
      await dialog(page).getByLabel("Reason").fill("not needed");
      await dialog(page).getByText(`dibs cancel ${id} --reason 'not needed'`).waitFor();
      await confirm(page, "Cancel the task");
      await state(page, "cancelled");
      await gone(pid);
      await running.ended;
      await story(page, "cancelled: not needed").waitFor();
      expectQuiet(visit);
    }),
  );
});

describe("what people do", () => {
  test(
    "edits what they changed and nothing else, told as a command, and about others who edit at the same time",
    visiting(async ({ page, world }) => {
      const other = await world.task({ id: "base", prompt: "First." });
      const id = await world.task({ title: "Old title", prompt: "Old prompt", labels: ["ui"] });
      await open(page, world, id);
      await page.keyboard.press("e");
      await dialog(page).getByLabel("Title").fill("It's new");
      await dialog(page).getByText(`dibs edit ${id} --title 'It'\\''s new'`).waitFor();
      await dialog(page)
        .getByLabel(/^Labels/)
        .fill("ui\napi, v2");
      await page.keyboard.press("Escape");
      await dialog(page).getByText("Discard your changes?").waitFor();
      await dialog(page).getByRole("button", { name: "Keep editing" }).click();
      await dialog(page)
        .getByLabel(/^Depends on/)
        .fill(`${other} nothing-there`);
      await dialog(page)
        .getByLabel(/^Priority/)
        .fill("90");
      await confirm(page, "Save");
      await dialog(page).getByText("Dependency nothing-there not found.").waitFor();
      await dialog(page)
        .getByLabel(/^Depends on/)
        .fill(other);
      await world.patch(`/api/tasks/${id}`, { title: "Theirs", description: "from elsewhere" });
      await dialog(page).getByText("Another user has changed the title to “Theirs”.").waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await dialog(page).getByRole("button", { name: "Overwrite with mine" }).click();
      await confirm(page, "Save");
      await page.getByRole("heading", { name: "It's new" }).waitFor();
      await state(page, "blocked");
      expect((await world.get(`/api/tasks/${id}`)).body.task).toMatchObject({
        title: "It's new",
        prompt: "Old prompt",
        description: "from elsewhere",
        labels: ["ui", "api, v2"],
        dependsOn: [other],
        priority: 90,
      });
    }),
  );

  test(
    "takes a task from its holder by force; what that one reports later is shown, and not taken",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("agent-7", { agentType: "claude" });
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      await world.post(`/api/tasks/${id}/progress`, { sessionId: "agent-7", note: "half way", percent: 50 });
      await open(page, world, id);
      const holder = part(page, "Holder");
      await holder.getByText("agent-7").waitFor();
      await holder.getByText(/^lease \d+:\d\d/).waitFor();
      expect(await holder.getByRole("progressbar").getAttribute("value")).toBe("50");

      await page.getByRole("button", { name: "Release" }).click();
      await dialog(page).getByText(`dibs release ${id} --force`).waitFor();
      await confirm(page, "Release by force");
      await state(page, "ready");
      await story(page, "released").waitFor();
      expect(await holder.count()).toBe(0);

      const late = { sessionId: "agent-7", epoch: 1, result: "too late, but good" };
      expect((await world.post(`/api/tasks/${id}/complete`, late)).status).toBe(404);
      await page.reload();
      await story(page, "a result of attempt 1 arrived too late and was not applied")
        .getByText(late.result)
        .waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "keeps what they typed when somebody else answers first",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("agent-7");
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      await world.post(`/api/tasks/${id}/ask`, { sessionId: "agent-7", question: "Tabs or spaces?" });
      await open(page, world, id);
      const field = page.getByLabel(`Answer to ${id}`);
      await field.fill("spaces, because");
      await world.post(`/api/tasks/${id}/respond`, { response: "tabs" });
      await state(page, "running");
      await page.locator(".task-question").getByText("Answered: “tabs”").waitFor();
      expect(await field.inputValue()).toBe("spaces, because");
      await page.getByRole("button", { name: "Close" }).click();
      expect(await field.count()).toBe(0);
      expectQuiet(visit);
    }),
  );

  test(
    "finds the common calls as commands and for curl; what is refused says why in its place",
    visiting(async ({ page, world }) => {
      const id = await world.task();
      await open(page, world, id);
      await page.getByRole("button", { name: "Copy as…" }).click();
      await dialog(page).getByText(`dibs explain ${id}`).waitFor();
      // As on a page over plain http from another machine.
      await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await dialog(page).getByRole("button", { name: "Copy Show it" }).click();
      await dialog(page).getByText("press Ctrl+C").first().waitFor();
      expect(await page.evaluate("String(getSelection())")).toBe(`dibs show ${id}`);
      await dialog(page).getByRole("button", { name: "curl" }).click();
      await dialog(page).getByText(`curl -sS -X POST ${world.url}/api/tasks/${id}/cancel`).waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Cancel" }).click();
      await world.post(`/api/tasks/${id}/cancel`);
      await confirm(page, "Cancel the task");
      await dialog(page).getByRole("alert").getByText(`Task ${id} is already cancelled.`).waitFor();
    }),
  );
});

describe("what it shows", () => {
  test(
    "why it does not run, with the command that helps; parts, parents and dependencies follow live",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("agent-7");
      const group = await world.task({ type: "group", title: "All of it" });
      const first = await world.task({ title: "The first", parentId: group, maxRetries: 0 });
      const id = await world.task({ title: "The second", parentId: group, dependsOn: [first] });
      const third = await world.task({ title: "The third", dependsOn: [id] });
      await page.goto(`${world.url}/tasks/${id}`);
      await state(page, "blocked");
      const why = part(page, "Why it is not running");
      await why.getByText(`dibs claim ${first}`).waitFor();
      await part(page, "Subtask of").getByText("All of it").waitFor();
      await part(page, "Dependents").getByText("The third").waitFor();
      const needed = part(page, "Depends on");
      await needed.getByText("ready").waitFor();

      await world.post(`/api/tasks/${first}/claim`, { sessionId: "agent-7", start: true });
      await needed.getByText("running").waitFor();
      await world.post(`/api/tasks/${first}/fail`, { sessionId: "agent-7", error: "no" });
      await why.getByText(`dibs retry ${first}`).waitFor();
      await world.post(`/api/tasks/${first}/retry`);
      await world.post(`/api/tasks/${first}/claim`, { sessionId: "agent-7", start: true });
      await world.post(`/api/tasks/${first}/complete`, { sessionId: "agent-7", result: "yes" });
      await state(page, "ready");
      await story(page, "unblocked").getByRole("link", { name: first }).waitFor();
      await part(page, "Depends on").getByRole("link").click();
      await page.getByRole("heading", { name: "The first" }).waitFor();
      await part(page, "Result").getByText("yes").waitFor();
      await page.goto(`${world.url}/tasks/demo/${third}`);
      await part(page, "Why it is not running").getByRole("link", { name: id }).waitFor();
      await page.goto(`${world.url}/tasks/demo/${group}`);
      await part(page, "Subtasks").getByText("1/2 completed").waitFor();
      await part(page, "Subtasks").getByRole("link", { name: "The second" }).waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "a long story page by page from either end, and what happens meanwhile",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("agent-7");
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      const progress = (note: string) =>
        world.post(`/api/tasks/${id}/progress`, { sessionId: "agent-7", note });
      const notes = Array.from({ length: 270 }, (_, at) => `step ${at} is done`);
      while (notes.length > 0) {
        await Promise.all(notes.splice(0, 30).map(progress));
        // Events of others are in between.
        await Promise.all([world.task(), world.task(), world.task()]);
      }
      await progress("the last but one");
      let told = 0;
      page.on("response", (response) => {
        const count = async () => (await response.json()).events.length as number;
        if (/\/events\?/.test(response.url()))
          void count().then(
            (more) => (told += more),
            () => undefined,
          );
      });
      await open(page, world, id);
      await story(page, "the last but one").waitFor();
      const entries = page.locator(".task-entry");
      expect(await entries.count()).toBeLessThan(80);
      expect(told).toBeLessThan(200);
      await progress("the last one");
      await story(page, "the last one").waitFor();
      const older = page.getByRole("button", { name: "Show older" });
      while ((await older.count()) > 0) {
        const before = await entries.count();
        await older.click();
        await eventually(() => entries.count()).toBeGreaterThan(before);
        await page.locator(".task-entries[aria-busy=false]").waitFor();
      }
      // Each once, with the attempt that goes on, its claim, and the creation.
      expect(await entries.count()).toBe(275);
      await story(page, "created").waitFor();

      await page.reload();
      await page.getByLabel("Order of the timeline").selectOption("oldest");
      await entries.first().getByText("created").waitFor();
      const before = await entries.count();
      await page.getByRole("button", { name: "Show newer" }).click();
      await eventually(() => entries.count()).toBeGreaterThan(before);
      await page.waitForURL((url) => url.href.includes("order=oldest"));
      expectQuiet(visit);
    }),
  );

  test(
    "new entries do not move what somebody points at",
    visiting(async ({ page, world }) => {
      await world.session("agent-7");
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      await open(page, world, id);
      const created = story(page, "created");
      await created.hover();
      const before = await created.boundingBox();
      await world.post(`/api/tasks/${id}/progress`, { sessionId: "agent-7", note: "half way" });
      await page.getByRole("button", { name: "1 new" }).waitFor();
      await page.getByLabel("Holder").getByText("half way").waitFor();
      expect((await created.boundingBox())?.y).toBe(before?.y);
      expect(await story(page, "half way").count()).toBe(0);
      // Pressed without a pointer: one that leaves the list lets go of it by itself.
      await page.getByRole("button", { name: "1 new" }).dispatchEvent("click");
      await story(page, "half way").waitFor();
    }),
  );

  test(
    "that there is no such task",
    visiting(async ({ page, world }) => {
      await page.goto(`${world.url}/tasks/demo/0099`);
      await says(page, "Task 0099 not found in project demo.");
      await page.goto(`${world.url}/tasks/demo/soon`);
      await says(page, "Task soon not found in project demo.");
      await world.task({ id: "soon", title: "Here it is" });
      await page.getByRole("heading", { name: "Here it is" }).waitFor();
      await page.goto(`${world.url}/tasks/elsewhere/0001`);
      await says(page, "Task 0001 not found in project elsewhere.");
      await page.goto(`${world.url}/tasks/0099`);
      await says(page, "Task 0099 not found.");
      await page.goto(`${world.url}/tasks/demo/${encodeURIComponent("<b>x</b>")}`);
      await says(page, "Task <b>x</b> not found in project demo.");
    }),
  );
});

test(
  "what agents write is text on the page, whatever it looks like",
  visiting(async (visit) => {
    const { page, world } = visit;
    const by = { sessionId: "agent" };
    await world.session("agent", { agentType: attackWords[1]!, name: attackWords[0]! });
    const base = await world.task({ title: attacks[4]!, prompt: attackText, maxRetries: 0 });
    const id = await world.task({
      title: attacks[1]!,
      prompt: attackText,
      description: `${attackText}\nthe end`,
      labels: attackWords.slice(0, 20),
      phase: attackWords[2]!,
      files: attacks.slice(0, 20),
      metadata: { [attacks[0]!]: attackText },
      dependsOn: [base],
    });
    await world.post(`/api/tasks/${base}/claim`, { ...by, start: true });
    await world.post(`/api/tasks/${base}/fail`, { ...by, error: attackText });
    await open(page, world, id);
    await says(page, attacks[1]!);
    await open(page, world, base);
    await part(page, "Error")
      .getByRole("button", { name: /^Show all/ })
      .click();
    await part(page, "Error").getByText(attacks.at(-3)!).waitFor();
    await world.patch(`/api/tasks/${id}`, { dependsOn: [] });
    await world.post(`/api/tasks/${id}/claim`, { ...by, start: true });
    await world.post(`/api/tasks/${id}/log`, { ...by, text: `\u001b[31m${attackText}\u001b[0m\n` });
    await world.post(`/api/tasks/${id}/progress`, { ...by, note: attackText, percent: 10 });
    await world.post(`/api/tasks/${id}/ask`, {
      ...by,
      question: attackText,
      options: attacks.slice(0, 20),
      default: attacks[1]!,
    });
    await open(page, world, id);
    const folded = page.getByRole("button", { name: /^Show all/ });
    while ((await folded.count()) > 0) await folded.first().click();
    await page.getByText("Log of attempt 1").click();
    await page.locator(".task-log", { hasText: attacks[1]! }).waitFor();
    await page.getByRole("button", { name: attacks[0]! }).click();
    await expectHarmless(visit, world.url);
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog(page).getByText("More").click();
    await page.keyboard.press("Escape");
    await world.post(`/api/tasks/${id}/respond`, { response: attackText });
    const result = { output: attackText, filesCreated: attacks.slice(0, 9), filesModified: attacks.slice(9) };
    await world.post(`/api/tasks/${id}/complete`, { ...by, result });
    await part(page, "Result").getByText(attacks[9]!).first().waitFor();
    await story(page, "answered").getByText(attacks[0]!).waitFor();
    await expectHarmless(visit, world.url);

    // What those who wait for it say, and those who cancel it.
    const [assignee, name, correlationId] = attackWords as [string, string, string];
    const other = await world.task({ requires: attackWords.slice(0, 9), assignee, correlationId });
    const token = await world.tokenFor("leader", name);
    await world.post(`/api/tasks/${other}/cancel`, { reason: attacks[1] }, { token });
    await open(page, world, other);
    await story(page, `cancelled: ${attacks[1]}`).getByText(name).first().waitFor();
    await expectHarmless(visit, world.url);
  }),
);
