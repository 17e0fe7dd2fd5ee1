import { readFileSync } from "node:fs";

/** The package's own, from its package.json: the same beside `src` and `dist`. */
export const version: string = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version;
