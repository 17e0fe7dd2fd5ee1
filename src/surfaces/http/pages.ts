// What browsers load: the dashboard as it was built, and a few pages of our own. Everything comes from here: no other host is ever
// asked. The files are read once, at start, each also as the builder packed it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { OutgoingHttpHeaders } from "node:http";
import { extname, join } from "node:path";
import type { Http } from "./context.js";
import { pageHeaders } from "./guard.js";
import type { Router } from "./router.js";

export interface Page {
  type: string;
  body: string | Buffer;
  /** The same, packed; by the name that browsers ask for it. */
  packed?: Partial<Record<"br" | "gzip", Buffer>>;
  /** Its name changes with its content: browsers may keep it for good. */
  isForever?: boolean;
  tag?: string;
}

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json; charset=utf-8",
};

const unbuilt: Page = {
  type: types[".html"]!,
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dibs</title><h1>The dashboard is not built</h1>
<p>Run <code>npm run build</code> and start the server again. The API works: see <a href="/reference">its reference</a>.</p></html>`,
};

/** The built dashboard by address; empty if it is not built. */
export function dashboardPages(directory: string): Record<string, Page> {
  const pages: Record<string, Page> = {};
  for (const entry of filesIn(directory)) {
    const type = types[extname(entry)];
    if (!type) continue;
    const file = join(directory, entry);
    const body = readFileSync(file);
    const isForever = entry.startsWith("assets/");
    const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    pages[`/${entry}`] = { type, body, packed: packedBeside(file), isForever, tag };
  }
  return pages;
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) =>
      name.replaceAll("\\", "/"),
    );
  } catch {
    return [];
  }
}

function packedBeside(file: string): NonNullable<Page["packed"]> {
  const packed: NonNullable<Page["packed"]> = {};
  for (const [name, extension] of [
    ["br", ".br"],
    ["gzip", ".gz"],
  ] as const) {
    try {
      packed[name] = readFileSync(file + extension);
    } catch {
      // Small files are not packed.
    }
  }
  return packed;
}

export function addPages(router: Router, pages: Record<string, Page>): void {
  for (const [path, page] of Object.entries(pages)) {
    router.add("GET", path, (http) => {
      http.call.route = page.isForever ? "/assets/*" : path;
      show(page, http);
    });
  }
}

/** Addresses inside the dashboard are its own business; unknown ones under /api and /assets are not. */
export function startPage(dashboard: Record<string, Page>): (http: Http) => boolean {
  const start = dashboard["/index.html"] ?? unbuilt;
  return (http) => {
    const isPage = ["GET", "HEAD"].includes(http.method) && !/^\/(?:api|assets)(?:\/|$)/.test(http.path);
    if (!isPage) return false;
    http.call.route = "/*";
    show(start, http);
    return true;
  };
}

function show({ type, body, packed = {}, isForever, tag }: Page, http: Http): void {
  const headers: OutgoingHttpHeaders = { ...pageHeaders, "content-type": type };
  if (Object.keys(packed).length > 0) headers.vary = "accept-encoding";
  if (isForever) headers["cache-control"] = "public, max-age=31536000, immutable";
  if (tag) {
    headers.etag = tag;
    if (http.header("if-none-match") === tag) {
      http.send(304, headers, null);
      return;
    }
  }
  const accepts = http.header("accept-encoding") ?? "";
  const name = (["br", "gzip"] as const).find((each) => packed[each] && accepts.includes(each));
  if (name) headers["content-encoding"] = name;
  http.send(200, headers, name ? packed[name]! : body);
}
