import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { connectDibs } from "../../src/index.js";
import { on, raw, type World } from "../http/support.js";
import { commitOf, inspect, reviewedBy, submit, waiting } from "../reviews.js";
import { Agent, until } from "./support.js";

const eras = ["legacy", "auto"] as const;

async function connect(
  world: World,
  options: ClientOptions & { token?: string; prepare?: (client: Client) => void } = {},
): Promise<Agent & { transport: never; http: StreamableHTTPClientTransport }> {
  const { token = world.token, prepare, ...more } = options;
  const http = new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  const client = new Client({ name: "test", version: "1" }, more);
  prepare?.(client);
  await client.connect(http);
  return Object.assign(new Agent(client, null), { http }) as never;
}

for (const mode of eras) {
  const versionNegotiation = { mode };

  test(
    `the whole loop over HTTP (${mode} protocol)`,
    on("sqlite", async (world) => {
      const agent = await connect(world, { versionNegotiation });
      await agent.do("create_task", { description: "first", priority: "high" });
      await agent.do("create_task", { description: "second", dependencies: ["0001"] });
      const nobody = await agent.call("claim_task");
      expect(nobody.isError && nobody.text).toContain("agent_id: is required");
      expect(await agent.do("claim_task", { agent_id: "ann", start: true })).toContain(
        "hold task 0001: running",
      );
      await agent.do("ask_human", { agent_id: "ann", task_id: "0001", question: "Red or blue?" });
      await world.post("/api/tasks/0001/respond", { response: "blue" });
      expect(await agent.do("list_tasks", { agent_id: "ann" })).toContain("blue");
      expect(await agent.do("complete_task", { agent_id: "ann", task_id: "0001", output: "done" })).toContain(
        "Now ready: 0002",
      );
      expect((await world.get("/api/tasks/0001")).body.task.state).toBe("completed");
      await agent.close();
    }),
  );

  test(
    `fifty clients with the same request ids see only their own answers (${mode} protocol)`,
    on("memory", async (world) => {
      const agents = await Promise.all(
        Array.from({ length: 50 }, () => connect(world, { versionNegotiation })),
      );
      const texts = await Promise.all(
        agents.map(async (agent, index) => {
          const created = await agent.do("create_task", { description: `secret of ${index}` });
          const id = /task (\w+)/.exec(created)![1]!;
          return agent.do("claim_task", { agent_id: `agent-${index}`, task_id: id });
        }),
      );
      texts.forEach((text, index) => {
        expect(text).toContain(`secret of ${index}\n`);
        expect(text.match(/secret of/g)).toHaveLength(1);
        expect(text).toContain(`You (agent-${index})`);
      });
      await Promise.all(agents.map((agent) => agent.close()));
    }),
  );

  test(
    `a token's role and org decide what an agent may do and see (${mode} protocol)`,
    on("memory", async (world) => {
      await world.task({ prompt: "to see" });
      const viewer = await connect(world, { versionNegotiation, token: await world.tokenFor("viewer") });
      expect(await viewer.do("list_tasks")).toContain("to see");
      const refused = await viewer.call("create_task", { description: "no" });
      expect(refused.isError && refused.text).toMatch(/^FORBIDDEN/);
      await expect(connect(world, { versionNegotiation, token: "dibs_nobody" })).rejects.toThrow();
      // A session belongs to the token that registered it.
      const one = await connect(world, {
        versionNegotiation,
        token: await world.tokenFor("worker", "one" as never),
      });
      const two = await connect(world, {
        versionNegotiation,
        token: await world.tokenFor("worker", "two" as never),
      });
      await one.do("claim_task", { agent_id: "ann" });
      const stolen = await two.call("complete_task", { agent_id: "ann", task_id: "0001" });
      expect(stolen.isError && stolen.text).toMatch(/^FORBIDDEN/);
    }),
  );

  test(
    `a restart of the server in the middle of a review loses nothing (${mode} protocol)`,
    on("sqlite", async (world) => {
      const dibs = connectDibs({ url: world.url, token: world.token });
      await reviewedBy(dibs, "agent");
      const task_id = await waiting(dibs, "Turn the flag on");
      const reviewer = { agent_id: "critic", task_id };
      const before = await connect(world, { versionNegotiation });
      const claimed = await before.do("claim_task", { agent_id: "critic", kind: "review" });
      expect(claimed).toContain(`review submission 1 of task ${task_id}`);
      await world.restart();
      const agent = await connect(world, { versionNegotiation });
      const given = { ...reviewer, verdict: "approve", output: "Read all of it" };
      expect(await agent.do("complete_task", given)).toContain("Approved submission 1");
      const { submission } = await dibs.tasks.submission({ taskId: task_id });
      expect(submission.reviews).toMatchObject([{ epoch: 1, verdict: "approve", comment: "Read all of it" }]);
      await agent.close();
      await dibs.close();
    }),
  );

  test(
    `a verdict on a submission that was replaced since is refused (${mode} protocol)`,
    on("sqlite", async (world) => {
      const dibs = connectDibs({ url: world.url, token: world.token });
      await reviewedBy(dibs, "agent");
      const task_id = await waiting(dibs, "Turn the flag on");
      const before = await connect(world, { versionNegotiation });
      await before.do("claim_task", { agent_id: "critic", kind: "review" });
      await dibs.tasks.withdraw({ taskId: task_id });
      await submit(dibs, task_id, { commit: commitOf(2) });
      await inspect(dibs, task_id, { submission: 2 });
      // The connection that claimed it, and another one.
      for (const agent of [before, await connect(world, { versionNegotiation })]) {
        const given = { agent_id: "critic", task_id, verdict: "approve" };
        const late = await agent.call("complete_task", given);
        expect(late).toMatchObject({ isError: true, text: expect.stringContaining("STALE_SUBMISSION") });
        await agent.close();
      }
      const { submission } = await dibs.tasks.submission({ taskId: task_id });
      expect(submission).toMatchObject({ number: 2, approved: false, reviews: [] });
      await dibs.close();
    }),
  );
}

test(
  "a session is refused to other tokens, other hosts and other origins, and ends with DELETE",
  on("memory", async (world) => {
    await world.task();
    const agent = await connect(world);
    await agent.do("claim_task", { agent_id: "ann" });
    const sessionId = agent.http.sessionId!;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-session-id": sessionId,
    };
    const asked = (more: Record<string, string>) =>
      raw(world, { method: "POST", path: "/mcp", headers: { ...headers, ...more }, body });
    const own = { authorization: `Bearer ${world.token}` };
    expect((await asked(own)).status).toBe(200);
    expect((await asked({})).status).toBe(401);
    expect((await asked({ authorization: `Bearer ${await world.tokenFor("admin")}` })).status).toBe(404);
    expect((await asked({ ...own, host: "evil.example" })).status).toBe(403);
    expect((await asked({ ...own, origin: "https://evil.example" })).status).toBe(403);
    await agent.http.terminateSession();
    expect((await asked(own)).status).toBe(404);
    // What its agents held is free again, lost as with a process that ends, and theirs again when they come back.
    const { task } = (await world.get("/api/tasks/0001")).body;
    expect(task).toMatchObject({ state: "queued", lostCount: 1 });
    const again = await connect(world);
    expect(await again.do("claim_task", { agent_id: "ann" })).toContain("hold task 0001: claimed");
    // An agent that went on elsewhere keeps what it holds.
    const other = await connect(world);
    await other.do("claim_task", { agent_id: "ann" });
    await again.http.terminateSession();
    expect(await other.do("complete_task", { agent_id: "ann", task_id: "0001" })).toContain("Completed");
    await other.close();
  }),
);

test(
  "whatever is answered at /mcp, the OpenAPI document says so",
  on("memory", async (world) => {
    const accept = "application/json, text/event-stream";
    const say = (body: unknown, headers: Record<string, string> = {}) =>
      world.post("/mcp", body, { headers: { accept, ...headers } });
    const message = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
    const clientInfo = { name: "raw", version: "1" };
    const began = await say(
      message("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }),
    );
    const own = { "mcp-session-id": began.headers.get("mcp-session-id")! };
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const today = { "mcp-protocol-version": "2026-07-28" };
    const notice = { jsonrpc: "2.0", method: "notifications/initialized" };
    const answers = [
      began,
      await say(notice, own),
      await say(message("tools/list"), own),
      await say(message("no/such"), own),
      await say(message("tools/list")),
      await say(message("tools/list"), { "mcp-session-id": "another" }),
      await say("{ broken", own),
      await say(message("tools/list"), { ...own, accept: "text/html" }),
      await say(message("tools/list"), { ...own, "content-type": "text/plain" }),
      await say(message("tools/list", { long: "x".repeat(3_000_000) }), own),
      await say(message("tools/list", { _meta }), { ...today, "mcp-method": "tools/list" }),
      await say(message("no/such", { _meta }), { ...today, "mcp-method": "no/such" }),
      await say(message("tools/list", { _meta }), { ...today, "mcp-method": "other" }),
      await world.get("/mcp", { headers: { accept } }),
      await world.get("/mcp", { headers: { ...own, accept: "text/html" } }),
      await world.post("/mcp", notice, { token: null }),
      await world.post("/mcp", notice, { headers: { origin: "https://evil.example" } }),
      await world.delete("/mcp"),
      await world.delete("/mcp", { headers: own }),
      await world.delete("/mcp", { headers: own }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      200, 202, 200, 200, 400, 404, 400, 406, 415, 413, 200, 404, 400, 400, 406, 401, 403, 400, 200, 404,
    ]);
  }),
);

test(
  "too many sessions are refused; those of a token that is over are ended",
  on(
    "memory",
    async (world) => {
      const made = (await world.post("/api/tokens", { name: "short", role: "worker" })).body;
      await connect(world, { token: made.token });
      await connect(world);
      await expect(connect(world)).rejects.toThrow(/RATE_LIMITED/);
      await world.delete(`/api/tokens/${made.id}`);
      await until("room after the token was revoked", () => connect(world).catch(() => null));
      await expect(connect(world)).rejects.toThrow(/RATE_LIMITED/);
    },
    { mcp: { sessionsMax: 2, sweepMs: 20 } },
  ),
);

test(
  "a session that nobody uses is ended",
  on(
    "memory",
    async (world) => {
      const params = {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "raw", version: "1" },
      };
      const headers = { accept: "application/json, text/event-stream" };
      const message = { jsonrpc: "2.0", id: 1, method: "initialize", params };
      const { status } = await world.post("/mcp", message, { headers });
      expect(status).toBe(200);
      // There is room for one; who connects slowly may be taken for idle, and tries again.
      await until("room after a client went away", () =>
        connect(world)
          .then((agent) => agent.do("list_tasks"))
          .catch(() => null),
      );
    },
    { mcp: { sessionsMax: 1, idleMs: 300, sweepMs: 20 } },
  ),
);

for (const mode of eras) {
  test(
    `changes of what a client looks at are told (${mode} protocol)`,
    on("memory", async (world) => {
      const told: string[] = [];
      const agent = await connect(world, {
        versionNegotiation: { mode },
        prepare: (client) =>
          client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
            told.push(params.uri);
          }),
      });
      await world.task();
      const uris = ["dibs://task/0001", "dibs://inbox"];
      if (mode === "auto") await agent.client.listen({ resourceSubscriptions: uris });
      else for (const uri of uris) await agent.client.subscribeResource({ uri });
      // Where following begins is settled a moment after the subscription was answered.
      await until("a notice about the task", async () => {
        await agent.do("update_progress", { agent_id: "nobody", task_id: "0001" }).catch(() => null);
        await agent.call("claim_task", { agent_id: "ann", task_id: "0001" });
        await agent.call("release_task", { agent_id: "ann", task_id: "0001" });
        return told.includes("dibs://task/0001");
      });
      await agent.do("claim_task", { agent_id: "ann", task_id: "0001" });
      await agent.do("ask_human", { agent_id: "ann", task_id: "0001", question: "Which?" });
      await until("a notice about the inbox", async () => told.includes("dibs://inbox"));
      expect(told).not.toContain("dibs://ready");
      const { contents } = await agent.client.readResource({ uri: "dibs://inbox" });
      expect((contents[0] as { text: string }).text).toContain("Which?");
      const task = await agent.client.readResource({ uri: "dibs://task/0001" });
      expect((task.contents[0] as { text: string }).text).toContain("awaiting_response");
      await expect(agent.client.readResource({ uri: "dibs://task/0009" })).rejects.toThrow(/TASK_NOT_FOUND/);
      // A question also ends with the attempt that asked it.
      told.splice(0);
      await agent.do("fail_task", { agent_id: "ann", task_id: "0001", error: "no answer" });
      await until("a notice about the end of the question", async () => told.includes("dibs://inbox"));
      await agent.close();
    }),
  );
}

for (const mode of eras) {
  test(
    `a client that breaks off while it waits for work takes none with it (${mode} protocol)`,
    on("memory", async (world) => {
      const agent = await connect(world, { versionNegotiation: { mode } });
      const waiting = agent.call("claim_task", { agent_id: "ann", wait_seconds: 60 }).catch(() => null);
      await until("its session", async () => (await world.get("/api/sessions")).body.sessions.length === 1);
      const ended = () => world.logged.filter((line) => /"POST".*"\/mcp"/.test(line)).length;
      const before = ended();
      await agent.close();
      await waiting;
      await until("the end of the request", async () => ended() > before);
      await world.session("next");
      const id = await world.task();
      const { body } = await world.post("/api/tasks/claim-next", { sessionId: "next" });
      expect(body.claim?.taskId).toBe(id);
    }),
  );
}

for (const mode of eras) {
  test(
    `the human at the client is asked, if the token may answer (${mode} protocol)`,
    on("memory", async (world) => {
      const asked: string[] = [];
      const options = {
        versionNegotiation: { mode },
        capabilities: { elicitation: { form: {} } },
        prepare: (client: Client) =>
          client.setRequestHandler("elicitation/create", async ({ params }) => {
            asked.push(params.message);
            return { action: "accept" as const, content: { answer: "blue" } };
          }),
      };
      const question = { agent_id: "ann", question: "Red or blue?" };
      await world.task();
      const leader = await connect(world, options);
      await leader.do("claim_task", { agent_id: "ann" });
      expect(await leader.do("ask_human", { ...question, task_id: "0001" })).toContain("blue");
      expect(asked).toEqual(["Task 0001: Red or blue?"]);
      await leader.do("complete_task", { agent_id: "ann", task_id: "0001" });

      await world.task();
      const worker = await connect(world, { ...options, token: await world.tokenFor("worker") });
      await worker.do("claim_task", { agent_id: "bob" });
      const text = await worker.do("ask_human", { ...question, agent_id: "bob", task_id: "0002" });
      expect(text).toContain("is open. You keep the task");
      expect(asked).toHaveLength(1);
      // While the question is open, the agent is led back to it.
      expect(await worker.do("claim_task", { agent_id: "bob" })).toContain(
        "ask_human with the same question",
      );
      const early = await worker.call("complete_task", { agent_id: "bob", task_id: "0002" });
      expect(early.isError && early.text).toMatch(/^INVALID_STATE/);
    }),
  );
}
