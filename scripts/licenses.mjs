// What we must say about the packages that are inside our bundles.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The licences of the packages that these modules are from. */
export function licensesOf(moduleIds) {
  const ids = moduleIds.map((id) => id.replaceAll("\\", "/"));
  const packages = ids.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []);
  return [...new Set(packages)]
    .sort()
    .map((directory) => {
      const { name, version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
      const file = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
      const text = file ? readFileSync(join(directory, file), "utf8") : license;
      return `${name} ${version}\n\n${text.trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
