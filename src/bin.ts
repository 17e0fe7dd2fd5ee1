#!/usr/bin/env node
// The program: picks a surface and gives it what it needs. Parts are loaded when they are used, so that a command starts quickly.

import { main } from "./surfaces/cli/main.js";

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  databaseFor: async (directory) => (await import("./runtime/locate.js")).databaseFor(directory),
  makeRoomFor: async (database) => (await import("./runtime/locate.js")).makeRoomFor(database),
  open: async (options) => (await import("./compose.js")).openDibs(options),
  serve: async (options) => (await import("./serve.js")).serveDibs(options),
  version: async () => (await import("./runtime/version.js")).version,
  stopped: () =>
    new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.once(signal, () => {
          resolve(signal);
          // Whoever asks twice does not want to wait.
          process.once(signal, () => process.exit(130));
        });
      }
    }),
});
