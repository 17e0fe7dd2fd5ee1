// Over HTTP on loopback: claim + complete with 64 connections, beside the same in process and beside a bare Hono route; from an
// event to a thousand stream readers; and what a thousand waiting claims cost while nothing happens.

import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, get, request } from "node:http";
import { fileURLToPath } from "node:url";
import {
  createTasks,
  openDibs,
  quantile,
  registerWorkers,
  remove,
  round,
  seconds,
  temporaryDirectory,
  workThrough,
} from "./lib.mjs";

const serverFile = fileURLToPath(new URL("http-server.mjs", import.meta.url));
const connections = 64;

async function startServer(kind, directory) {
  const child = fork(serverFile, [kind, directory], { execArgv: ["--expose-gc"] });
  const [{ url, token }] = await once(child, "message");
  return {
    url,
    token,
    async usage() {
      child.send("usage");
      return (await once(child, "message"))[0];
    },
    async stop() {
      child.send("stop");
      await once(child, "exit");
    },
  };
}

/** The leanest client there is, so that it is the server that is measured. */
function caller({ url, token }, agent) {
  const { hostname, port } = new URL(url);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return (path, body) =>
    new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, method: "POST", agent, headers }, (answer) => {
        const chunks = [];
        answer.on("data", (chunk) => chunks.push(chunk));
        answer.on("end", () => resolve(JSON.parse(Buffer.concat(chunks))));
      });
      sent.on("error", reject);
      sent.end(JSON.stringify(body));
    });
}

async function cyclesOverHttp(count) {
  const directory = temporaryDirectory();
  const server = await startServer("dibs", directory);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const post = caller(server, agent);
  for (let at = 0; at < count; at += 1000) {
    const size = Math.min(1000, count - at);
    await post("/api/tasks/batch", {
      tasks: Array.from({ length: size }, (_, i) => ({ prompt: `task number ${at + i}` })),
    });
  }
  const workers = Array.from({ length: connections }, (_, i) => `worker-${i}`);
  await Promise.all(workers.map((id) => post("/api/sessions", { id })));
  let cycles = 0;
  const before = await server.usage();
  const took = await seconds(() =>
    Promise.all(
      workers.map(async (sessionId) => {
        for (;;) {
          const { claim } = await post("/api/tasks/claim-next", { sessionId });
          if (!claim) return;
          const { taskId, epoch } = claim;
          await post(`/api/tasks/${taskId}/complete`, { sessionId, epoch, result: "done" });
          cycles++;
        }
      }),
    ),
  );
  const after = await server.usage();
  agent.destroy();
  await server.stop();
  remove(directory);
  const cpuMs = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1000;
  return {
    perSecond: cycles / took,
    serverCpuUs: (cpuMs * 1000) / cycles,
    heapMiB: after.memory.heapUsed / 2 ** 20,
  };
}

/** As many requests, to a route that does nothing. */
async function cyclesOnBareRoute(count) {
  const server = await startServer("bare", ".");
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const post = caller(server, agent);
  let left = count;
  const took = await seconds(() =>
    Promise.all(
      Array.from({ length: connections }, async (_, i) => {
        while (left-- > 0) {
          await post("/api/tasks/claim-next", { sessionId: `worker-${i}` });
          await post("/api/tasks/0001/complete", { sessionId: `worker-${i}`, epoch: 1, result: "done" });
        }
      }),
    ),
  );
  agent.destroy();
  await server.stop();
  return { perSecond: count / took };
}

async function cyclesInProcess(count) {
  const directory = temporaryDirectory();
  const dibs = await openDibs({ path: `${directory}/dibs.db` });
  await createTasks(dibs, count);
  const workers = await registerWorkers(dibs, connections);
  let cycles = 0;
  const took = await seconds(async () => {
    cycles = await workThrough(dibs, workers);
  });
  await dibs.close();
  remove(directory);
  return { perSecond: cycles / took };
}

/** From sending a request to its event in the hands of every reader. */
async function streamLatency(readers, events) {
  const directory = temporaryDirectory();
  const server = await startServer("dibs", directory);
  const agent = new Agent({ keepAlive: true });
  const post = caller(server, agent);
  const times = [];
  const waiting = new Map();
  const sockets = await Promise.all(
    Array.from({ length: readers }, async () => {
      const headers = { authorization: `Bearer ${server.token}` };
      const sent = get(`${server.url}/api/events/stream?types=task:created`, { headers, agent: false });
      const [answer] = await once(sent, "response");
      let text = "";
      answer.on("error", () => undefined);
      answer.on("data", (chunk) => {
        text += chunk;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const seen = /"taskId":"([^"]+)"/.exec(text.slice(0, end))?.[1];
          text = text.slice(end + 2);
          if (seen) waiting.get(seen)?.(performance.now());
        }
      });
      return sent;
    }),
  );
  const rest = await server.usage();
  for (let at = 0; at < events; at++) {
    const id = `event-${at}`;
    await new Promise((resolve) => {
      const begun = performance.now();
      let left = readers;
      waiting.set(id, (now) => {
        times.push(now - begun);
        if (--left === 0) resolve();
      });
      void post("/api/tasks", { id, prompt: "x" });
    });
    waiting.delete(id);
  }
  for (const socket of sockets) socket.destroy();
  agent.destroy();
  await server.stop();
  remove(directory);
  return {
    readers,
    p50Ms: round(quantile(times, 0.5)),
    p99Ms: round(quantile(times, 0.99)),
    rssMiB: round(rest.memory.rss / 2 ** 20, 0),
  };
}

/** What the server burns per second while so many wait and nothing happens. */
async function waitingCost(waiters, forMs) {
  const directory = temporaryDirectory();
  const server = await startServer("dibs", directory);
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const post = caller(server, agent);
  const ids = Array.from({ length: waiters }, (_, i) => `waiter-${i}`);
  for (let at = 0; at < ids.length; at += 100) {
    await Promise.all(ids.slice(at, at + 100).map((id) => post("/api/sessions", { id })));
  }
  const waits = ids.map((sessionId) =>
    post("/api/tasks/claim-next", { sessionId, waitMs: 60_000 }).catch(() => null),
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const before = await server.usage();
  await new Promise((resolve) => setTimeout(resolve, forMs));
  const after = await server.usage();
  const cpuMs = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1000;
  await server.stop();
  await Promise.all(waits);
  agent.destroy();
  remove(directory);
  return {
    waiters,
    cpuPercent: round((100 * cpuMs) / forMs, 2),
    rssMiB: round(after.memory.rss / 2 ** 20, 0),
  };
}

export async function http({ quick, log }) {
  const count = quick ? 2_000 : 20_000;
  const rounds = quick ? 1 : 3;
  const best = { inProcess: 0, overHttp: 0, bare: 0 };
  let serverCpuUs = 0;
  let heapMiB = 0;
  for (let at = 0; at < rounds; at++) {
    const inProcess = await cyclesInProcess(count);
    const overHttp = await cyclesOverHttp(count);
    const bare = await cyclesOnBareRoute(count);
    log(
      `  round ${at + 1}: in process ${round(inProcess.perSecond, 0)}, HTTP ${round(overHttp.perSecond, 0)}, bare ${round(bare.perSecond, 0)} cycles/s`,
    );
    best.inProcess = Math.max(best.inProcess, inProcess.perSecond);
    best.bare = Math.max(best.bare, bare.perSecond);
    if (overHttp.perSecond > best.overHttp) {
      best.overHttp = overHttp.perSecond;
      ({ serverCpuUs, heapMiB } = overHttp);
    }
  }
  const stream = await streamLatency(quick ? 100 : 1_000, quick ? 20 : 100);
  const idle = await waitingCost(0, quick ? 2_000 : 10_000);
  const waiting = await waitingCost(quick ? 200 : 1_000, quick ? 2_000 : 10_000);
  return {
    cyclesPerSecond: Object.fromEntries(Object.entries(best).map(([name, value]) => [name, round(value, 0)])),
    serverCpuUsPerCycle: round(serverCpuUs, 0),
    serverHeapMiB: round(heapMiB, 0),
    ofInProcess: round(best.overHttp / best.inProcess),
    ofBareRoute: round(best.overHttp / best.bare),
    stream,
    idle,
    waiting,
    checks: [],
  };
}
