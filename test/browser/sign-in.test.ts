// The printed link in a real browser, as a person would use it, and what the frame of the dashboard promises everywhere.

import { describe, expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { tempFile, until } from "../faults/support.js";
import { Serving } from "../http/program.js";
import { axeFindings, dashboard, expectQuiet, isLive, placeOf, says } from "./dashboard.js";
import { makeLively } from "./lively.js";

const visiting = dashboard();

describe("the link that serve prints", () => {
  test(
    "signs in and leaves nothing in the address",
    visiting(async (visit) => {
      const { page, context, world } = visit;
      await page.waitForURL(`${world.url}/`);
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
      await page.waitForURL(`${world.url}/`);
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
        await stranger.page.waitForURL(`${world.url}/`);
        expect(await stranger.page.content()).not.toContain("not for everybody");
        expect(await stranger.context.cookies()).toEqual([]);
        for (const colorScheme of ["light", "dark"] as const) {
          await stranger.page.emulateMedia({ colorScheme });
          expect(await axeFindings(stranger.page), colorScheme).toEqual([]);
        }
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

  test(
    "is not needed where everybody is let in, and nobody is offered to leave",
    visiting(
      async ({ page }) => {
        const server = new Serving(tempFile(), { args: ["--no-auth"] });
        await until("it listens", () => server.stdout.includes("listening on "));
        await page.goto(/^listening on (\S+)/.exec(server.stdout)![1]!);
        await isLive(page);
        expect(await page.getByRole("button", { name: "Keys and help" }).count()).toBe(1);
        expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
      },
      { isStranger: true },
    ),
  );
});

/** What needs a leader, and what needs a worker, wherever it is offered. */
const forLeaders = /^(?:Retry|Cancel|Edit|Release|Answer|Act on .*)$/;
const forWorkers = /^(?:New task|Set aside|mark read: .*|Mark all as read)$/;

test(
  "who may only look or work is told so, and offered nothing that would be refused, in any view",
  visiting(
    async (visit) => {
      const { page, world } = visit;
      await makeLively(world);
      const refused: string[] = [];
      page.on("response", (answer) => {
        if (answer.status() === 403) refused.push(answer.url());
      });
      const enter = async (role: string) => {
        const { code } = (await world.post("/api/auth/code", { role })).body;
        await page.goto(`${world.url}/tasks/demo/api#code=${code}`);
        await page.getByTitle(`You are signed in as ${role}.`).waitFor();
      };
      const offered = async (keys: string, shows: string) => {
        for (const key of keys) await page.keyboard.press(key);
        await page.locator(shows).first().waitFor();
        const names =
          "[...document.querySelectorAll('button:enabled')].map((each) => each.ariaLabel ?? each.innerText)";
        const all = (await page.evaluate(names)) as string[];
        for (const key of "acerun") await page.keyboard.press(key);
        return all;
      };

      await enter("viewer");
      for (const reload of [false, true]) {
        if (reload) await page.reload();
        const cancel = page.getByRole("button", { name: "Cancel" });
        await cancel.waitFor();
        expect(await cancel.isDisabled()).toBe(true);
        expect(await cancel.getAttribute("title")).toBe("You are signed in as viewer; this needs leader.");
      }
      for (const [keys, shows] of [
        ["", ".task-doings"],
        ["gf", ".card"],
        ["gq", ".queue-row"],
        ["gi", ".inbox-failure"],
        ["gg", ".graph-node"],
        ["gm", "h1"],
      ] as const) {
        const names = await offered(keys, shows);
        expect(names.filter((name) => forLeaders.test(name) || forWorkers.test(name))).toEqual([]);
        expect(await page.locator("dialog").count(), keys).toBe(0);
      }

      await enter("worker");
      for (const [keys, shows] of [
        ["", ".task-doings"],
        ["gi", ".inbox-failure"],
        ["gq", ".queue-row"],
      ] as const) {
        const names = await offered(keys, shows);
        expect(names.filter((name) => forLeaders.test(name))).toEqual([]);
        expect(
          names.some((name) => forWorkers.test(name)),
          keys,
        ).toBe(keys !== "");
      }
      // Adding a task is a worker's work.
      await page.getByRole("dialog", { name: "New task" }).waitFor();
      expect(refused).toEqual([]);
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
        await page.getByRole("alert").getByText("this page could be out of date").waitFor();
        await world.start();
        const other = await another();
        await other.page.goto(world.server.link());
        await isLive(page);
        await page.getByText(/caught up \d+ events?/).waitFor();
        await page.getByRole("alert").waitFor({ state: "detached" });
        await world.task();
        await says(page, "2 queued");
      },
      { limits: { retryMs: 50 } },
    ),
  );

  test(
    "of a server that stands still is noticed by its silence: one notice, until it goes on",
    visiting(
      async ({ page }) => {
        const database = tempFile();
        const server = await new Serving(database).ready();
        await server.task({ id: "first" });
        // The browser's clock is wound on rather than waited for.
        await page.clock.install();
        await page.goto(/^open (\S+)$/m.exec(server.stdout)![1]!);
        await page.getByRole("link", { name: "Queue", exact: true }).click();
        await isLive(page);
        const tasks = page.locator(".queue-id");
        await tasks.nth(0).waitFor();
        const before = await placeOf(tasks.nth(0));
        server.signal("SIGSTOP");
        await page.clock.fastForward(15_000);
        expect(await page.locator(".live").getAttribute("data-state")).toBe("live");
        await page.clock.fastForward(10_000);
        await page.locator(".live[data-state=lost]").waitFor();
        await page.clock.fastForward(60_000);
        await page.getByRole("alert").getByText("this page could be out of date").waitFor();
        await page.getByRole("button", { name: "Try now" }).click();
        await page.clock.fastForward(60_000);
        expect(await page.getByRole("alert").count()).toBe(1);
        expect(await page.locator(".live").getAttribute("data-state")).toBe("lost");
        // Nothing moved when the notice came.
        expect(await placeOf(tasks.nth(0))).toEqual(before);
        const elsewhere = await openDibs({ path: database });
        for (const id of ["second", "third"]) await elsewhere.tasks.create({ id, prompt: "meanwhile" });
        await elsewhere.close();
        server.signal("SIGCONT");
        // A try that was under way may be answered before there is time to press.
        await Promise.race([isLive(page), page.getByRole("button", { name: "Try now" }).click()]);
        await isLive(page);
        await page.getByText("caught up 4 events").waitFor();
        await tasks.nth(2).waitFor();
        await page.getByRole("alert").waitFor({ state: "detached" });
      },
      { isStranger: true },
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
