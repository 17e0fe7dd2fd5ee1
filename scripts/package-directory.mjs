// Part of the bundle: where a package is, found as Node finds it, but without reading what each package.json exports.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

export function packageDirectory(name) {
  for (let at = __dirname; ; at = dirname(at)) {
    const found = join(at, "node_modules", name);
    if (existsSync(found)) return found;
    if (at === dirname(at)) return dirname(require.resolve(`${name}/package.json`));
  }
}
