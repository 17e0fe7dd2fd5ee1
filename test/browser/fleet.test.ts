// The fleet as people see it: a card per session, told by leases and heartbeats only.

import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.js";
import { axeFindings, dashboard, expectQuiet, isLive, placeOf, pressHere, says } from "./dashboard.js";
import { attackWords, expectHarmless } from "./xss.js";

const visiting = dashboard();

describe("the fleet", () => {
  test(
    "shows a card per session with its task, and follows what happens to it",
    visiting(async (visit) => {
      const { page, world } = visit;
      await world.session("agent-7", { agentType: "cli", capacity: 1 });
      await world.session("agent-8");
      await world.post("/api/sessions/agent-7/heartbeat", { contextPercent: 67, score: 92 });
      const id = await world.task({ prompt: "Write the parser", phase: "implementation" });
      const card = page.locator(".card", { hasText: "agent-7" });
      await card.getByText("idle").first().waitFor();
      const graphLink = page.getByRole("link", { name: "Graph" });
      const place = await placeOf(graphLink);
      await card.getByText("[CLI]").waitFor();
      await card.getByText("67% ctx").waitFor();
      await card.getByTitle("score").getByText("92").waitFor();

      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      await card.getByRole("link", { name: "Write the parser" }).waitFor();
      await card.getByText("[IMPL]").waitFor();
      await card.getByText(/^lease \d+:\d\d$/).waitFor();
      expect(await card.getAttribute("data-health")).toBe("working");

      await world.post(`/api/tasks/${id}/progress`, { sessionId: "agent-7", note: "half way", percent: 50 });
      await card.getByText("half way").waitFor();
      expect(await card.getByRole("progressbar").getAttribute("value")).toBe("50");

      const patience = (staleAfterMs: number) =>
        world.patch("/api/projects/demo", { settings: { claim: { staleAfterMs } } });
      await patience(1);
      await page.locator(".card[data-health=stalled]").waitFor();
      await patience(300_000);
      await page.locator(".card[data-health=working]").waitFor();

      await world.post(`/api/tasks/${id}/ask`, { sessionId: "agent-7", question: "Which grammar?" });
      await card.getByText("waiting for an answer").waitFor();
      await card.getByText("lease paused").waitFor();
      // Nothing else in the bar moved when the question came.
      expect(await placeOf(graphLink)).toEqual(place);
      await eventually(() => page.title()).toMatch(/^\(1\) .*Dibs$/);
      await page.getByRole("button", { name: "working 0" }).click();
      await says(page, "No session matches.");
      await page.waitForURL((url) => url.href.includes("health=working"));
      await page.getByRole("button", { name: "working 0" }).click();

      await world.post(`/api/tasks/${id}/respond`, { response: "PEG" });
      await world.post(`/api/tasks/${id}/complete`, { sessionId: "agent-7", result: "done" });
      await card.getByText("1/1 tasks").waitFor();
      const beside = page.locator(".card", { hasText: "agent-8" });
      const height = async () => (await beside.boundingBox())?.height;
      const before = await height();
      await card.getByText("Last claim").click();
      await card.getByText("completed").waitFor();
      expect(await height()).toBe(before);
      await eventually(() => page.title()).toMatch(/^[^(]*Dibs$/);
      expectQuiet(visit);
    }),
  );

  test(
    "shows a lease that ran out as lost, until the session is heard of again",
    visiting(async ({ page, world }) => {
      await world.patch("/api/projects/demo", { settings: { claim: { minTtlMs: 1 } } });
      await world.session("agent-7");
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", ttlMs: 10_000, start: true });
      await page.locator(".card[data-health=working]").waitFor();
      const lost = page.locator(".card[data-health=lost]");
      await lost.getByText("ttl").waitFor();
      await page.reload();
      await lost.getByRole("link", { name: id }).waitFor();
      await world.post("/api/sessions/agent-7/heartbeat");
      await page.reload();
      await page.locator(".card[data-health=idle]").waitFor();
    }),
  );

  test(
    "shows a session whose process died with its task as lost",
    visiting(async ({ page, world }) => {
      const agent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
      try {
        await world.session("agent-7", { pid: agent.pid });
        const id = await world.task();
        await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
        await page.locator(".card[data-health=working]").waitFor();
      } finally {
        agent.kill("SIGKILL");
      }
      await page.locator(".card[data-health=lost]").getByText("process gone").waitFor();
    }),
  );

  test(
    "shows everything a session holds, goes by the store's clock, and keeps the chosen project",
    visiting(async ({ page, world }) => {
      await world.post("/api/projects", { id: "other" });
      await world.session("agent-7", { capacity: 3, agentType: "autonomous" });
      const [first, second] = [await world.task({ title: "One" }), await world.task({ title: "Two" })];
      for (const id of [first, second])
        await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      // The browser's clock is an hour ahead: the leases would be over.
      await page.clock.install({ time: Date.now() + 3_600_000 });
      await page.goto(`${world.url}/?project=demo`);
      const card = page.locator(".card[data-health=working]");
      await card.getByText("[AUTO]").waitFor();
      await card.getByText(/^lease (?:29|30):/).waitFor();
      await card.getByText(/^\d+s ago$/).waitFor();
      await card.getByRole("list", { name: "Also held" }).getByRole("link", { name: "One" }).waitFor();
      await world.post(`/api/tasks/${first}/ask`, { sessionId: "agent-7", question: "Which?" });
      await page.locator(".card[data-health=waiting]").waitFor();

      await page.getByRole("link", { name: "One", exact: true }).click();
      await page.waitForURL(`${world.url}/tasks/demo/${first}?project=demo`);
      await page.getByLabel("Project", { exact: true }).selectOption("other");
      await page.waitForURL(`${world.url}/queue?project=other`);
    }),
  );

  test(
    "keeps every card where it is under the pointer, whatever agents take and finish meanwhile",
    visiting(async (visit) => {
      const { page, world } = visit;
      const sessions = ["a", "b", "c", "d", "e", "f", "g"];
      for (const id of sessions) await world.session(id);
      for (const id of sessions) await world.task({ id: `of-${id}`, title: `Task of ${id}` });
      const take = (id: string) => world.post(`/api/tasks/of-${id}/claim`, { sessionId: id, start: true });
      await take("f");
      await take("g");
      const card = (id: string) => page.locator(".card", { hasText: `#${id}` });
      const link = card("g").getByRole("link", { name: "Task of g" });
      await link.hover();
      const places = () => Promise.all(sessions.map((id) => placeOf(card(id))));
      const before = await places();
      await take("a");
      await world.post("/api/tasks/of-a/progress", { sessionId: "a", note: "half way", percent: 50 });
      await world.post("/api/tasks/of-a/ask", { sessionId: "a", question: "Which?" });
      await card("a").getByText("waiting for an answer").waitFor();
      await world.post("/api/tasks/of-f/complete", { sessionId: "f", result: "done" });
      await card("f").getByText("Idle", { exact: true }).waitFor();
      await world.delete("/api/sessions/b");
      await page.locator(".card[data-gone]").waitFor();
      await world.session("new");
      await card("new").waitFor();
      expect(await places()).toEqual(before);
      await pressHere(page);
      await page.waitForURL(/\/tasks\/demo\/of-g$/);
      await page.goBack();
      await page.mouse.move(5, 5);
      await page.locator(".card").first().getByText("waiting for an answer").waitFor();
      expectQuiet(visit);
    }),
  );

  test(
    "can be of one project or of all",
    visiting(async ({ page, world }) => {
      await world.post("/api/projects", { id: "other" });
      await world.session("here");
      await world.post("/api/sessions", { id: "there", project: "other" });
      await world.task();
      await page.locator(".card", { hasText: "there" }).waitFor();
      await page.getByLabel("Project", { exact: true }).selectOption("other");
      await page.locator(".card", { hasText: "here" }).first().waitFor({ state: "visible" });
      await page.locator(".card").nth(1).waitFor({ state: "detached" });
      expect(await page.locator(".card").allInnerTexts()).toEqual([expect.stringContaining("there")]);
      await page.getByRole("link", { name: "Queue", exact: true }).click();
      await page.waitForURL(`${world.url}/queue?project=other`);

      // What looks ready is not to be had in a project that is paused.
      await world.post("/api/projects/demo/pause");
      await world.post("/api/projects/other/pause");
      const paused = page.getByRole("button", { name: "paused" });
      await paused.click();
      await page.getByRole("dialog").getByText("dibs project resume other").waitFor();
      expect(await page.getByRole("dialog").textContent()).not.toContain("demo");
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await world.post("/api/projects/other/resume");
      await paused.waitFor({ state: "detached" });
    }),
  );

  test(
    "shows what agents call themselves as text, whatever it looks like",
    visiting(async (visit) => {
      const { page, world } = visit;
      for (const [no, word] of attackWords.entries()) {
        await world.session(`s${no}`, { agentType: word, name: word });
        const id = await world.task({ prompt: word, title: word, phase: word });
        await world.post(`/api/tasks/${id}/claim`, { sessionId: `s${no}`, start: true });
        await world.post(`/api/tasks/${id}/progress`, { sessionId: `s${no}`, note: word });
      }
      await page
        .locator(".card")
        .nth(attackWords.length - 1)
        .waitFor();
      await expectHarmless(visit, world.url);
      await page.keyboard.press("g");
      await page.keyboard.press("m");
      await page.getByRole("rowheader", { name: "s9", exact: true }).waitFor();
      await expectHarmless(visit, world.url);
    }),
  );
});

describe("the first minute", () => {
  test(
    "an empty store explains itself, and the first task is a sentence away",
    visiting(async (visit) => {
      const { page, world } = visit;
      await says(page, "No tasks yet");
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await axeFindings(page), colorScheme).toEqual([]);
      }
      await page.getByLabel("What should an agent do?").fill("Say hello");
      await page.getByRole("button", { name: "Add the first task" }).click();
      await page.waitForURL(/\/tasks\/demo\/0001$/);
      expect((await world.get("/api/tasks/0001")).body.task.prompt).toBe("Say hello");
      await page.getByRole("link", { name: "Fleet", exact: true }).click();
      await says(page, "No agents yet.");
      expectQuiet(visit);
    }),
  );
});

test.each(["light", "dark"] as const)("the fleet is accessible in %s", async (colorScheme) => {
  await visiting(
    async ({ page, world }) => {
      for (const name of ["a", "b"]) await world.session(name, { agentType: "cli" });
      const id = await world.task();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "a", start: true });
      await page.locator(".card[data-health=working]").waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press("?");
      await says(page, "Keys and filters");
      // It is longer than the screen, and is read from its beginning.
      expect(await page.evaluate("document.querySelector('dialog').scrollTop")).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await page.waitForURL(/\/queue$/);
      await isLive(page);
    },
    { colorScheme },
  )();
});
