// Builds docs/ as a web site, or serves it: npm run site -- [serve|dev]. A dead link fails the build.

import { resolve } from "node:path";
import { build, createServer, serve } from "vitepress";

const root = resolve(import.meta.dirname);
const [what = "build"] = process.argv.slice(2);
const port = Number(process.env.PORT ?? 4173);

if (what === "build") {
  await build(root);
} else if (what === "serve") {
  await build(root);
  await serve({ root, port });
} else if (what === "dev") {
  const server = await createServer(root, { port });
  await server.listen();
  server.printUrls();
} else {
  console.error("Usage: npm run site -- [build|serve|dev]");
  process.exit(2);
}
