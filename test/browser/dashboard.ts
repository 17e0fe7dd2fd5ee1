// The dashboard in a real browser, for tests: one browser per file, one server and one fresh profile per story.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { on, type World } from "../http/support.js";
import { launchBrowser, openPage, type Watched, type Watching } from "./chromium.js";

export interface Visit extends Watched {
  world: World;
  /** Another page, with a profile of its own. */
  another(watching?: Watching): Promise<Watched>;
}

interface VisitOptions extends Watching {
  limits?: Record<string, number>;
  auth?: boolean;
  /** Opened by somebody who has no link. */
  isStranger?: boolean;
}

/** Call it once per file. */
export function dashboard() {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  return (story: (visit: Visit) => Promise<void>, options: VisitOptions = {}) => {
    const { limits = {}, auth = true, isStranger = false, ...watching } = options;
    return on(
      "sqlite",
      async (world) => {
        const opened: Watched[] = [];
        const another = async (more: Watching = watching) => {
          const watched = await openPage(browser, more);
          watched.page.setDefaultTimeout(90_000);
          opened.push(watched);
          return watched;
        };
        try {
          const watched = await another();
          if (!isStranger) {
            await watched.page.goto(world.server.link());
            await isLive(watched.page);
          }
          await story({ ...watched, world, another });
        } catch (error) {
          for (const [at, { page, troubles }] of opened.entries()) {
            await page.screenshot({ path: join(tmpdir(), `page-${at + 1}.png`) }).catch(() => undefined);
            writeFileSync(join(tmpdir(), `page-${at + 1}.txt`), [page.url(), ...troubles].join("\n"));
          }
          throw error;
        } finally {
          for (const { context } of opened) await context.close();
        }
      },
      // People's browsers have the real time, so the server has it too.
      { limits, auth, clock: { now: () => Date.now() } },
    );
  };
}

/** Where it is on the screen. */
export async function placeOf(element: Locator): Promise<{ x: number; y: number }> {
  const box = (await element.boundingBox())!;
  return { x: box.x, y: box.y };
}

/** Presses where the pointer rests, whatever is there by now. */
export async function pressHere(page: Page): Promise<void> {
  await page.mouse.down();
  await page.mouse.up();
}

export const isLive = (page: Page) => page.locator(".live[data-state=live]").waitFor();
export const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

/** Nothing went wrong on the page, and nobody but our server was asked for anything. */
export function expectQuiet({ troubles, hosts, world }: Visit): void {
  expect(troubles).toEqual([]);
  expect([...hosts]).toEqual([new URL(world.url).host]);
}

let axe = "";

/** What axe finds wrong with the page as it is now. */
export async function axeFindings(page: Page): Promise<string[]> {
  axe ||= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // Evaluated by the debugger, which the page's policy does not concern.
  await page.evaluate(axe);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as {
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} (${failureSummary?.slice(0, 200)})`,
    ),
  );
}
