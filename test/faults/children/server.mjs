// A server in a process of its own, whose memory and unsent bytes can be looked at.

import { subscribe } from "node:diagnostics_channel";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serveDibs } from "../../../dist/serve.js";
import { input, say } from "./kit.mjs";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

const answers = new Set();
subscribe("http.server.request.start", ({ response }) => {
  answers.add(response);
  response.once("close", () => answers.delete(response));
});

let unsentMax = 0;
/** What waits in this process for one reader to take it. */
const unsent = (response) => response.writableLength + (response.socket?.writableLength ?? 0);

function lookAtAnswers() {
  for (const answer of answers) unsentMax = Math.max(unsentMax, unsent(answer));
}
setInterval(lookAtAnswers, 10).unref();

process.on("message", ({ type, id }) => {
  if (type !== "look") return;
  lookAtAnswers();
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  void say("looked", { id, rss, held: heapUsed + external, unsentMax });
});

const server = await serveDibs({ ...input, log: () => undefined });
await say("ready", { url: server.url, token: server.token });
