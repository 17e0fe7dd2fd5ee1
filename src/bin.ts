#!/usr/bin/env node
// The program: picks a surface and gives it what it needs. Parts are loaded when they are used, so that a command starts quickly.

import { main } from "./surfaces/cli/main.js";

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    stopping.abort();
    // Whoever asks twice does not want to wait.
    process.once(signal, () => process.exit(130));
  });
}
// Whoever read our output has seen enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
});

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  stdout: { isTerminal: process.stdout.isTTY === true, columns: process.stdout.columns ?? 80 },
  now: Date.now,
  stopping: stopping.signal,
  readInput: async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  },
  readFile: async (path) => (await import("node:fs")).readFileSync(path, "utf8"),
  databaseFor: async (directory) => (await import("./runtime/locate.js")).databaseFor(directory),
  makeRoomFor: async (database) => (await import("./runtime/locate.js")).makeRoomFor(database),
  findServer: async (database) => {
    const { findServer, tokenFileOf } = await import("./runtime/server-file.js");
    const server = findServer(database);
    if (!server) return null;
    const { readPrivate } = await import("./runtime/private-file.js");
    return { url: server.url, token: readPrivate(tokenFileOf(database))?.trim() ?? null };
  },
  open: async (place) => (await import("./compose.js")).openDibs({ ...place, detached: true }),
  connect: async (server) => (await import("./client/connect.js")).connectDibs(server),
  serve: async (request) => (await import("./serve.js")).serveDibs(request),
  version: async () => (await import("./runtime/version.js")).version,
});
