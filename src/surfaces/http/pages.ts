// What browsers load: the dashboard as it was built, and a few pages of our own. Everything comes from here: no other host is ever
// asked. The files are read once, at start, each also as the builder packed it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { Hono } from "hono";
import type { Bindings } from "./context.js";
import { pageHeaders } from "./guard.js";

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

export function addPages(
  app: Hono<{ Bindings: Bindings }>,
  more: Record<string, Page>,
  dashboard: Record<string, Page>,
): void {
  for (const [path, page] of Object.entries({ ...dashboard, ...more })) {
    app.get(path, ({ env, req }) => {
      env.call.route = page.isForever ? "/assets/*" : path;
      return show(page, req.raw.headers, env.call.id);
    });
  }
  const start = dashboard["/index.html"] ?? unbuilt;
  // Addresses inside the dashboard are its own business; unknown ones under /api and /assets are not.
  app.get("*", async ({ env, req }, next) => {
    if (/^\/(?:api|assets)(?:\/|$)/.test(req.path)) return next();
    env.call.route = "/*";
    return show(start, req.raw.headers, env.call.id);
  });
}

function show(
  { type, body, packed = {}, isForever, tag }: Page,
  asked: Headers,
  requestId: string,
): Response {
  const headers: Record<string, string> = {
    ...pageHeaders,
    "content-type": type,
    "dibs-request-id": requestId,
  };
  if (Object.keys(packed).length > 0) headers.vary = "accept-encoding";
  if (isForever) headers["cache-control"] = "public, max-age=31536000, immutable";
  if (tag) {
    headers.etag = tag;
    if (asked.get("if-none-match") === tag) return new Response(null, { status: 304, headers });
  }
  const accepts = asked.get("accept-encoding") ?? "";
  const name = (["br", "gzip"] as const).find((each) => packed[each] && accepts.includes(each));
  if (name) headers["content-encoding"] = name;
  return new Response(name ? packed[name]! : body, { headers });
}
