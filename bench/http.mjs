// Over HTTP on loopback: claim + complete with 64 connections, beside the same in process, beside a bare route of node:http, and with
// many calls per request; the same with 1, 8 and 512 connections; latencies at half of the rate; from an event to a thousand stream
// readers; and what a thousand and ten thousand waiting claims cost while nothing happens.

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
const workersOfMany = 64;

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

/** What the server's process used, in microseconds per cycle. */
async function measured(server, run) {
  let cycles = 0;
  const before = await server.usage();
  const took = await seconds(async () => {
    cycles = await run();
  });
  const after = await server.usage();
  const cpuUs = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
  return {
    perSecond: cycles / took,
    serverCpuUs: cpuUs / cycles,
    heapMiB: after.memory.heapUsed / 2 ** 20,
  };
}

/** Tasks and workers on a server of their own; `run` gets a function that calls it. */
async function onServer(count, connections, run) {
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
  const workers = Array.from({ length: Math.max(connections, 1) }, (_, i) => `worker-${i}`);
  await Promise.all(workers.map((id) => post("/api/sessions", { id })));
  const found = await measured(server, () => run(post, workers));
  agent.destroy();
  await server.stop();
  remove(directory);
  return found;
}

const cyclesOverHttp = (count, connections) =>
  onServer(count, connections, async (post, workers) => {
    let cycles = 0;
    await Promise.all(
      workers.map(async (sessionId) => {
        for (;;) {
          const { claim } = await post("/api/tasks/claim-next", { sessionId });
          if (!claim) return;
          const { taskId, epoch } = claim;
          await post(`/api/tasks/${taskId}/complete`, { sessionId, epoch, result: "done" });
          cycles++;
        }
      }),
    );
    return cycles;
  });

/** The workers of one program: what they report and claim at the same time is one request. */
const cyclesOfMany = (count) =>
  onServer(count, workersOfMany, async (post, workers) => {
    let cycles = 0;
    const claim = (sessionId) => ({ operation: "tasks.claimNext", input: { sessionId } });
    for (let calls = workers.map(claim); calls.length > 0; ) {
      const { answers } = await post("/api/many", { calls });
      const claims = answers.flatMap(({ claim, resumed }) => (claim && resumed === false ? [claim] : []));
      cycles += claims.length;
      calls = claims.flatMap(({ taskId, epoch, sessionId }) => [
        { operation: "tasks.complete", input: { taskId, sessionId, epoch, result: "done" } },
        claim(sessionId),
      ]);
    }
    return cycles;
  });

/** As many requests, to a route that does nothing. */
async function cyclesOnBareRoute(count, connections) {
  const server = await startServer("bare", ".");
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const post = caller(server, agent);
  let left = count;
  const found = await measured(server, async () => {
    await Promise.all(
      Array.from({ length: connections }, async (_, i) => {
        while (left-- > 0) {
          await post("/api/tasks/claim-next", { sessionId: `worker-${i}` });
          await post("/api/tasks/0001/complete", { sessionId: `worker-${i}`, epoch: 1, result: "done" });
        }
      }),
    );
    return count;
  });
  agent.destroy();
  await server.stop();
  return found;
}

async function cyclesInProcess(count, connections) {
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

/** How long claims and completions take while the server has `share` of the work it can do. */
async function latencyUnderLoad(perSecond, share, forMs) {
  const cycles = Math.round((perSecond * share * forMs) / 1000);
  const gapMs = (1000 * usual) / (perSecond * share);
  const times = [];
  let late = 0;
  await onServer(cycles + usual, usual, async (post, workers) => {
    const end = performance.now() + forMs;
    const timed = async (path, body) => {
      const begun = performance.now();
      const answer = await post(path, body);
      times.push(performance.now() - begun);
      return answer;
    };
    await Promise.all(
      workers.map(async (sessionId, at) => {
        // Each has its own pace; a late worker goes on at once, and is counted.
        for (let due = performance.now() + (gapMs * at) / usual; due < end; due += gapMs) {
          const wait = due - performance.now();
          if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
          else late++;
          const { claim } = await timed("/api/tasks/claim-next", { sessionId });
          if (!claim) return;
          const { taskId, epoch } = claim;
          await timed(`/api/tasks/${taskId}/complete`, { sessionId, epoch, result: "done" });
        }
      }),
    );
    return Math.max(1, times.length / 2);
  });
  const at = (q) => round(quantile(times, q));
  return {
    ofRate: share,
    p50Ms: at(0.5),
    p90Ms: at(0.9),
    p99Ms: at(0.99),
    late: round(late / (times.length / 2)),
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

const usual = 64;
const otherConnections = [1, 8, 512];

const each = (found, figure) =>
  Object.fromEntries(Object.entries(found).map(([name, value]) => [name, round(figure(value), 0)]));

export async function http({ quick, log }) {
  const count = quick ? 2_000 : 20_000;
  const rounds = quick ? 1 : 3;
  const kinds = {
    inProcess: () => cyclesInProcess(count, usual),
    overHttp: () => cyclesOverHttp(count, usual),
    many: () => cyclesOfMany(count),
    bare: () => cyclesOnBareRoute(count, usual),
  };
  const best = {};
  for (let at = 0; at < rounds; at++) {
    for (const [name, run] of Object.entries(kinds)) {
      const found = await run();
      if (found.perSecond > (best[name]?.perSecond ?? 0)) best[name] = found;
    }
    const rates = Object.entries(best).map(([name, { perSecond }]) => `${name} ${round(perSecond, 0)}`);
    log(`  after round ${at + 1}: ${rates.join(", ")} cycles/s`);
  }
  const byConnections = {};
  for (const connections of otherConnections) {
    const [overHttp, bare] = [
      await cyclesOverHttp(count / 4, connections),
      await cyclesOnBareRoute(count / 4, connections),
    ];
    byConnections[connections] = {
      cyclesPerSecond: round(overHttp.perSecond, 0),
      serverCpuUsPerCycle: round(overHttp.serverCpuUs, 0),
      ofBareRoute: round(overHttp.perSecond / bare.perSecond),
    };
  }
  const stream = await streamLatency(quick ? 100 : 1_000, quick ? 20 : 100);
  const idle = await waitingCost(0, quick ? 2_000 : 10_000);
  const { inProcess: _, ...withServer } = best;
  const waiting = await waitingCost(quick ? 200 : 1_000, quick ? 2_000 : 10_000);
  const manyWaiting = await waitingCost(quick ? 500 : 10_000, quick ? 2_000 : 10_000);
  const halfLoaded = await latencyUnderLoad(best.overHttp.perSecond, 0.5, quick ? 2_000 : 10_000);
  return {
    cyclesPerSecond: each(best, ({ perSecond }) => perSecond),
    serverCpuUsPerCycle: each(withServer, ({ serverCpuUs }) => serverCpuUs),
    serverHeapMiB: round(best.overHttp.heapMiB, 0),
    ofInProcess: round(best.overHttp.perSecond / best.inProcess.perSecond),
    ofBareRoute: round(best.overHttp.perSecond / best.bare.perSecond),
    cpuOfManyToSingle: round(best.many.serverCpuUs / best.overHttp.serverCpuUs),
    byConnections,
    stream,
    idle,
    waiting,
    manyWaiting,
    halfLoaded,
    checks: [
      {
        name: "server CPU of a cycle, with many calls per request / with one",
        ratio: round(best.many.serverCpuUs / best.overHttp.serverCpuUs),
        atMost: 0.55,
      },
      {
        name: `percent of a core while ${manyWaiting.waiters} claims wait, beyond an idle server`,
        ratio: round(manyWaiting.cpuPercent - idle.cpuPercent),
        atMost: 10,
      },
    ],
  };
}
