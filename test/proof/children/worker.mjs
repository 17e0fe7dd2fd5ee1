// Does random things with tasks indefinitely, and records every call: created to be killed and stopped.

import { connectDibs, input, openDibs, say, told } from "../../faults/children/kit.mjs";
import { recorderTo } from "./recorder.mjs";

const { path, url, server, token, timeoutMs, silenceMs, file, name, ttlMs, steps, clockSteps } = input;
let state = input.seed;

/** Any generator will do here, as long as it is seeded. */
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}
const one = (list) => list[Math.floor(random() * list.length)];

let offset = 0;
const clock = clockSteps ? { clock: () => Date.now() + offset } : {};
const recorder = recorderTo(file, name);
const dibs = server
  ? connectDibs({ url: server, token, timeoutMs, silenceMs })
  : await openDibs({ path, url, ...clock });
const call = (operation, input, key) => recorder.call(dibs, operation, input, key);
let isEnding = false;
void told("stop").then(() => {
  isEnding = true;
});

let sessionId;
let held = new Map();
let known = [];

async function register() {
  while (!isEnding) {
    const answer = await call("sessions.register", { capacity: 3, pid: process.pid });
    if (!answer) continue;
    sessionId = answer.session.id;
    held = new Map();
    return;
  }
}

const mine = () => {
  const taskId = one([...held.keys()]);
  return taskId === undefined ? null : { taskId, sessionId, epoch: held.get(taskId) };
};
const hold = (answer) => answer?.claim && held.set(answer.claim.taskId, answer.claim.epoch);

async function end(operation, more) {
  const by = mine();
  if (!by) return;
  await call(operation, { ...by, ...more });
  // Repeated as a program does that has not heard an answer.
  if (random() < 0.1) await call(operation, { ...by, ...more });
  held.delete(by.taskId);
}

const actions = {
  create: async (n) => {
    const dependsOn = random() < 0.3 && known.length > 0 ? [one(known)] : [];
    const key = random() < 0.3 ? `${name} ${n}` : undefined;
    const uses = random() < 0.4 ? { "test-db": random() < 0.2 ? 2 : 1 } : {};
    const task = { prompt: `${name} step ${n}`, dependsOn, uses };
    const answer = await call("tasks.create", task, key);
    if (key !== undefined && random() < 0.5) await call("tasks.create", task, key);
    if (answer) known = [...known.slice(-20), answer.task.id];
  },
  claimNext: async () => hold(await call("tasks.claimNext", { sessionId, resume: false, ttlMs })),
  claim: async () => {
    if (known.length > 0) hold(await call("tasks.claim", { taskId: one(known), sessionId, ttlMs }));
  },
  start: async () => mine() && call("tasks.start", mine()),
  heartbeat: async () => mine() && call("tasks.heartbeat", mine()),
  progress: async (n) => mine() && call("tasks.progress", { ...mine(), note: `${name} step ${n}` }),
  complete: (n) => end("tasks.complete", { result: `${name} step ${n}` }),
  fail: (n) => end("tasks.fail", { error: `${name} step ${n}` }),
  release: () => end("tasks.release", {}),
  ask: async () => {
    const by = mine();
    const asked = by && (await call("tasks.ask", { ...by, question: "Which way?" }));
    if (asked) await call("tasks.respond", { taskId: by.taskId, response: "That way" });
  },
  clock: async () => {
    if (clockSteps) offset += (random() - 0.5) * (random() < 0.8 ? 60_000 : 7_200_000);
  },
};
const weights = {
  create: 4,
  claimNext: 6,
  claim: 1,
  start: 1,
  heartbeat: 2,
  progress: 2,
  complete: 4,
  fail: 1,
  release: 1,
  ask: 1,
  clock: 1,
};
const choices = Object.entries(weights).flatMap(([action, weight]) => Array(weight).fill(action));

await say("ready");
await register();
for (let n = 0; n < steps && !isEnding; n++) {
  await actions[one(choices)](n);
  if (random() < 0.01) await register();
}
await dibs.close().catch(() => undefined);
await say("done");
process.exit(0);
