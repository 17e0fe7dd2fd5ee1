// A pid means a process of one machine. Who calls the server by another name than loopback's may be on another one.

import { spawn } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { tempDir } from "../support.js";

async function pidThatIsGone(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await new Promise((resolve) => child.on("exit", resolve));
  return child.pid!;
}

async function openServer() {
  const directory = tempDir();
  const server = await serveDibs({
    path: join(directory, "dibs.db"),
    port: 0,
    allowHosts: ["box.example"],
    logLevel: "silent",
  });
  onTestFinished(async () => {
    await server.close();
  });
  const { port, token } = server;
  const post = (name: string, path: string, body: object) =>
    new Promise<Record<string, never>>((resolve, reject) => {
      const headers = {
        host: `${name}:${port}`,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      };
      const call = request({ host: "127.0.0.1", port, path, method: "POST", headers }, async (answer) => {
        resolve(JSON.parse(Buffer.concat(await answer.toArray()).toString()));
      });
      call.on("error", reject).end(JSON.stringify(body));
    });
  return post;
}

test("a pid from another machine is not looked for on this one", async () => {
  const post = await openServer();
  const pid = await pidThatIsGone();
  for (const [id, name] of Object.entries({ here: "localhost", far: "box.example" })) {
    await post(name, "/api/tasks", { prompt: "x", id: `of-${id}` });
    await post(name, "/api/sessions", { id, pid });
  }
  expect(await post("box.example", "/api/tasks/of-far/claim", { sessionId: "far" })).toMatchObject({
    success: true,
  });
  await post("localhost", "/api/tasks/claims/cleanup", {});
  const beat = (id: string) => post("localhost", `/api/tasks/of-${id}/claim/heartbeat`, { sessionId: id });
  expect(await beat("far")).toMatchObject({ success: true });
  expect(await beat("here")).toMatchObject({ error: "SESSION_NOT_FOUND" });
});

test("a lock with a pid from another machine is a lease", async () => {
  const post = await openServer();
  const { lock } = await post("box.example", "/api/locks", { name: "deploy", pid: await pidThatIsGone() });
  expect(lock).toMatchObject({ host: null, holderAlive: true, expiresAt: expect.any(String) });
  expect(await post("localhost", "/api/locks", { name: "deploy", pid: process.pid })).toMatchObject({
    error: "SESSION_BUSY",
  });
});
