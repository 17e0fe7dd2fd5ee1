import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The package's own, from its package.json: the same beside `src` and `dist`. */
export const version: string = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version;

/** The built dashboard. */
export const dashboardDirectory: string = fileURLToPath(new URL("../../dist/web", import.meta.url));
