// What browsers load. Everything comes from here: no other host is ever asked.

import type { Hono } from "hono";
import type { Bindings } from "./context.js";
import { pageHeaders } from "./guard.js";
import { startCss, startJs, startPage } from "./start-page.js";

export interface Page {
  type: "text/html" | "text/css" | "text/javascript";
  text: string;
}

const startPages: Record<string, Page> = {
  "/start.css": { type: "text/css", text: startCss },
  "/start.js": { type: "text/javascript", text: startJs },
};

export function addPages(app: Hono<{ Bindings: Bindings }>, more: Record<string, Page>): void {
  for (const [path, page] of Object.entries({ ...startPages, ...more })) {
    app.get(path, ({ env }) => {
      env.call.route = path;
      return show(page, env.call.id);
    });
  }
  // Addresses inside the dashboard are its own business; unknown ones under /api are not.
  app.get("*", async ({ env, req }, next) => {
    if (req.path.startsWith("/api/") || req.path === "/api") return next();
    env.call.route = "/*";
    return show({ type: "text/html", text: startPage }, env.call.id);
  });
}

function show({ type, text }: Page, requestId: string): Response {
  return new Response(text, {
    headers: { ...pageHeaders, "content-type": `${type}; charset=utf-8`, "dibs-request-id": requestId },
  });
}
