// The steps of docs/guides/postgresql.md, on a PostgreSQL that has never seen Dibs.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run, Serving } from "../http/program.js";
import { startServer } from "../postgres/server.js";
import { connectSql } from "../postgres/sql.js";
import { afterwards, tempDir } from "../support.js";
import { blocksOf, page } from "./pages.js";

test("a team sets up PostgreSQL, a server, tokens and a repository step by step", async () => {
  const blocks = blocksOf(page("docs/guides/postgresql.md"));
  const [createOwner, createServer] = blocks.filter(({ language }) => language === "sql");
  const database = await startServer();
  afterwards(() => database.stop());
  const execute = async (sql: string) => {
    const admin = connectSql(database.url());
    for (const statement of sql.split(";\n").filter((each) => each.trim())) await admin.query(statement);
    await admin.end();
  };
  const home = tempDir();
  const env = { HOME: home };
  const as = (login: string) => database.url("dibs").replace(/\/\/[^@]*@/, `//${login}@`);

  await execute(createOwner!.code);
  const first = await new Serving(as("dibs_owner:choose-one"), { env }).ready();
  await first.stop();
  await execute(createServer!.code);
  const url = as("dibs_server:choose-another");
  const server = await new Serving(url, { env, args: ["--allow-host", "dibs.example.com"] }).ready();

  const lines = blocks
    .find(({ code }) => code.includes("dibs token create"))!
    .code.trim()
    .split("\n");
  const created = await Promise.all(
    lines.map((line) => run(line.split(" ").slice(1), { env: { ...env, DIBS_DATABASE_URL: url } })),
  );
  for (const { code, stderr } of created) expect([code, stderr]).toEqual([0, ""]);
  const token = created[lines.findIndex((line) => line.includes("--role leader"))]!.stdout.trim();

  const repository = join(home, "shop");
  for (const folder of [".git", ".dibs"]) mkdirSync(join(repository, folder), { recursive: true });
  const config = blocks.find(({ language }) => language === "json")!.code;
  writeFileSync(
    join(repository, ".dibs/config.json"),
    config.replace("https://dibs.example.com", server.url),
  );
  const member = { cwd: repository, env: { ...env, DIBS_TOKEN: token } };
  for (const args of [["trust"], ["add", "Write the schema"], ["list"], ["doctor"]]) {
    const { code, stdout, stderr } = await run(args, member);
    expect(code, `${args}: ${stdout}${stderr}`).toBe(0);
    if (args[0] === "list") expect(stdout).toMatch(/0001 +Write the schema/);
  }
});
