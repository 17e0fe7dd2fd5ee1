// A real Chromium. It is unpacked once per version, beside the other caches of this checkout, and appears there as a whole: test
// files that start together do not see each other's half. One browser per test file; each test gets contexts of its own.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache");

function packedVersion(): string {
  const manifest = join(root, "node_modules/@sparticuz/chromium/package.json");
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** The directory with the browser, its libraries and a font. */
async function unpacked(): Promise<string> {
  const place = join(cache, `chromium-${packedVersion()}`);
  if (existsSync(place)) return place;
  mkdirSync(cache, { recursive: true });
  const half = mkdtempSync(join(cache, "chromium-half-"));
  try {
    const unpack = `import(${JSON.stringify(createRequire(import.meta.url).resolve("@sparticuz/chromium"))})
      .then((packed) => packed.default.executablePath())`;
    // It unpacks into the temporary directory; pretending to be a bare machine brings the libraries along.
    const env = { ...process.env, TMPDIR: half, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" };
    await promisify(execFile)(process.execPath, ["--eval", unpack], { cwd: root, env });
    const fonts = join(place, "fonts/fonts");
    const config = `<fontconfig><dir>${fonts}</dir><cachedir>${join(place, "fonts-cache")}</cachedir></fontconfig>\n`;
    writeFileSync(join(half, "fonts/fonts.conf"), config);
    renameSync(half, place);
  } catch (error) {
    // Somebody else was first, and as good.
    if (!existsSync(place)) throw error;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  return place;
}

export async function launchBrowser(args: string[] = []): Promise<Browser> {
  const place = await unpacked();
  const bare = {
    FONTCONFIG_PATH: join(place, "fonts"),
    LD_LIBRARY_PATH: [join(place, "al2023/lib"), process.env.LD_LIBRARY_PATH].filter(Boolean).join(":"),
  };
  // It leaves files in its temporary directory.
  const scratch = mkdtempSync(join(tmpdir(), "dibs-chromium-"));
  const launch = (more: Record<string, string>) =>
    chromium.launch({
      executablePath: join(place, "chromium"),
      headless: true,
      env: { ...(process.env as Record<string, string>), ...more, TMPDIR: scratch },
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", ...args],
    });
  const hasFonts = existsSync("/etc/fonts/fonts.conf");
  // A machine without the libraries of a desktop gets those that came along.
  const { FONTCONFIG_PATH } = bare;
  const browser = await launch(hasFonts ? {} : { FONTCONFIG_PATH }).catch(() => launch(bare));
  const close = browser.close.bind(browser);
  browser.close = async (options) => {
    await close(options);
    rmSync(scratch, { recursive: true, force: true });
  };
  return browser;
}

/** A page and everything that went wrong on it, or out of it, so far. */
export interface Watched {
  page: Page;
  context: BrowserContext;
  /** Messages of the console that are errors or warnings, uncaught errors, violations of the policy, failed requests. */
  troubles: string[];
  /** Hosts that anything was asked of. */
  hosts: Set<string>;
}

export interface Watching {
  colorScheme?: "light" | "dark";
  viewport?: { width: number; height: number };
}

/** In a context of its own: without cookies, caches and other pages. */
export async function openPage(browser: Browser, watching: Watching = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...watching });
  // Chromium does not write all of them to the console.
  await context.addInitScript(`document.addEventListener("securitypolicyviolation", (event) => {
    console.error("policy: " + event.violatedDirective + " " + event.blockedURI);
  })`);
  const page = await context.newPage();
  const troubles: string[] = [];
  const hosts = new Set<string>();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  context.on("request", (request) => hosts.add(new URL(request.url()).host));
  return { page, context, troubles, hosts };
}
