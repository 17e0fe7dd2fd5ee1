// A server that runs into a limit of its machine goes on afterwards.

import { mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { databaseIn, Serving } from "../http/program.js";
import { afterwards, refusalOf, tempDir, tempFile, until } from "./support.js";

test("a server that has no descriptors left for more connections lives, and answers when some are free again", async () => {
  const server = await new Serving(databaseIn(tempDir()), { openMax: 160 }).ready();
  const id = await server.task();
  let refused = 0;
  const flood: Socket[] = Array.from({ length: 400 }, () =>
    connect(server.port, "127.0.0.1")
      .on("error", () => undefined)
      .on("close", () => refused++),
  );
  afterwards(() => flood.map((socket) => socket.destroy()));
  await until("it has turned some of them away", () => refused > 0);
  for (const socket of flood) socket.destroy();
  await until("it answers again", async () => {
    expect(server.isOver, server.stderr).toBe(false);
    return (await server.get("/healthz").catch(() => null))?.status === 200;
  });
  expect((await server.get(`/api/tasks/${id}`)).body.task.id).toBe(id);
  await server.task();
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

test("a server whose token cannot be written says so, and leaves the store free", async () => {
  const path = tempFile();
  mkdirSync(`${path}.token`);
  const refused = await refusalOf(serveDibs({ path, port: 0, log: () => undefined }));
  expect(refused.code).toBe("STORE_UNAVAILABLE");
  expect(refused.message).toContain(".token");
  const open = await serveDibs({ path, port: 0, auth: false, log: () => undefined });
  await open.close();
});
