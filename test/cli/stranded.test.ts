// Commands that stay, and the server they had found goes away: the store is right there, or the next server is.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gone, openPlace, type Place, type Running, sh, until, waitFor } from "./run-place.js";

async function serve(place: Place): Promise<Running> {
  const server = place.begin(["serve", "--port", "0", "--log-level", "silent"]);
  await server.says("listening on");
  return server;
}

async function stop(server: Running): Promise<void> {
  server.signal("SIGTERM");
  await server.ended;
}

test("an idle runner goes on with the store when its server stops, and ends when it is told to", async () => {
  const place = await openPlace();
  const server = await serve(place);
  const runner = place.begin(["work", "--", ...sh("echo $DIBS_TASK >> $NOTES/ran")]);
  await place.add({ prompt: "through the server" });
  await place.becomes("0001", "completed");
  await stop(server);
  await place.add({ prompt: "in the store" });
  await place.becomes("0002", "completed");
  runner.signal("SIGTERM");
  expect(await runner.ended).toMatchObject({ code: 0 });
  expect(place.note("ran")).toBe("0001\n0002\n");
});

test("a busy runner reports through the server that comes after one that was killed, once", async () => {
  const place = await openPlace();
  const server = await serve(place);
  await place.add({ prompt: "long" });
  const runner = place.begin([
    "work",
    "--once",
    "--",
    ...sh(`echo $$ > $NOTES/pid; ${waitFor("go")}; echo done`),
  ]);
  const pid = Number(await place.noted("pid"));
  await server.kill();
  await serve(place);
  place.leave("go");
  await gone(pid);
  expect(await runner.ended).toMatchObject({ code: 0, out: expect.stringContaining("0001 completed") });
  expect(await place.task("0001")).toMatchObject({ state: "completed", lostCount: 0 });
});

test("a question gets its answer when the server that was asked is gone", async () => {
  const place = await openPlace();
  const server = await serve(place);
  await place.add({ prompt: "ask" });
  await place.says(["claim", "0001", "--session", "a", "--start"]);
  const asking = place.begin(["ask", "0001", "Teal?", "--wait", "--session", "a"]);
  await place.becomes("0001", "awaiting_response");
  await stop(server);
  await place.says(["answer", "0001", "orange"]);
  expect(await asking.ended).toMatchObject({ code: 0, out: "orange\n" });
});

test("events are followed without a gap, and a file is kept in step", async () => {
  const place = await openPlace();
  const server = await serve(place);
  const events = place.begin(["events", "-f", "--after", "0", "--type", "task:created"]);
  const sync = place.begin(["sync", "tasks.json"]);
  await sync.says("Syncing");
  await place.add({ prompt: "One" });
  await events.says("0001");
  await stop(server);
  await place.add({ prompt: "Two" });
  await events.says("0002");
  const file = join(place.cwd, "tasks.json");
  await until("the file has both", () => existsSync(file) && readFileSync(file, "utf8").includes("Two"));
  for (const each of [events, sync]) {
    each.signal("SIGTERM");
    expect(await each.ended).toMatchObject({ code: 0 });
  }
  expect(events.out.match(/\b000\d\b/g)).toEqual(["0001", "0002"]);
});
