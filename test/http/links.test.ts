// The link that is printed can be opened, whatever the server listens on.

import { request } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { tempDir } from "../support.js";

const statusFor = (port: number, host: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, path: "/healthz", headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    call.on("error", reject).end();
  });

test("a server on all addresses links to one of them, and answers to its further names with its port", async () => {
  const directory = tempDir();
  const path = join(directory, "dibs.db");
  const options = {
    path,
    host: "0.0.0.0",
    port: 0,
    allowHosts: ["box.example"],
    logLevel: "silent",
  } as const;
  const server = await serveDibs(options);
  onTestFinished(async () => {
    await server.close();
  });
  const { port } = server;
  expect(server.link()).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#code=`));
  expect((await fetch(server.link())).status).toBe(200);
  expect(await statusFor(port, `box.example:${port}`)).toBe(200);
  expect(await statusFor(port, "box.example")).toBe(200);
  expect(await statusFor(port, `box.example:${port + 1}`)).toBe(403);
  expect(await statusFor(port, `other.example:${port}`)).toBe(403);
});
