// Where settings come from, and whose token goes where: flags, then the environment, then .dibs/config.json.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Desk, deskWithStore, openDesk } from "./desk.js";
import { openPlace } from "./run-place.js";

function config(desk: Desk, value: object): void {
  mkdirSync(dirname(desk.database), { recursive: true });
  writeFileSync(join(dirname(desk.database), "config.json"), JSON.stringify(value));
}

const count = (text: string, part: string) => text.split(part).length - 1;

describe("what config can set, the environment can set before it, and a flag before both", () => {
  test("the agent of work and run, unless a command is spelt out", async () => {
    const desk = await deskWithStore();
    // All are busy: who was meant is in the refusal.
    for (const name of ["codex", "gemini", "claude", "my-agent.sh"]) {
      await desk.says(["lock", "acquire", name, "--session", "another"]);
    }
    const meant = async (more: string[], env: Record<string, string> = {}) => {
      const argv = ["run", "--prompt", "x", "--on-conflict", "exit", ...more];
      return (await desk.dibs(argv, { env })).err;
    };
    expect(await meant([])).toContain("Missing command.");
    config(desk, { agent: "codex" });
    expect(await meant([])).toContain("codex");
    expect(await meant([], { DIBS_AGENT: "gemini" })).toContain("gemini");
    expect(await meant(["--agent", "claude"], { DIBS_AGENT: "gemini" })).toContain("claude");
    expect(await meant(["--", "./tools/my-agent.sh"], { DIBS_AGENT: "gemini" })).toContain("my-agent.sh");
    const { code, err } = await desk.dibs(["work", "--once"], { env: { DIBS_AGENT: "nobody" } });
    expect([code, err]).toEqual([2, expect.stringContaining("no preset for agent 'nobody'")]);
  });

  test("how many work at once", async () => {
    const desk = await deskWithStore();
    config(desk, { concurrency: 1 });
    const work = (argv: string[], env: Record<string, string> = {}) =>
      desk.dibs(["work", "--until-empty", ...argv, "--", "true"], {
        env: { PATH: process.env.PATH!, ...env },
      });
    expect(await work([])).toMatchObject({ code: 0, err: "" });
    expect((await work([], { DIBS_CONCURRENCY: "0" })).err).toContain("concurrency must be");
    expect((await work([], { DIBS_CONCURRENCY: "many" })).err).toContain("DIBS_CONCURRENCY=many");
    expect(await work(["-n", "2"], { DIBS_CONCURRENCY: "0" })).toMatchObject({ code: 0, err: "" });
    config(desk, { concurrency: 0 });
    expect((await work([])).err).toContain("concurrency must be");
    expect(await work([], { DIBS_CONCURRENCY: "2" })).toMatchObject({ code: 0, err: "" });
    // Whom it does not concern, it does not stop.
    expect((await desk.dibs(["list"], { env: { DIBS_CONCURRENCY: "many" } })).code).toBe(0);
  });
});

describe(".dibs/config.json", () => {
  test("what is not known is told once on stderr, and passed over", async () => {
    const desk = await deskWithStore();
    config(desk, { colour: "teal", "bad\u001b[31m\u202e": 1 });
    const { code, out, err } = await desk.dibs(["work", "--until-idle", "--json", "--", "true"], {
      env: { PATH: process.env.PATH! },
    });
    expect([code, out]).toEqual([0, ""]);
    expect(count(err, "not settings")).toBe(1);
    expect(err).toContain("'colour'");
    expect(err).toContain(join(dirname(desk.database), "config.json"));
    expect(err).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    expect((await desk.dibs(["add", "One", "--json"])).err).toContain("'colour'");
    expect((await desk.json(["list"])).tasks).toHaveLength(1);
  });

  test("a known setting of the wrong type is an error that names file and key", async () => {
    const desk = await openDesk();
    for (const [key, value] of Object.entries({ project: 7, agent: true, concurrency: "3" })) {
      config(desk, { [key]: value });
      const { code, err } = await desk.dibs(["list"]);
      expect(code, key).toBe(2);
      expect(err).toContain(`config.json: ${key} must be a`);
    }
  });

  test("one that an editor of Windows has saved is read", async () => {
    const desk = await openDesk();
    config(desk, {});
    writeFileSync(join(dirname(desk.database), "config.json"), '\ufeff{\r\n  "project": "named"\r\n}\r\n');
    expect((await desk.json(["add", "One"])).task.project).toBe("named");
  });

  test("one that is no file, or too large, is told and not waited for", async () => {
    const desk = await openDesk();
    mkdirSync(join(dirname(desk.database), "config.json"), { recursive: true });
    expect(await desk.dibs(["list"])).toMatchObject({ code: 2, err: expect.stringContaining("directory") });
    writeFileSync(join(desk.directory, "large.json"), " ".repeat(70_000));
    expect(await desk.dibs(["list", "--config", "large.json"])).toMatchObject({ code: 2 });
  });
});

describe("the server or database of a team, in .dibs/config.json", () => {
  // Not loopback by its name, and nobody listens: refused at once, whatever network there is.
  const remote = "http://0.0.0.0:1";

  test("a server on this machine is used without a question, and gets the token of the environment", async () => {
    const server = await openDesk("server");
    await server.says(["add", "On the server"]);
    const token = readFileSync(`${server.database}.token`, "utf8").trim();
    const desk = await deskWithStore();
    config(desk, { url: server.server!.url });
    const env = { DIBS_TOKEN: token };
    const titles = async (...args: string[]) =>
      (await desk.json(["list", ...args], { env })).tasks.map(({ title }: { title: string }) => title);
    expect(await titles()).toEqual(["On the server"]);
    // Flags and the environment go before it.
    expect(await titles("--db", desk.database)).toEqual([]);
    expect(
      JSON.parse((await desk.dibs(["list", "--json"], { env: { DIBS_DATABASE_URL: desk.database } })).out)
        .tasks,
    ).toEqual([]);
  });

  test("one on another machine is refused until it is trusted; then, and by a file or variable that is named, it is called", async () => {
    const desk = await openDesk();
    const store = `postgres://somebody@0.0.0.0:1/tasks?sslmode=require`;
    for (const [settings, address] of [
      [{ url: `${remote}/` }, remote],
      [{ db: store }, "postgres://0.0.0.0:1/tasks"],
    ] as const) {
      config(desk, settings);
      const refused = await desk.dibs(["add", "One"]);
      expect([refused.code, refused.err]).toEqual([4, expect.stringContaining(`${address} is not trusted`)]);
      expect(refused.err).toContain("Run: dibs trust");
      expect((await desk.dibs(["work", "--once", "--", "true"])).code).toBe(4);
      expect(await desk.says(["trust"])).toContain(`trusted ${address}`);
      expect((await desk.json(["trust", "--list"])).servers).toContain(address);
      expect(await desk.says(["trust", "--remove"])).toContain("no longer trusted");
      expect((await desk.dibs(["list"])).code).toBe(4);
    }
    config(desk, { url: remote });
    await desk.says(["trust"]);
    expect((await desk.dibs(["list"])).code).toBe(6);
    expect((await desk.dibs(["list", "--config", ".dibs/config.json"])).code).toBe(6);
  });

  test("a person at a terminal is asked once", async () => {
    const desk = await openDesk();
    config(desk, { url: "http://0.0.0.0:2" });
    expect((await desk.dibs(["list"], { answers: ["n"] })).code).toBe(4);
    expect((await desk.dibs(["list"], { answers: ["y"] })).code).toBe(6);
    expect((await desk.dibs(["list"], { answers: ["n"] })).code).toBe(6);
    expect(desk.asked).toEqual(["Trust it? [y/N] ", "Trust it? [y/N] "]);
  });

  test("a file is meant from the root of the repository, and is trusted as any store that was found", async () => {
    const desk = await openDesk();
    config(desk, { db: "shared/team.db" });
    mkdirSync(join(desk.directory, "shared"));
    await desk.says(["add", "One"]);
    expect((await desk.json(["list", "--db", "shared/team.db"])).tasks).toHaveLength(1);
  });

  test("a file that this user created by it is trusted", async () => {
    const place = await openPlace();
    mkdirSync(join(place.cwd, ".dibs"));
    writeFileSync(join(place.cwd, ".dibs/config.json"), '{"db": "data/team.db"}');
    await place.says(["add", "One"]);
    expect(await place.says(["list"])).toContain("One");
  });

  test("secrets and contradictions in it are refused, with what to do instead", async () => {
    const desk = await openDesk();
    for (const [settings, words] of [
      [{ token: "dibs~x" }, "set DIBS_TOKEN"],
      [{ url: "http://user:secret@example.com" }, "set DIBS_TOKEN"],
      [{ url: "http://example.com/?token=x" }, "set DIBS_TOKEN"],
      [{ url: "example.com" }, "must be the http(s) address"],
      [{ db: "postgres://me:secret@example.com/x" }, "set PGPASSWORD"],
      [{ db: "postgres://localhost/x?host=example.com" }, "?host="],
      [{ url: remote, db: "x.db" }, "cannot be combined"],
    ] as const) {
      config(desk, settings);
      const { code, err } = await desk.dibs(["list"]);
      expect([code, err], JSON.stringify(settings)).toEqual([2, expect.stringContaining(words)]);
      expect(err).not.toContain("secret@");
    }
  });

  test("an unknown key is an error for dibs doctor", async () => {
    const desk = await openDesk();
    await desk.says(["add", "One"]);
    config(desk, { colour: "teal" });
    const { code, out } = await desk.dibs(["doctor"]);
    expect(code).toBe(1);
    expect(out).toContain("'colour' is not a setting");
  });

  test("a planted store is not served because the settings name a server", async () => {
    const desk = await openDesk();
    const planted = await openDesk();
    await planted.says(["add", "Planted"]);
    config(desk, { url: "http://127.0.0.1:1" });
    // As a clone brings it: this user has no record of it.
    copyFileSync(planted.database, desk.database);
    await planted.says(["trust", "--remove"]);
    const { code, err } = await desk.dibs(["serve", "--port", "0"]);
    expect([code, err]).toEqual([4, expect.stringContaining("is not trusted")]);
  });
});

describe("tokens", () => {
  const tokenOf = (desk: Desk) => readFileSync(`${desk.database}.token`, "utf8").trim();

  test("a server that was found gets its own token, not the one of the environment", async () => {
    const desk = await openDesk("server");
    const env = { DIBS_TOKEN: "of-another-server" };
    expect((await desk.dibs(["add", "One"], { env })).code).toBe(0);
    const elsewhere = { ...env, DIBS_URL: "http://192.0.2.1:1" };
    expect((await desk.dibs(["list", "--db", desk.database], { env: elsewhere })).code).toBe(0);
    expect(new Set(desk.sent)).toEqual(new Set([tokenOf(desk)]));
  });

  test("where its own is refused, the one of the environment is tried, and kept", async () => {
    const desk = await openDesk("server");
    const token = (await desk.says(["token", "create", "--role", "leader"])).trim();
    writeFileSync(`${desk.database}.token`, "revoked-since\n", { mode: 0o600 });
    expect((await desk.dibs(["add", "One"])).code).toBe(4);
    desk.sent.length = 0;
    expect((await desk.dibs(["add", "One"], { env: { DIBS_TOKEN: token } })).code).toBe(0);
    expect(desk.sent).toEqual(["revoked-since", token]);
    expect((await desk.dibs(["add", "Two"], { env: { DIBS_TOKEN: "wrong" } })).code).toBe(4);
  });

  test("a server without a token of its own beside it is tried without one first", async () => {
    const desk = await openDesk("server");
    const own = tokenOf(desk);
    rmSync(`${desk.database}.token`);
    expect((await desk.dibs(["add", "One"], { env: { DIBS_TOKEN: own } })).code).toBe(0);
    expect(desk.sent).toEqual(["", own]);
    // Whoever has the database needs no server.
    expect((await desk.dibs(["list"])).code).toBe(0);
    expect(desk.sent).toHaveLength(2);
  });

  test("a server that is named gets the token that is named, or the one of the environment", async () => {
    const desk = await openDesk("server");
    const own = tokenOf(desk);
    const { url } = desk.server!;
    expect((await desk.dibs(["list", "--url", url], { env: { DIBS_TOKEN: "wrong" } })).code).toBe(4);
    expect((await desk.dibs(["list", "--url", url], { env: { DIBS_TOKEN: own } })).code).toBe(0);
    expect((await desk.dibs(["list", "--token", "wrong"], { env: { DIBS_TOKEN: own } })).code).toBe(4);
    const elsewhere = await desk.dibs(["list", "--url", url, "--org", "other"], { env: { DIBS_TOKEN: own } });
    expect(elsewhere).toMatchObject({
      code: 2,
      err: expect.stringContaining("--org cannot change the organization"),
    });
    expect(desk.sent).toEqual(["wrong", own, "wrong"]);
  });
});
