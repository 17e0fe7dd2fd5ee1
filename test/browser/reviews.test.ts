// Reviews in a real browser: people approve and request changes on the task page and in the inbox, and read patches by anybody.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.js";
import type { World } from "../http/support.js";
import { axeFindings, dashboard, expectQuiet, isLive, says } from "./dashboard.js";
import { commitOf, type Handed, Landing } from "./landing.js";
import { attackText, attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();

async function openTask(page: Page, world: World, { taskId }: Handed, query = ""): Promise<void> {
  await page.goto(`${world.url}/tasks/demo/${taskId}${query}`);
  await isLive(page);
  await page.getByRole("heading", { name: /^Submission \d+$/ }).waitFor();
}

async function openInbox(page: Page, world: World): Promise<void> {
  await page.goto(`${world.url}/inbox`);
  await isLive(page);
  await page.getByRole("heading", { name: /^Questions/ }).waitFor();
}

const panel = (page: Page) => page.locator(".submission");
const review = (page: Page, title: string) => page.locator(".inbox-review", { hasText: title });
const dialog = (page: Page) => page.locator("dialog[open]");
const badge = (page: Page) => page.getByTitle("questions, reviews, held landings and failures");
const submissionOf = async (world: World, { taskId }: Handed) =>
  (await world.get(`/api/tasks/${taskId}/submission`)).body.submission;

/** Withdrawn and handed in again: the number is another. */
async function replace(world: World, landing: Landing, { taskId }: Handed): Promise<Handed> {
  await world.post(`/api/tasks/${taskId}/withdraw`);
  return landing.toReview({ id: taskId, summary: "Once more." });
}

describe("on the task page", () => {
  test(
    "a submission shows what it is, and is approved by keyboard",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const task = await landing.submit({ title: "Paint it teal", summary: "All walls are teal." });
      const id = await landing.begin();
      await openTask(page, world, task);
      await panel(page).getByText("waiting to land", { exact: true }).waitFor();
      await panel(page).getByText("No check has run.").waitFor();
      await landing.checks(
        id,
        task,
        { name: "lint", state: "flaky" },
        { name: "test", state: "passed", logTail: "\u001b[32m12 passed\u001b[0m\n\u202ereversed" },
      );
      await panel(page).getByText("flaky").waitFor();
      await landing.inspect(id, task, { reviewPaths: ["package.json"] });
      await panel(page).getByText("waiting for review").waitFor();
      for (const text of ["All walls are teal.", `dibs/${task.taskId}`, commitOf(1).slice(0, 12), "1 file"])
        await panel(page).getByText(text).first().waitFor();
      await panel(page).getByText("It changes package.json, which needs a person's approval.").waitFor();
      await panel(page).getByText("End of the log of test").click();
      await panel(page).getByText("12 passed ⟨U+202E⟩reversed").waitFor();
      expect(await axeFindings(page)).toEqual([]);

      await page.keyboard.press("p");
      await panel(page).getByText("+after").waitFor();
      await page.keyboard.press("a");
      await dialog(page).getByText("Approve submission 1 of").waitFor();
      await page.keyboard.type("Reads well.");
      await page.keyboard.press("Enter");
      await says(page, `Submission 1 of ${task.taskId} was approved.`);
      await panel(page).getByText("It has the approval that it needs.").waitFor();
      await panel(page).getByText("Reads well.").waitFor();
      await panel(page).getByText("waiting to land").waitFor();
      expect(await panel(page).getByRole("button", { name: "Approve" }).count()).toBe(0);
      expect((await submissionOf(world, task)).reviews).toMatchObject([
        { verdict: "approve", kind: "human", comment: "Reads well." },
      ]);
      await landing.land(task, 7);
      await panel(page).getByText("landed", { exact: true }).waitFor();
      await panel(page)
        .getByText(`git show ${commitOf(7)}`)
        .waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "changes are requested with a reason, which the next submission still shows",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const task = await landing.toReview({ title: "Paint it teal" });
      await openTask(page, world, task);
      await panel(page).getByRole("button", { name: "Request changes" }).click();
      const send = dialog(page).getByRole("button", { name: "Request changes" });
      expect(await send.isDisabled()).toBe(true);
      await dialog(page).getByRole("textbox").fill("   ");
      expect(await send.isDisabled()).toBe(true);
      await dialog(page).getByRole("textbox").fill("Blue, <b>please</b>");
      await dialog(page).getByText(`dibs reject ${task.taskId} -- 'Blue, <b>please</b>'`).waitFor();
      await send.click();
      await panel(page).getByText("returned: changes requested").waitFor();
      await panel(page).getByText("Blue, <b>please</b>").first().waitFor();
      expect((await world.get(`/api/tasks/${task.taskId}`)).body.task).toMatchObject({ state: "queued" });

      await landing.toReview({ id: task.taskId, summary: "Blue now." });
      await panel(page).getByRole("heading", { name: "Submission 2" }).waitFor();
      await panel(page).getByText("Blue now.").waitFor();
      await panel(page).getByText("Earlier submissions 1").waitFor();
      await panel(page).getByText("returned: changes requested").waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "a verdict on an old version is refused visibly, and a reader is not moved to the new one",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const task = await landing.toReview({ title: "Paint it teal" });
      await openTask(page, world, task, "?patch=open");
      await panel(page).getByText("+after").waitFor();
      for (const [name, old] of [
        ["Approve", 1],
        ["Request changes", 2],
      ] as const) {
        await panel(page).getByRole("button", { name }).click();
        if (name === "Request changes") await dialog(page).getByRole("textbox").fill("No.");
        await replace(world, landing, task);
        await page.getByText(`You are reading submission ${old}.`).waitFor();
        await dialog(page).getByRole("button", { name }).click();
        const refusal = dialog(page).getByRole("alert");
        await refusal
          .getByText(`Submission ${old} of task ${task.taskId} was withdrawn; the last one is ${old + 1}.`)
          .waitFor();
        await refusal.getByText("Your verdict was not recorded.").waitFor();
        await dialog(page).getByRole("button", { name: "Back" }).click();
        expect(await submissionOf(world, task)).toMatchObject({
          number: old + 1,
          reviews: [],
          stage: "review",
        });
        await panel(page).getByText("withdrawn").first().waitFor();
        await panel(page).getByText("+after").waitFor();
        await page.getByRole("button", { name: `Show submission ${old + 1}` }).click();
        await panel(page)
          .getByRole("heading", { name: `Submission ${old + 1}` })
          .waitFor();
      }
      // Refusals are answers of the server, which a browser reports.
      expect(visit.troubles.every((text) => text.includes("409"))).toBe(true);
    }),
  );

  test(
    "own work is approved only by somebody who says so; others see who is allowed to",
    visiting(async (visit) => {
      const { world, another } = visit;
      const landing = await Landing.open(world, { review: "human" });
      // An admin's token is shared; this person has one of their own.
      const { page } = await another();
      const { code: own } = (await world.post("/api/auth/code", { role: "leader" })).body;
      await page.goto(`${world.url}/#code=${own}`);
      await isLive(page);
      // Handed in by the person, with the sign-in of this page.
      const taskId = await world.task({ title: "My own" });
      const posts = [
        ["/api/sessions", { id: "me" }],
        [`/api/tasks/${taskId}/claim`, { sessionId: "me", start: true }],
        [`/api/tasks/${taskId}/submit`, { sessionId: "me", commit: commitOf(1) }],
      ];
      for (const [path, body] of posts) {
        const call = `fetch(${JSON.stringify(path)}, { method: "POST", headers: { "content-type": "application/json" },
          body: ${JSON.stringify(JSON.stringify(body))} }).then((answer) => answer.status)`;
        expect(await page.evaluate(call)).toBeLessThan(300);
      }
      const mine = { taskId, submission: 1 };
      await landing.inspect(await landing.begin(), mine);
      await openTask(page, world, mine);
      await panel(page).getByRole("button", { name: "Approve" }).click();
      await dialog(page).getByRole("button", { name: "Approve" }).click();
      await dialog(page).getByRole("alert").getByText("was worked on by the same agent or token").waitFor();
      await dialog(page).getByLabel("Approve my own work; this is recorded").check();
      await dialog(page).getByText(`dibs approve ${taskId} --own`, { exact: true }).waitFor();
      await dialog(page).getByRole("button", { name: "Approve" }).click();
      await panel(page).getByText("· own work").waitFor();

      const task = await landing.toReview({ title: "Of an agent" });
      const other = await another();
      const { code } = (await world.post("/api/auth/code", { role: "worker" })).body;
      await other.page.goto(`${world.url}/#code=${code}`);
      await isLive(other.page);
      await openTask(other.page, world, task);
      const button = panel(other.page).getByRole("button", { name: "Approve" });
      expect(await button.isDisabled()).toBe(true);
      expect(await button.getAttribute("title")).toBe("You are signed in as worker; this needs leader.");
      expectQuiet({ ...other, world, another });
    }),
  );
});

describe("in the inbox", () => {
  test(
    "reviews are counted, and approved or sent back in place",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      await landing.lease();
      await openInbox(page, world);
      await badge(page).getByText("0", { exact: true }).waitFor();
      const one = await landing.toReview({ title: "Paint it teal", summary: "All walls are teal." });
      const two = await landing.toReview({ title: "Paint it blue" });
      await badge(page).getByText("2", { exact: true }).waitFor();
      for (const text of ["All walls are teal.", "test passed", "1 file", "submission 1 by ada"])
        await review(page, "teal").getByText(text).waitFor();
      expect(await axeFindings(page)).toEqual([]);

      // Reading about a review does not make it.
      await page.getByRole("button", { name: "Mark all as read" }).click();
      await page.getByText("0 marked as read.").waitFor();
      expect(await badge(page).textContent()).toBe("2");

      await page.keyboard.press("j");
      await page.keyboard.press("a");
      await dialog(page).getByText(`Approve submission 1 of ${one.taskId}?`).waitFor();
      await page.keyboard.press("Enter");
      await badge(page).getByText("1", { exact: true }).waitFor();
      await eventually(async () => (await submissionOf(world, one)).approved).toBe(true);

      await review(page, "blue").getByRole("button", { name: "Request changes" }).click();
      await dialog(page).getByRole("textbox").fill("Teal.");
      await dialog(page).getByRole("button", { name: "Request changes" }).click();
      await badge(page).getByText("0", { exact: true }).waitFor();
      expect((await submissionOf(world, two)).end).toMatchObject({
        as: "returned",
        reason: "changes-requested",
        detail: "Teal.",
      });
      await page.getByRole("heading", { name: "Inbox" }).click();
      await eventually(() => page.locator(".inbox-review").count()).toBe(0);

      await landing.toReview({ title: "Paint it green" });
      await review(page, "green").getByRole("link", { name: "Open patch" }).click();
      await panel(page).getByText("+after").waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "a verdict on an old version is refused visibly",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const task = await landing.toReview({ title: "Paint it teal" });
      await openInbox(page, world);
      await review(page, "teal").getByRole("button", { name: "Approve" }).click();
      await replace(world, landing, task);
      await dialog(page).getByRole("button", { name: "Approve" }).click();
      await dialog(page).getByRole("alert").getByText("Your verdict was not recorded.").waitFor();
      expect(await submissionOf(world, task)).toMatchObject({ number: 2, approved: false });
    }),
  );

  test(
    "a held landing has its reason and the command that helps, and leaves when it has ended",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world);
      await openInbox(page, world);
      const waits = await landing.submit({ title: "Waits" });
      const hold = page.locator(".inbox-hold");
      await hold.getByText("dibs land", { exact: true }).waitFor();
      await badge(page).getByText("1", { exact: true }).waitFor();
      await landing.held({
        reason: "DIRTY_CHECKOUT",
        message: "src/a.ts has changes in the checkout of main.",
        fix: "git stash",
        tasks: [{ taskId: waits.taskId }],
      });
      await hold.getByText("src/a.ts has changes in the checkout of main.").waitFor();
      await hold.getByText("git stash", { exact: true }).waitFor();
      await hold.getByRole("link", { name: new RegExp(waits.taskId) }).waitFor();
      await badge(page).getByText("1", { exact: true }).waitFor();
      await landing.held();
      await badge(page).getByText("0", { exact: true }).waitFor();
      await eventually(() => hold.count()).toBe(0);
      expectQuiet(visit);
    }),
  );
});

const file = (path: string, lines: string) => `diff --git a/${path} b/${path}
index 1111111..2222222 100644
--- a/${path}
+++ b/${path}
@@ -1,1 +1,9 @@
${lines}
`;

const added = (text: string) =>
  text
    .split("\n")
    .map((line) => `+${line}`)
    .join("\n");

describe("a patch by anybody", () => {
  test(
    "is shown as text: markup, escape sequences and bidirectional controls",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const trojan = 'if (user !== "admin\u202e \u2066// check\u2069 \u2066") {';
      const patch = [
        file("src/a.ts", added(attackText)),
        file("b\u202e.ts", added(`\u001b[2J\u001b]0;pwned\u0007\u001b[31m\n${trojan}\nzero\u200bwidth\rcr`)),
        ...attackWords.map((name, at) => file(`${at} ${name}`, "+x")),
      ].join("");
      const task = await landing.toReview({ title: "Hostile", summary: attackText, agent: "ada" }, { patch });
      await openTask(page, world, task, "?patch=open");
      const files = panel(page).locator(".patch-file");
      await files.nth(attackWords.length).waitFor();
      await files.nth(0).locator("summary").click();
      await files.nth(0).getByText("+<script>window.pwned='script'</script>", { exact: true }).waitFor();
      await files.nth(1).getByText("b⟨U+202E⟩.ts").first().waitFor();
      await files.nth(1).getByText("hidden characters").waitFor();
      await files.nth(1).locator("summary").click();
      await files.nth(1).getByText("+␛[2J␛]0;pwned␇␛[31m").waitFor();
      await files
        .nth(1)
        .getByText('+if (user !== "admin⟨U+202E⟩ ⟨U+2066⟩// check⟨U+2069⟩ ⟨U+2066⟩") {')
        .waitFor();
      await files.nth(1).getByText("+zero⟨U+200B⟩width␍cr").waitFor();
      for (let at = 2; at < 12; at++) await files.nth(at).locator("summary").click();
      await panel(page).locator(".patch-file[open]").nth(11).waitFor();
      await expectHarmless(visit, world.url);
      await openInbox(page, world);
      await review(page, "Hostile").waitFor();
      await expectHarmless(visit, world.url);
    }),
  );

  test(
    "does not freeze the page, whatever a megabyte is made of",
    visiting(async (visit) => {
      const { page, world } = visit;
      const landing = await Landing.open(world, { review: "human" });
      const size = 1024 * 1024 - 2_000;
      const bodies = {
        "one line": `+${"x".repeat(size)}`,
        "empty lines": "+\n".repeat(size / 2),
        "lines of bidirectional controls": `+${"a\u202e".repeat(250)}\n`.repeat(Math.floor(size / 1_002)),
        "long lines": `+${"<b>wide</b>".repeat(900)}\n`.repeat(Math.floor(size / 9_902)),
      };
      const small = file("small.ts", "+x");
      const patches = [
        ...Object.entries(bodies).map(([name, body]) => file(name, body)),
        small.repeat(Math.floor(size / small.length)),
      ];
      for (const [at, patch] of patches.entries()) {
        const task = await landing.toReview({ title: `Large ${at}` }, { patch, omitted: 3 });
        await openTask(page, world, task, "?patch=open");
        const first = panel(page).locator(".patch-file").first();
        await first.waitFor();
        await panel(page).getByText("3 more files were left out").waitFor();
        await first.locator("summary").click();
        await first.locator(".patch-line").nth(5).waitFor();
        // Drawn lines are bounded, and the page answers while they are shown.
        expect(await panel(page).locator(".patch-line").count()).toBeLessThanOrEqual(300);
        expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(3_000);
        expect(await answersIn(page, 2_000)).toBeLessThan(2_000);
        const more = panel(page)
          .getByRole("button", { name: /^Show .* more/ })
          .first();
        if (await more.count()) {
          const before = await panel(page).locator(".patch-line, .patch-file").count();
          await more.click();
          await eventually(() => panel(page).locator(".patch-line, .patch-file").count()).toBeGreaterThan(
            before,
          );
          expect(await answersIn(page, 4_000)).toBeLessThan(4_000);
        }
        await page.keyboard.press("a");
        await dialog(page).getByText("Approve submission 1 of").waitFor();
        await page.keyboard.press("Escape");
      }
      await expectHarmless(visit, world.url);
    }),
  );
});

/** The best of some: a machine that does something else meanwhile is not the page's fault. */
async function answersIn(page: Page, enoughMs: number): Promise<number> {
  const delays: number[] = [];
  while (delays.length < 8 && !(Math.min(...delays) < enoughMs)) delays.push(await answerIn(page));
  return Math.min(...delays);
}

/** How long a click takes until the page has been drawn again, in milliseconds. */
function answerIn(page: Page): Promise<number> {
  return page.evaluate(`new Promise((done) => {
    const start = performance.now();
    const button = document.querySelector("button[aria-label='Light or dark']");
    button.click();
    button.click();
    scrollBy(0, 200);
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
  })`) as Promise<number>;
}
