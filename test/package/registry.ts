// An npm registry on loopback that offers the packages installed in node_modules, so that `npm install` runs for real
// without a network.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { afterwards, tempDir } from "../support.js";

export const root = resolve(import.meta.dirname, "../..");

interface Installed {
  directory: string;
  manifest: { name: string; version: string };
}

/** What npm needs in its environment to use the registry, with a cache and settings of its own. */
export async function startRegistry(): Promise<Record<string, string>> {
  const packages = installedIn(join(root, "node_modules"));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const [name, version] = path.split("/-/");
    const versions = packages.filter(({ manifest }) => manifest.name === name);
    const wanted = versions.find(({ manifest }) => manifest.version === version);
    if (wanted) return sendTarball(wanted, response);
    response.writeHead(versions.length > 0 ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(documentOf(versions, `http://${request.headers.host}`)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterwards(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  const directory = tempDir();
  return {
    npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    npm_config_cache: join(directory, "cache"),
    npm_config_userconfig: join(directory, "npmrc"),
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
}

function installedIn(folder: string): Installed[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const directory = join(folder, entry.name);
    // Workspaces are links.
    if (!entry.isDirectory() || entry.name.startsWith(".")) return [];
    if (entry.name.startsWith("@")) return installedIn(directory);
    if (!existsSync(join(directory, "package.json"))) return [];
    const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    return [{ directory, manifest }, ...installedIn(join(directory, "node_modules"))];
  });
}

function documentOf(versions: Installed[], address: string) {
  const offered = versions.map(({ manifest }) => ({
    ...manifest,
    dist: { tarball: `${address}/${manifest.name}/-/${manifest.version}` },
  }));
  return {
    name: offered[0]?.name,
    "dist-tags": { latest: offered[0]?.version },
    versions: Object.fromEntries(offered.map((each) => [each.version, each])),
  };
}

function sendTarball({ directory }: Installed, response: NodeJS.WritableStream): void {
  const rename =
    process.platform === "darwin" ? ["-s", "/^\\./package/"] : ["--transform", "s/^\\./package/"];
  const tar = spawn("tar", ["-cf", "-", "--exclude", "./node_modules", ...rename, "-C", directory, "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  tar.stdout.pipe(response);
}
