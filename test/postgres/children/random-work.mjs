// Does random things with tasks through several clients at once, and tells the whole history: every call with its answer, and
// when it began and ended by the clock that all processes of the machine share.

import { errorOf, input, openDibs, say, told } from "../../faults/children/kit.mjs";

const { url, clients, loops, steps, process: who } = input;
let state = input.seed;

/** Any generator will do here, as long as it is seeded. */
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}
const one = (list) => list[Math.floor(random() * list.length)];

const history = [];
const now = () => Number(process.hrtime.bigint() / 1000n);

async function call(dibs, by, operation, input) {
  const entry = { by, operation, input, began: now() };
  history.push(entry);
  try {
    const [group, method] = operation.split(".");
    entry.answer = await dibs[group][method](input);
  } catch (error) {
    entry.error = errorOf(error);
  }
  entry.ended = now();
  return entry.answer;
}

async function loop(dibs, by) {
  const { session } = await call(dibs, by, "sessions.register", { capacity: 3, pid: process.pid });
  const sessionId = session.id;
  const held = new Map();
  let known = [];
  const hold = (answer) => answer?.claim && held.set(answer.claim.taskId, answer.claim.epoch);
  const anyHeld = () => {
    const taskId = one([...held.keys()]);
    return taskId === undefined ? null : { taskId, sessionId, epoch: held.get(taskId) };
  };
  const finish = (taskId) => held.delete(taskId);

  const actions = {
    create: async (n) => {
      const dependsOn = random() < 0.2 && known.length > 0 ? [one(known)] : [];
      await call(dibs, by, "tasks.create", { prompt: `${by} step ${n}`, dependsOn });
    },
    look: async () => {
      const answer = await call(dibs, by, "tasks.list", { state: "queued", limit: 20 });
      known = answer ? answer.tasks.map((task) => task.id) : known;
    },
    claimNext: async () => hold(await call(dibs, by, "tasks.claimNext", { sessionId, resume: false })),
    claim: async () => {
      if (known.length > 0) hold(await call(dibs, by, "tasks.claim", { taskId: one(known), sessionId }));
    },
    heartbeat: async () => anyHeld() && call(dibs, by, "tasks.heartbeat", anyHeld()),
    start: async () => anyHeld() && call(dibs, by, "tasks.start", anyHeld()),
    complete: async (n) => {
      const mine = anyHeld();
      if (!mine) return;
      await call(dibs, by, "tasks.complete", { ...mine, result: { output: `${by} step ${n}` } });
      finish(mine.taskId);
    },
    fail: async (n) => {
      const mine = anyHeld();
      if (!mine) return;
      await call(dibs, by, "tasks.fail", { ...mine, error: `${by} step ${n}` });
      finish(mine.taskId);
    },
    release: async () => {
      const mine = anyHeld();
      if (!mine) return;
      await call(dibs, by, "tasks.release", mine);
      finish(mine.taskId);
    },
    ask: async () => {
      const mine = anyHeld();
      if (mine) await call(dibs, by, "tasks.ask", { ...mine, question: "which way?" });
    },
    respond: async () => {
      const asked = await call(dibs, by, "tasks.list", { state: "awaiting_response", limit: 10 });
      const task = one(asked?.tasks ?? []);
      if (task) await call(dibs, by, "tasks.respond", { taskId: task.id, response: "that way" });
    },
    cancel: async () => {
      if (known.length > 0 && random() < 0.3) await call(dibs, by, "tasks.cancel", { taskId: one(known) });
    },
  };
  const weighted = Object.entries({
    create: 5,
    look: 1,
    claimNext: 4,
    claim: 5,
    heartbeat: 1,
    start: 2,
    complete: 3,
    fail: 1,
    release: 1,
    ask: 1,
    respond: 1,
    cancel: 1,
  }).flatMap(([name, weight]) => Array(weight).fill(name));
  await actions.create("first");
  await actions.look();
  for (let n = 0; n < steps; n++) await actions[one(weighted)](n);
}

const all = await Promise.all(Array.from({ length: clients }, () => openDibs({ url })));
const go = told("go");
await say("ready");
await go;
await Promise.all(
  all.flatMap((dibs, c) =>
    Array.from({ length: loops }, (_, l) => loop(dibs, `process ${who} client ${c}/${l}`)),
  ),
);
await Promise.all(all.map((dibs) => dibs.close()));
await say("done", { history });
process.exit(0);
