import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { tempDir } from "../support.js";
import { root } from "./registry.js";

export interface Packed {
  tarball: string;
  unpackedSize: number;
  files: string[];
}

/** Packs the build that is there: scripts are not run, so that a test never builds. */
export function pack(): Packed {
  const directory = tempDir();
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory];
  const printed = execFileSync("npm", args, {
    cwd: root,
    // From Node 22 on, npm keeps compiled code in the temporary directory.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [{ filename, unpackedSize, files }] = JSON.parse(printed);
  return {
    tarball: join(directory, filename),
    unpackedSize,
    files: files.map(({ path }: { path: string }) => path),
  };
}
