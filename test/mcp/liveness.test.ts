import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { hostId, isAlive } from "../../src/runtime/liveness.js";
import { serveDibs } from "../../src/serve.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { AgentSessions } from "../../src/surfaces/mcp/agent-sessions.js";
import { handlers } from "../../src/surfaces/mcp/handlers.js";
import { type Agent, bin, inProcess, inWorld, type McpWorld, until } from "./support.js";

const stateOf = async (world: McpWorld, taskId = "0001") => (await world.dibs.tasks.get({ taskId })).task;

/** How a client can go away. Each settles when it is gone. */
const ways: Record<string, (agent: Agent) => Promise<unknown>> = {
  "closes its end": (agent) => agent.close(),
  "is asked to end": async (agent) => process.kill(agent.pid, "SIGTERM"),
  "is killed": async (agent) => process.kill(agent.pid, "SIGKILL"),
};

const stages: Record<string, (agent: Agent) => Promise<unknown>> = {
  claimed: (agent) => agent.do("claim_task"),
  running: (agent) => agent.do("claim_task", { start: true }),
  "half done": async (agent) => {
    await agent.do("claim_task", { start: true });
    await agent.do("update_progress", { task_id: "0001", note: "half", percent: 50 });
  },
};

for (const [way, goAway] of Object.entries(ways)) {
  for (const [stage, reach] of Object.entries(stages)) {
    test(
      `a client that ${way} when its task is ${stage} loses it to others at once`,
      inWorld(async (world) => {
        await world.dibs.tasks.create({ prompt: "do it" });
        const agent = await world.agent();
        await reach(agent);
        await goAway(agent);
        // A claim that waits notices the end, or the death of the process.
        const next = await world.dibs.tasks.claimNext({ sessionId: "next", register: true, waitMs: 60_000 });
        expect(next.claim).toMatchObject({ taskId: "0001", epoch: 2 });
        expect(next.task?.lostCount).toBe(1);
        const { sessions } = await world.dibs.sessions.list();
        expect(sessions.filter(({ endedAt }) => endedAt === null).map(({ id }) => id)).toEqual(["next"]);
      }),
    );
  }

  test(
    `the question of a client that ${way} stays open, and its answer goes to the next holder`,
    inWorld(async (world) => {
      await world.dibs.tasks.create({ prompt: "do it" });
      const agent = await world.agent();
      await agent.do("claim_task");
      await agent.do("ask_human", { task_id: "0001", question: "Which?" });
      await goAway(agent);
      await until("the end of the claim", async () => {
        await world.dibs.claims.cleanup();
        return (await stateOf(world)).claim === null;
      });
      expect((await stateOf(world)).state).toBe("awaiting_response");
      await world.dibs.tasks.respond({ taskId: "0001", response: "the blue one" });
      const successor = await world.agent();
      const text = await successor.do("claim_task", { wait_seconds: 50 });
      expect(text).toContain("the blue one");
      expect(text).toContain("hand-over");
    }),
  );

  test(
    `a client that ${way} while it waits for work takes none with it`,
    inWorld(async (world) => {
      const agent = await world.agent({ env: { DIBS_SESSION: "waiting" } });
      const waiting = agent.call("claim_task", { wait_seconds: 50 }).catch(() => null);
      await until("its session", async () => (await world.dibs.sessions.list()).sessions.length === 1);
      await goAway(agent);
      await waiting;
      await world.dibs.tasks.create({ prompt: "do it" });
      const next = await world.dibs.tasks.claimNext({ sessionId: "next", register: true, waitMs: 60_000 });
      expect(next.claim?.taskId).toBe("0001");
    }),
  );
}

/** A client in a process of its own: it claims, says where its server is, and does nothing more. */
const lonelyClient = `
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const transport = new StdioClientTransport({ command: process.execPath, args: process.argv.slice(1) });
const client = new Client({ name: "lonely", version: "1" });
await client.connect(transport);
await client.callTool({ name: "claim_task", arguments: { start: true } });
console.log(transport.pid);
setInterval(() => undefined, 1_000);
`;

test(
  "a client whose process is killed takes its server with it, and its task is free at once",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "do it" });
    const args = ["--input-type=module", "-e", lonelyClient, bin, "mcp", "--db", world.path];
    const client = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [said] = await once(client.stdout, "data");
    const server = Number(String(said));
    expect((await stateOf(world)).state).toBe("running");
    client.kill("SIGKILL");
    const next = await world.dibs.tasks.claimNext({ sessionId: "next", register: true, waitMs: 60_000 });
    expect(next.claim).toMatchObject({ taskId: "0001", epoch: 2 });
    await until("the end of its server", async () => !isAlive(server, null));
  }),
);

test(
  "a claim that waits is one call, and returns as soon as there is something to do",
  inWorld(async (world) => {
    const agent = await world.agent({ env: { DIBS_SESSION: "waiting" } });
    const waiting = agent.do("claim_task", { wait_seconds: 60 });
    await until("its session", async () => (await world.dibs.sessions.list()).sessions.length === 1);
    await world.dibs.tasks.create({ prompt: "at last" });
    expect(await waiting).toContain("at last");
  }),
);

/** Renewed every tenth of a second, and long: a process that stands still for a while does not lose them. */
const oftenRenewed = {
  claim: { defaultTtlMs: 60_000, startTimeoutMs: 60_000, heartbeatIntervalMs: 100 },
};

test(
  "leases are renewed while the process lives",
  inWorld(async (world) => {
    await world.dibs.projects.update({ id: "demo", settings: oftenRenewed });
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent();
    await agent.do("claim_task");
    const first = (await stateOf(world)).claim!;
    const renewed = await until("some renewals", async () => {
      const { claim } = await stateOf(world);
      return claim!.heartbeatCount > 3 && claim;
    });
    expect(Date.parse(renewed!.expiresAt)).toBeGreaterThan(Date.parse(first.expiresAt));
  }),
);

test(
  "an agent that was silent for too long loses its task, and hears so with its next call",
  inWorld(async (world) => {
    const claim = { minTtlMs: 50, defaultTtlMs: 400, maxTtlMs: 1_000, startTimeoutMs: 400 };
    await world.dibs.projects.update({
      id: "demo",
      settings: { claim: { ...claim, heartbeatIntervalMs: 100 } },
    });
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent();
    await agent.do("claim_task");
    const over = await until("the end of the lease", async () => {
      await world.dibs.claims.cleanup();
      const task = await stateOf(world);
      return task.claim === null && task;
    });
    expect(over).toMatchObject({ state: "queued", lostCount: 1 });
    const late = await agent.call("complete_task", { task_id: "0001", output: "too late" });
    expect(late.isError).toBe(true);
    expect(late.text).toMatch(/CLAIM_EXPIRED|no longer yours/);
    expect(late.text).toContain("claim_task");
  }),
);

test(
  "an agent whose task is cancelled meanwhile hears so with its next call, whatever it is",
  inWorld(async (world) => {
    await world.dibs.projects.update({ id: "demo", settings: oftenRenewed });
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent();
    await agent.do("claim_task", { start: true });
    await world.dibs.tasks.cancel({ taskId: "0001" });
    await until("it is told", async () =>
      (await agent.do("list_tasks")).includes("no longer yours (TASK_CANCELLED)"),
    );
    expect(await agent.do("list_tasks")).not.toContain("no longer yours");
  }),
);

test(
  "through a running server it is the same: gone or killed, what was held is free at once",
  inWorld(async (world) => {
    const server = await serveDibs({ path: world.path, port: 0, logLevel: "silent" });
    world.endings.push(() => server.close());
    await world.dibs.tasks.create({ prompt: "do it" });
    for (const [epoch, goAway] of Object.values(ways).entries()) {
      const agent = await world.agent({ env: { DIBS_SESSION: `agent-${epoch}` } });
      await agent.do("claim_task", { start: true, wait_seconds: 50 });
      const { session } = await world.dibs.sessions.get({ sessionId: `agent-${epoch}` });
      expect(session).toMatchObject({ pid: agent.pid, heartbeats: true });
      await goAway(agent);
      await world.dibs.tasks.claimNext({ sessionId: "next", register: true, waitMs: 60_000 });
      const { task } = await world.dibs.tasks.get({ taskId: "0001" });
      expect(task.claim?.sessionId).toBe("next");
      await world.dibs.tasks.progress({
        taskId: "0001",
        sessionId: "next",
        note: "not lost again and again",
      });
      await world.dibs.sessions.end({ sessionId: "next" });
    }
    const owners = (await world.dibs.events.list({ limit: 1000 })).events.filter(
      ({ type }) => type === "session:registered",
    );
    expect(owners.length).toBeGreaterThanOrEqual(3);
  }),
);

test(
  "when the server stops, the agent goes on with the store itself: its next call succeeds, and it keeps what it holds",
  inWorld(async (world) => {
    const server = await serveDibs({ path: world.path, port: 0, logLevel: "silent" });
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent({ env: { DIBS_SESSION: "ann" } });
    await agent.do("claim_task", { start: true });
    // The first beat is over: else it may be the one that notices, and nobody would know who went to the store.
    await until("the first beat", async () => {
      const { session } = await world.dibs.sessions.get({ sessionId: "ann" });
      return (await stateOf(world)).claim!.heartbeatCount > 0 && session.lastSeenAt > session.startedAt;
    });
    await server.close();
    expect(await agent.do("update_progress", { task_id: "0001" })).toContain("Progress saved");
    expect(await agent.do("complete_task", { task_id: "0001" })).toContain("Completed task 0001");
    expect((await stateOf(world)).epoch).toBe(1);
  }),
);

test(
  "what an attempt has cost is taken after its end, too",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent({ env: { DIBS_SESSION: "ann" } });
    await agent.do("claim_task", { start: true });
    expect(await agent.do("update_progress", { task_id: "0001", usd: 0.1 })).toContain("Progress saved");
    await agent.do("complete_task", { task_id: "0001" });
    const said = await agent.do("update_progress", { task_id: "0001", usd: 0.4, output_tokens: 50 });
    expect(said).toContain("The cost of your attempt at task 0001 is saved.");
    expect(await stateOf(world)).toMatchObject({ usage: { usd: 0.4, outputTokens: 50 } });
    const late = await agent.do("update_progress", { task_id: "0001", note: "more" }).catch(String);
    expect(String(late)).not.toContain("saved");
  }),
);

test(
  "only who claims is registered: who acts on a task as a stranger is told so, and leaves no session behind",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "do it" });
    await world.dibs.tasks.claim({ taskId: "0001", sessionId: "bob", register: true });
    const agent = await world.agent({ env: { DIBS_SESSION: "ann" } });
    const acts = {
      start_task: {},
      complete_task: {},
      fail_task: { error: "no" },
      ask_human: { question: "Why?" },
      update_progress: { note: "half" },
      release_task: {},
    };
    for (const [tool, more] of Object.entries(acts)) {
      const refused = await agent.call(tool, { task_id: "0001", ...more });
      expect(refused.isError && refused.text, tool).toMatch(/^SESSION_NOT_FOUND: .*Next: .*claim_task/s);
      expect((await agent.call(tool, { task_id: "0404", ...more })).text).toMatch(/^TASK_NOT_FOUND/);
    }
    const { sessions } = await world.dibs.sessions.list({ all: true });
    expect(sessions.map(({ id }) => id)).toEqual(["bob"]);
    // A session that is known, such as one of the command line, goes on here.
    expect(await agent.do("start_task", { agent_id: "bob", task_id: "0001" })).toContain("is running");
    expect(await agent.do("claim_task")).toContain("Nothing to claim");
    const late = await agent.call("start_task", { task_id: "0001" });
    expect(late.text).toMatch(/^NOT_CLAIM_OWNER/);
  }),
);

test(
  "a second process under the same name takes over: the first one is refused, and takes nothing with it when it ends",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "do it" });
    const env = { DIBS_SESSION: "ann" };
    const first = await world.agent({ env });
    await first.do("claim_task");
    const second = await world.agent({ env });
    expect(await second.do("claim_task")).toContain("attempt 2");
    for (const [tool, input] of [["claim_task"], ["complete_task", { task_id: "0001" }]] as const) {
      const refused = await first.call(tool, input);
      expect(refused.isError && refused.text).toMatch(/^SESSION_BUSY.*Use another agent_id/s);
    }
    expect(await first.do("claim_task", { agent_id: "bob" })).toContain("Nothing to claim");
    await first.close();
    await until(
      "its end",
      async () => (await world.dibs.sessions.get({ sessionId: "bob" })).session.endedAt !== null,
    );
    expect(await second.do("complete_task", { task_id: "0001" })).toContain("Completed");
  }),
);

test(
  "under a runner the session stays the runner's, and so does the task when the client goes",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "the runner's" });
    await world.dibs.tasks.create({ prompt: "another" });
    await world.dibs.sessions.register({ id: "runner", pid: process.pid });
    const { claim } = await world.dibs.tasks.claim({ taskId: "0001", sessionId: "runner", start: true });
    const env = { DIBS_SESSION: "runner", DIBS_TASK: "0001", DIBS_EPOCH: String(claim.epoch) };
    const agent = await world.agent({ env });
    await agent.do("update_progress", { task_id: "0001", note: "from inside" });
    await agent.do("claim_task", { task_id: "0002" });
    await agent.close();
    await until("what it claimed besides", async () => (await stateOf(world, "0002")).state === "queued");
    expect((await stateOf(world, "0001")).claim).toMatchObject({ sessionId: "runner", epoch: claim.epoch });
    expect((await world.dibs.sessions.get({ sessionId: "runner" })).session).toMatchObject({
      endedAt: null,
      pid: process.pid,
    });
  }),
);

/** An agent that does as AGENTS.md says, and ends without a report. */
const claimingAgent = `
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const transport = new StdioClientTransport({
  command: process.execPath,
  args: process.argv.slice(1),
  env: process.env,
});
const client = new Client({ name: "agent", version: "1" });
await client.connect(transport);
const { content } = await client.callTool({ name: "claim_task", arguments: { start: true } });
console.log(content[0].text);
await client.close();
`;

test(
  "an agent under dibs work that claims as it was told gets the runner's task, and the runner completes it",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "the runner's" });
    await world.dibs.tasks.create({ prompt: "another" });
    const agent = [process.execPath, "--input-type=module", "-e", claimingAgent, bin, "mcp"];
    const args = [bin, "work", "--once", "--concurrency", "2", "--db", world.path, "--", ...agent];
    const runner = spawn(process.execPath, args, { stdio: "ignore" });
    const [code] = await once(runner, "exit");
    expect(code).toBe(0);
    const { tasks } = await world.dibs.tasks.list();
    for (const task of tasks.filter(({ epoch }) => epoch > 0)) {
      expect(task).toMatchObject({ state: "completed", epoch: 1, lostCount: 0 });
      expect(task.result?.output).toContain(`hold task ${task.id}: running`);
    }
    expect(tasks[0]!.state).toBe("completed");
  }),
);

test(
  "a claim whose call was broken off while it was granted goes back, counts as nothing, and comes again",
  inProcess(async ({ dibs }) => {
    const call = new AbortController();
    const claimNext: typeof dibs.tasks.claimNext = async (...given) => {
      const granted = await dibs.tasks.claimNext(...given);
      call.abort();
      return granted;
    };
    const tasks = { ...dibs.tasks, claimNext };
    const agents = new AgentSessions({ open: async () => ({ ...dibs, tasks }), defaultAgent: "me" });
    await dibs.tasks.create({ prompt: "do it" });
    await handlers.claim_task(agents, {}, call.signal);
    expect((await dibs.tasks.get({ taskId: "0001" })).task).toMatchObject({ state: "queued", lostCount: 0 });
    const again = await handlers.claim_task(agents, {}, new AbortController().signal);
    expect(again.join("\n")).toContain("hold task 0001: claimed");
    await agents.close();
  }),
);

test("no wait is as long as clients are patient", async () => {
  const { waitMsOf } = await import("../../src/surfaces/mcp/arguments.js");
  expect([waitMsOf(60), waitMsOf(51), waitMsOf(5), waitMsOf(undefined)]).toEqual([50_000, 50_000, 5_000, 0]);
});

const clock = new TestClock();
test(
  "looking at tasks is a sign of life, too; who was silent for too long hears with any call what was lost",
  inProcess(
    async ({ dibs, agent }) => {
      const lease = { minTtlMs: 1, defaultTtlMs: 400, maxTtlMs: 1_200, startTimeoutMs: 400 };
      await dibs.projects.update({ settings: { claim: { ...lease, heartbeatIntervalMs: 20 } } });
      await dibs.tasks.create({ prompt: "do it" });
      await agent.do("claim_task", { start: true });
      const claim = async () => (await dibs.tasks.get({ taskId: "0001" })).task.claim;
      const isNow = (time: string | undefined) => time !== undefined && Date.parse(time) === clock.now();
      /** Time passes, and the server has renewed what it renews. */
      const pass = async (ms: number) => {
        clock.advance(ms);
        await until("its session is heard of", async () =>
          isNow((await dibs.sessions.get({ sessionId: "me" })).session.lastSeenAt),
        );
      };
      const renewed = () => until("the renewal", async () => isNow((await claim())?.lastHeartbeat));
      for (let look = 0; look < 5; look++) {
        for (const [tool, input] of [
          ["list_tasks", {}],
          ["get_task", { task_id: "0001" }],
        ] as const) {
          await pass(300);
          await renewed();
          expect(await agent.do(tool, input)).not.toContain("no longer");
        }
      }
      for (let silentMs = 300; silentMs <= lease.maxTtlMs; silentMs += 300) {
        await pass(300);
        await renewed();
      }
      // A beat that began before can still renew; the one after it leaves the lease alone, and the lease ends.
      await pass(200);
      await pass(1);
      await pass(lease.defaultTtlMs + 50);
      await dibs.claims.cleanup();
      expect(await claim()).toBeNull();
      expect(await agent.do("list_tasks")).toContain("Task 0001 is no longer yours (CLAIM_EXPIRED)");
      expect(await agent.do("list_tasks")).not.toContain("no longer yours");
    },
    { clock, process: { pid: process.pid, host: hostId } },
  ),
);
