// Every view, with a lively fleet, in both themes and at two sizes: accessible, and no wider than the screen. With
// DIBS_SCREENSHOTS=1 (npm run screenshots) the pictures of docs/images are made on the way.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import type { World } from "../http/support.js";
import { axeFindings, dashboard, expectQuiet, isLive } from "./dashboard.js";
import { makeLanding } from "./landing.js";
import { makeLively } from "./lively.js";

const visiting = dashboard();
const images = resolve(import.meta.dirname, "../../docs/images");
const isShooting = process.env.DIBS_SCREENSHOTS === "1";

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };

interface View {
  name: string;
  path: string;
  shows: (page: Page) => Locator;
  /** What a picture begins with; default: the top of the page. */
  begins?: string;
}

const views: View[] = [
  { name: "fleet", path: "/", shows: (page: Page) => page.locator(".card").nth(5) },
  { name: "queue", path: "/queue", shows: (page: Page) => page.getByText("Old tasks rise slowly").first() },
  { name: "inbox", path: "/inbox", shows: (page: Page) => page.getByText("Should list_tasks").first() },
  { name: "task", path: "/tasks/demo/api", shows: (page: Page) => page.getByText("routes done").first() },
  { name: "graph", path: "/graph", shows: (page: Page) => page.getByText("Serve tasks over HTTP").first() },
  { name: "metrics", path: "/figures", shows: (page: Page) => page.getByText("Throughput").first() },
];

const landingViews: View[] = [
  { name: "landing", path: "/landing", shows: (page: Page) => page.getByText("conflict in src/core") },
  {
    name: "submission",
    path: "/tasks/demo/api?patch=open",
    shows: (page: Page) => page.getByText("Unknown names are refused: a typing"),
    begins: ".submission",
  },
  {
    name: "reviews",
    path: "/inbox",
    shows: (page: Page) => page.locator(".inbox-review").getByText("2 files").nth(1),
  },
];

test.each(["light", "dark"] as const)("every view is accessible and fits the screen in %s", (colorScheme) =>
  fits({ colorScheme, views, make: makeLively }),
);

test.each(["light", "dark"] as const)("so is every view of landing in %s", (colorScheme) =>
  fits({ colorScheme, views: landingViews, make: makeLanding }),
);

interface Seen {
  colorScheme: "light" | "dark";
  views: View[];
  make: (world: World) => Promise<void>;
}

function fits({ colorScheme, views, make }: Seen): Promise<void> {
  return visiting(
    async (visit) => {
      const { page, world } = visit;
      await make(world);
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ reducedMotion: size === "narrow" ? "reduce" : "no-preference" });
        for (const { name, path, shows, begins } of views) {
          await page.goto(`${world.url}${path}`);
          await isLive(page);
          await shows(page).waitFor();
          // Whatever the size, colours and names are the same.
          if (size === "wide") expect(await axeFindings(page), name).toEqual([]);
          const widths = "[document.documentElement.scrollWidth, innerWidth]";
          const [content, screen] = (await page.evaluate(widths)) as [number, number];
          expect(content, `${name}, ${size}`).toBeLessThanOrEqual(screen);
          if (size === "narrow") expect(await page.evaluate(moving), name).toEqual([]);
          if (isShooting) await shoot(page, `${name}-${size}-${colorScheme}`, begins);
        }
      }
      expectQuiet(visit);
    },
    { colorScheme, viewport: sizes.wide },
  )();
}

/** What would move by itself, for somebody who asked that nothing does. */
const moving = `[...document.querySelectorAll("*")].filter((element) => {
  const { animationName, transitionDuration } = getComputedStyle(element);
  return animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration);
}).map((element) => element.outerHTML.slice(0, 200))`;

async function shoot(page: Page, name: string, begins?: string): Promise<void> {
  mkdirSync(images, { recursive: true });
  if (begins) {
    const first = `document.querySelector(${JSON.stringify(begins)}).getBoundingClientRect().top`;
    await page.evaluate(`scrollBy(0, ${first} - document.querySelector(".bar").offsetHeight - 12)`);
  }
  await page.evaluate("document.fonts.ready");
  // The graph finds its place with the frame after the one that has its nodes.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await page.screenshot({ path: join(images, `${name}.png`) });
}
