// The printed link in a real browser, as a person would use it, and what the frame of the dashboard promises everywhere.

import { describe, expect, test } from "vitest";
import { axeFindings, dashboard, expectQuiet, isLive, says } from "./dashboard.js";

const visiting = dashboard();

describe("the link that serve prints", () => {
  test(
    "signs in and leaves nothing in the address",
    visiting(async (visit) => {
      const { page, context, world } = visit;
      expect(page.url()).toBe(`${world.url}/`);
      expect(
        await page.evaluate("JSON.stringify([location.hash, history.length, { ...localStorage }])"),
      ).toBe(JSON.stringify(["", 2, {}]));
      expect(await page.evaluate("document.cookie")).toBe("");
      const [cookie, ...others] = await context.cookies();
      expect(others).toEqual([]);
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });
      expectQuiet(visit);
    }),
  );

  test(
    "is needed once: the browser stays signed in over a reload, at every address, and when the link is opened again",
    visiting(async (visit) => {
      const { page, world } = visit;
      const link = world.server.link();
      await page.reload();
      await isLive(page);
      await page.goto(`${world.url}/tasks/0001`);
      await isLive(page);
      expectQuiet({ ...visit, troubles: visit.troubles.filter((text) => !text.includes("404")) });
      await page.goto(link);
      await isLive(page);
      expect(page.url()).toBe(`${world.url}/`);
      await page.getByRole("button", { name: "Sign out" }).click();
      await says(page, "You are not signed in.");
    }),
  );

  test(
    "used a second time elsewhere says so, shows nothing and leaves the address clean",
    visiting(
      async ({ page, world, another }) => {
        await world.task({ prompt: "not for everybody" });
        const link = world.server.link();
        await page.goto(link);
        await isLive(page);
        const stranger = await another();
        await stranger.page.goto(link);
        await says(stranger.page, "This link was used already, or is too old.");
        await says(stranger.page, "Not signed in");
        expect(stranger.page.url()).toBe(`${world.url}/`);
        expect(await stranger.page.content()).not.toContain("not for everybody");
        expect(await stranger.context.cookies()).toEqual([]);
        expect(await axeFindings(stranger.page)).toEqual([]);
      },
      { isStranger: true },
    ),
  );

  test(
    "is what a visitor without it is told to open",
    visiting(
      async ({ page, world }) => {
        await page.goto(`${world.url}/queue`);
        await says(page, "You are not signed in.");
        await says(page, "dibs serve");
        await says(page, "dibs token link");
      },
      { isStranger: true },
    ),
  );
});

test(
  "who may only look is told so, and offered nothing that would be refused",
  visiting(
    async (visit) => {
      const { page, world } = visit;
      const id = await world.task({ prompt: "Look at me" });
      const { code } = (await world.post("/api/auth/code", { role: "viewer" })).body;
      await page.goto(`${world.url}/tasks/demo/${id}#code=${code}`);
      await isLive(page);
      await page.getByTitle("You are signed in as viewer.").waitFor();
      for (const reload of [false, true]) {
        if (reload) await page.reload();
        const cancel = page.getByRole("button", { name: "Cancel" });
        await cancel.waitFor();
        expect(await cancel.isDisabled()).toBe(true);
        expect(await cancel.getAttribute("title")).toBe("You are signed in as viewer; this needs leader.");
      }
      await page.keyboard.press("c");
      expect(await page.locator("dialog").count()).toBe(0);
      await page.goto(`${world.url}/queue`);
      await isLive(page);
      for (const name of ["New task", /^Act on/])
        expect(await page.getByRole("button", { name }).isDisabled()).toBe(true);
      expectQuiet(visit);
    },
    { isStranger: true },
  ),
);

describe("the stream", () => {
  test(
    "comes back by itself after the server was away: first a banner, then how much was missed",
    visiting(
      async ({ page, world, another }) => {
        await world.task();
        await says(page, "1 queued");
        await world.server.close();
        await page.locator(".live[data-state=lost]").waitFor();
        await page.getByRole("alert").getByText("what you see may be old").waitFor();
        await world.start();
        const other = await another();
        await other.page.goto(world.server.link());
        await isLive(page);
        await page.getByText(/caught up \d+ events/).waitFor();
        await page.getByRole("alert").waitFor({ state: "detached" });
        await world.task();
        await says(page, "2 queued");
      },
      { limits: { retryMs: 50 } },
    ),
  );

  test(
    "is one for all tabs of a browser, and goes on when the tab that had it is closed",
    visiting(async ({ page, world, context }) => {
      const streams = async () =>
        Number(/^dibs_sse_clients (\d+)/m.exec((await world.get("/metrics")).body)![1]);
      const tabs = [await context.newPage(), await context.newPage()];
      for (const tab of tabs) {
        await tab.goto(`${world.url}/`);
        await isLive(tab);
      }
      expect(await streams()).toBe(1);
      await world.task();
      for (const tab of [page, ...tabs]) await says(tab, "1 queued");
      await page.close();
      await world.task();
      for (const tab of tabs) await says(tab, "2 queued");
      expect(await streams()).toBe(1);
    }),
  );

  test(
    "that ends because the token is revoked takes everything off the page",
    visiting(
      async ({ page, world }) => {
        await world.task({ prompt: "not for everybody" });
        await page.goto(`${world.url}/queue`);
        await isLive(page);
        const { tokens } = (await world.get("/api/tokens")).body;
        const { id } = tokens.find(({ name }: { name: string }) => name === "dashboard");
        await world.delete(`/api/tokens/${id}`);
        await says(page, "Not signed in");
        expect(await page.content()).not.toContain("not for everybody");
      },
      { limits: { commentMs: 50, retryMs: 50 } },
    ),
  );
});

test(
  "without auth the page is just there",
  visiting(
    async (visit) => {
      await visit.world.task({ prompt: "hello" });
      await says(visit.page, "1 queued");
      expectQuiet(visit);
      expect(await visit.context.cookies()).toEqual([]);
    },
    { auth: false, colorScheme: "dark" },
  ),
);

test(
  "the reference is shown to everybody, whole, and asks nobody else for anything",
  visiting(
    async (visit) => {
      const { page, world } = visit;
      await page.goto(`${world.url}/reference`);
      await page.getByRole("heading", { name: "Dibs HTTP API" }).waitFor();
      for (const text of ["/api/tasks/claim-next", "TASK_ALREADY_CLAIMED", "/api/events/stream"]) {
        expect(await page.getByText(text).first().isVisible(), text).toBe(true);
      }
      const isStyled = `getComputedStyle(document.querySelector("nav")).backgroundColor !== "rgba(0, 0, 0, 0)"`;
      expect(await page.evaluate(isStyled)).toBe(true);
      expectQuiet(visit);
    },
    { isStranger: true },
  ),
);
