// The printed link in a real browser, as a person would use it.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { on, type World } from "../http/support.js";
import { launchBrowser, openPage, type Watched } from "./chromium.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** One server and one fresh browser profile. */
const visiting = (
  story: (world: World, watched: Watched) => Promise<void>,
  limits: Record<string, number> = {},
) =>
  on(
    "sqlite",
    async (world) => {
      const watched = await openPage(browser);
      try {
        await story(world, watched);
      } finally {
        await watched.context.close();
      }
    },
    { limits },
  );

const isLive = ({ page }: Watched) => page.locator("#status[data-state=live]").waitFor();
const says = ({ page }: Watched, text: string | RegExp) => page.getByText(text).first().waitFor();

describe("the link that serve prints", () => {
  test(
    "signs in, leaves nothing in the address, and shows live what happens",
    visiting(async (world, watched) => {
      const { page, troubles, hosts, context } = watched;
      const link = world.server.link();
      await page.goto(link);
      await isLive(watched);
      expect(page.url()).toBe(`${world.url}/`);
      expect(
        await page.evaluate("JSON.stringify([location.hash, history.length, { ...localStorage }])"),
      ).toBe(JSON.stringify(["", 2, {}]));
      expect(await page.evaluate("document.cookie")).toBe("");
      const [cookie, ...others] = await context.cookies();
      expect(others).toEqual([]);
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });

      await world.session("agent-7");
      const id = await world.task({ prompt: "Write the parser" });
      await page.locator("#events li", { hasText: "task:created" }).filter({ hasText: id }).waitFor();
      await page.locator("#sessions li", { hasText: "agent-7" }).filter({ hasText: "idle" }).waitFor();
      await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent-7", start: true });
      await page.locator("#sessions li", { hasText: "Write the parser" }).waitFor();
      await world.post(`/api/tasks/${id}/ask`, { sessionId: "agent-7", question: "Which grammar?" });
      await page.locator("#questions li", { hasText: "Which grammar?" }).waitFor();
      const available = page.locator("#counts div", { hasText: "available" }).locator("dd");
      await world.task();
      await available.getByText("1", { exact: true }).waitFor();

      expect(troubles).toEqual([]);
      expect([...hosts]).toEqual([new URL(world.url).host]);
    }),
  );

  test(
    "is needed once: the browser stays signed in over a reload, at every address, and when the link is opened again",
    visiting(async (world, watched) => {
      const link = world.server.link();
      await watched.page.goto(link);
      await isLive(watched);
      await watched.page.reload();
      await isLive(watched);
      await watched.page.goto(`${world.url}/tasks/0001`);
      await isLive(watched);
      expect(watched.troubles).toEqual([]);
      await watched.page.goto(link);
      await isLive(watched);
      expect(watched.page.url()).toBe(`${world.url}/`);
    }),
  );

  test(
    "used a second time elsewhere says so, shows nothing and leaves the address clean",
    visiting(async (world, watched) => {
      await world.task({ prompt: "not for everybody" });
      const link = world.server.link();
      await watched.page.goto(link);
      await isLive(watched);
      const stranger = await openPage(browser);
      await stranger.page.goto(link);
      await says(stranger, "This link was used already, or is too old.");
      await says(stranger, "Not signed in");
      expect(stranger.page.url()).toBe(`${world.url}/`);
      expect(await stranger.page.content()).not.toContain("not for everybody");
      expect(await stranger.page.locator("#in").isVisible()).toBe(false);
      expect(await stranger.context.cookies()).toEqual([]);
      await stranger.context.close();
    }),
  );

  test(
    "is what a visitor without it is told to open",
    visiting(async (world, watched) => {
      await watched.page.goto(`${world.url}/`);
      await says(watched, "You are not signed in.");
      await says(watched, /Open the link that dibs serve prints/);
    }),
  );
});

test(
  "the page is live again by itself after the server was away",
  visiting(
    async (world, watched) => {
      await watched.page.goto(world.server.link());
      await isLive(watched);
      await world.server.close();
      await says(watched, "The connection is lost; trying again…");
      await world.start();
      await isLive(watched);
      const id = await world.task();
      await watched.page.locator("#events li", { hasText: id }).first().waitFor();
    },
    { retryMs: 50 },
  ),
);

test(
  "a page whose token is revoked stops showing anything",
  visiting(
    async (world, watched) => {
      await world.task({ prompt: "not for everybody" });
      await watched.page.goto(world.server.link());
      await isLive(watched);
      const { tokens } = (await world.get("/api/tokens")).body;
      const { id } = tokens.find(({ name }: { name: string }) => name === "dashboard");
      await world.delete(`/api/tokens/${id}`);
      await says(watched, "Not signed in");
      expect(await watched.page.locator("#in").isVisible()).toBe(false);
    },
    { commentMs: 50, retryMs: 50 },
  ),
);

test(
  "what agents write is text on the page, whatever it looks like",
  visiting(async (world, watched) => {
    const { page, troubles } = watched;
    const image = `<img src=x onerror="window.pwned = 1">`;
    const script = `</script><script>window.pwned = 2</script>`;
    const link = `<a href="javascript:window.pwned = 3">here</a>`;
    await page.goto(world.server.link());
    await isLive(watched);
    const session = { id: "agent", agentType: image, name: script };
    await world.post("/api/sessions", session);
    const id = await world.task({
      prompt: image,
      title: `${script} ${link}`,
      labels: [image],
      phase: script,
    });
    await world.post(`/api/tasks/${id}/claim`, { sessionId: "agent", start: true });
    await world.post(`/api/tasks/${id}/progress`, { sessionId: "agent", note: image });
    await page.locator("#sessions li", { hasText: link }).filter({ hasText: image }).waitFor();
    await world.post(`/api/tasks/${id}/ask`, {
      sessionId: "agent",
      question: `${image}${script}`,
      options: [script, "\u202egnp.exe"],
    });
    await page.locator("#questions li", { hasText: `${image}${script}` }).waitFor();
    await page.locator("#events li", { hasText: "task:progress" }).filter({ hasText: image }).waitFor();
    await page.reload();
    await page.locator("#questions li", { hasText: image }).waitFor();
    expect(await page.evaluate("String(window.pwned)")).toBe("undefined");
    const made = "main img, main script, main a, main [onerror]";
    expect(await page.locator(made).count()).toBe(0);
    expect(troubles).toEqual([]);
  }),
);

test(
  "without auth the page is just there",
  on(
    "sqlite",
    async (world) => {
      const watched = await openPage(browser, { colorScheme: "dark" });
      await watched.page.goto(world.server.link());
      await isLive(watched);
      await world.task({ prompt: "hello" });
      await says(watched, "task:created");
      expect(watched.troubles).toEqual([]);
      expect(await watched.context.cookies()).toEqual([]);
      await watched.context.close();
    },
    { auth: false },
  ),
);

test(
  "the reference is shown to everybody, whole, and asks nobody else for anything",
  visiting(async (world, { page, troubles, hosts }) => {
    await page.goto(`${world.url}/reference`);
    await page.getByRole("heading", { name: "Dibs HTTP API" }).waitFor();
    for (const text of ["/api/tasks/claim-next", "TASK_ALREADY_CLAIMED", "/api/events/stream"]) {
      expect(await page.getByText(text).first().isVisible(), text).toBe(true);
    }
    const isStyled = `getComputedStyle(document.querySelector("nav")).backgroundColor !== "rgba(0, 0, 0, 0)"`;
    expect(await page.evaluate(isStyled)).toBe(true);
    expect(troubles).toEqual([]);
    expect([...hosts]).toEqual([new URL(world.url).host]);
  }),
);
