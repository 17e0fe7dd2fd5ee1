// A server in a process of its own: Dibs, or a bare Hono route that parses a body and answers as many bytes.

import { createRequire } from "node:module";
import { join } from "node:path";

const dist = new URL("../dist/", import.meta.url);
const [kind, directory] = process.argv.slice(2);

const start = {
  async dibs() {
    const { serveDibs } = await import(new URL("serve.js", dist));
    const server = await serveDibs({ path: join(directory, "dibs.db"), port: 0, logLevel: "warn" });
    return { url: server.url, token: server.token, close: () => server.close() };
  },
  async bare() {
    // Ours, not one of the benchmarks' own.
    const require = createRequire(new URL("../package.json", import.meta.url));
    const { Hono } = require("hono");
    const { serve } = require("@hono/node-server");
    const app = new Hono();
    const answer = { success: true, text: "x".repeat(1_200) };
    app.post("/api/*", async (c) => {
      await c.req.json();
      return c.json(answer);
    });
    const server = await new Promise((resolve) => {
      const listening = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, () => resolve(listening));
    });
    return { url: `http://127.0.0.1:${server.address().port}`, token: "none", close: () => server.close() };
  },
};

const { url, token, close } = await start[kind]();
process.on("message", async (message) => {
  if (message === "usage") {
    global.gc?.();
    process.send({ cpu: process.cpuUsage(), memory: process.memoryUsage() });
  } else {
    await close();
    process.disconnect();
  }
});
process.send({ url, token });
