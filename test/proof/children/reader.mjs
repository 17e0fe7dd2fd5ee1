// Follows the log from a number on, and records what it gets: created to be killed.

import { connectDibs, input, openDibs, say } from "../../faults/children/kit.mjs";
import { recorderTo } from "./recorder.mjs";

const { path, url, server, token, timeoutMs, silenceMs, file, after, name } = input;
const recorder = recorderTo(file, name);
const dibs = server
  ? connectDibs({ url: server, token, timeoutMs, silenceMs })
  : await openDibs({ path, url });
recorder.note({ reader: name, after });
await say("ready");
const onReset = (log) => recorder.note({ reset: log });
for await (const { seq, type, taskId } of dibs.events.follow({ after, project: "*", onReset })) {
  recorder.note({ seq, type, taskId });
}
