// The container image, as far as it can be checked without a container runtime: its steps build the server in a clean
// directory, and the server runs there with the image's settings. Base images, users and capabilities are not checked.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { yaml } from "../house/yaml.js";
import { freePort } from "../postgres/server.js";
import { afterwards, onFailure, tempDir, until } from "../support.js";
import { build, instructionsOf, isIgnored } from "./dockerfile.js";
import { root, startRegistry } from "./registry.js";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const instructions = instructionsOf(read("Dockerfile"));
const textsOf = (name: string) => instructions.filter((each) => each.name === name).map(({ text }) => text);

test("the image is small and runs without root: two stages, a user, a volume, a health check", () => {
  expect(textsOf("FROM")).toHaveLength(2);
  expect(textsOf("FROM").at(-1)).toMatch(/-slim$/);
  expect(textsOf("USER")).toEqual(["node"]);
  expect(textsOf("VOLUME")).toEqual(["/data"]);
  expect(textsOf("HEALTHCHECK")).toHaveLength(1);
  expect(textsOf("EXPOSE")).toEqual(["3427"]);
});

test("no test, build result or private file of the checkout gets into the image", () => {
  const kept = tracked().filter((path) => !isIgnored(path, read(".dockerignore")));
  expect(kept).toEqual(expect.arrayContaining(["package.json", "src/bin.ts", "web/package.json"]));
  expect(kept.filter((path) => /^(test|bench|\.git|\.github|\.ci)\//.test(path))).toEqual([]);
  for (const path of [
    ".env",
    ".dibs/dibs.db",
    "dist/bin.js",
    "node_modules/a/index.js",
    "web/node_modules/a",
  ]) {
    expect(isIgnored(path, read(".dockerignore")), path).toBe(true);
  }
});

test("the steps of the Dockerfile build a server, which becomes healthy and creates tokens", async () => {
  const env = { ...withoutOwn(process.env), ...(await startRegistry()) };
  const image = await build(instructions, context(), env);
  const data = join(image, "data");
  const port = String(await freePort());
  const settings = {
    PATH: `${join(image, "usr/local/bin")}:${process.env.PATH}`,
    ...imageEnv(data),
    DIBS_PORT: port,
  };

  const [program, ...args] = JSON.parse(/CMD (\[.*\])$/.exec(textsOf("HEALTHCHECK")[0]!)![1]!);
  const isHealthy = () =>
    new Promise<boolean>((resolve) => {
      spawn(program, args, { env: settings }).once("exit", (code) => resolve(code === 0));
    });
  expect(await isHealthy()).toBe(false);

  const [entry] = JSON.parse(textsOf("ENTRYPOINT")[0]!);
  const server = spawn(entry, JSON.parse(textsOf("CMD")[0]!), { cwd: data, env: settings });
  let printed = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (printed += text));
  onFailure("server.log", () => printed);
  afterwards(() => server.kill("SIGKILL"));
  await until("the server is healthy", isHealthy);
  await until("the sign-in link is printed", () => printed.includes("/#code="));

  const token = execFileSync(entry, ["token", "create", "--role", "worker"], { env: settings, cwd: data });
  expect(String(token)).toMatch(/\S{20,}/);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill(textsOf("STOPSIGNAL")[0] as NodeJS.Signals);
  expect(await ended).toBe(0);
  expect(await isHealthy()).toBe(false);
}, 900_000);

test("compose.yaml starts PostgreSQL first, publishes on loopback only, and has no password in it", () => {
  const { services, volumes } = yaml(read("compose.yaml"));
  expect(services.dibs.depends_on.postgres.condition).toBe("service_healthy");
  expect(services.postgres.healthcheck.test).toContain("pg_isready");
  expect(services.dibs.ports).toEqual(["127.0.0.1:3427:3427"]);
  expect(services.postgres.ports).toBeUndefined();
  const password = ["$", "{DIBS_DB_PASSWORD:?set DIBS_DB_PASSWORD}"].join("");
  expect(services.postgres.environment.POSTGRES_PASSWORD).toBe(password);
  expect(services.dibs.environment.DIBS_DATABASE_URL).toBe(`postgres://dibs:${password}@postgres:5432/dibs`);
  const mounted = Object.values<{ volumes: string[] }>(services).flatMap((service) => service.volumes);
  expect(mounted.map((volume) => volume.split(":")[0]).sort()).toEqual(Object.keys(volumes).sort());
  expect(services.dibs.volumes).toEqual([`dibs:${textsOf("VOLUME")[0]}`]);
});

function tracked(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim().split("\n");
}

/** The local registry packs packages again, so their checksums differ from the lockfile's. */
function context(): string {
  const directory = tempDir();
  for (const path of tracked().filter((each) => !isIgnored(each, read(".dockerignore")))) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    cpSync(join(root, path), join(directory, path));
  }
  const lock = read("package-lock.json").replaceAll(/,\s*"integrity": "[^"]*"/g, "");
  writeFileSync(join(directory, "package-lock.json"), lock);
  return directory;
}

function imageEnv(data: string): Record<string, string> {
  const pairs = textsOf("ENV").flatMap((text) => text.split(" ").map((pair) => pair.split("=")));
  return Object.fromEntries(pairs.map(([name, value]) => [name!, value!.replace("/data", data)]));
}

function withoutOwn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(DIBS_|npm_|NODE_|VITEST|TEST_)/i.test(name)),
  );
}
