import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { type AgentOptions, connectAgent, inProcess, inWorld, until } from "./support.js";

interface Asked {
  message: string;
  /** Ends when the server takes the question back. */
  signal: AbortSignal;
  answer(result: { action: "accept" | "decline" | "cancel"; content?: Record<string, string> }): void;
}

/** A client with a human at it. */
function withHuman(mode: "legacy" | "auto"): { options: AgentOptions; asked: Asked[] } {
  const asked: Asked[] = [];
  const prepare = (client: Client) =>
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) => {
      return new Promise((answer) => {
        asked.push({ message: params.message, signal: mcpReq.signal, answer: answer as Asked["answer"] });
      });
    });
  const client = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } };
  return { options: { client, prepare, env: { DIBS_SESSION: "ann" } }, asked };
}

const question = { task_id: "0001", question: "Which hash?", options: ["argon2", "bcrypt"] };

for (const mode of ["legacy", "auto"] as const) {
  test(
    `the human at the client answers, and the answer is everywhere (${mode} protocol)`,
    inWorld(async (world) => {
      const { options, asked } = withHuman(mode);
      const agent = await world.agent(options);
      await world.dibs.tasks.create({ prompt: "do it" });
      await agent.do("claim_task", { start: true });
      const answered = agent.do("ask_human", question);
      const [form] = await until("the form", async () => asked.length > 0 && asked);
      expect(form!.message).toContain("Which hash?");
      // The question is in the store before anybody is asked.
      expect((await world.dibs.notifications.inbox()).questions).toHaveLength(1);
      form!.answer({ action: "accept", content: { choice: "argon2" } });
      expect(await answered).toContain("argon2");
      const { task } = await world.dibs.tasks.get({ taskId: "0001" });
      expect(task).toMatchObject({
        state: "running",
        response: "argon2",
        question: null,
        responsePending: true,
      });
      expect(await agent.do("update_progress", { task_id: "0001" })).toContain("argon2");
      expect(await agent.do("complete_task", { task_id: "0001" })).not.toContain("argon2");
      const { events } = await world.dibs.tasks.events({ taskId: "0001" });
      expect(events.filter(({ type }) => type === "task:response-received")).toHaveLength(1);
    }),
  );

  test(
    `a human who declines leaves the question to others (${mode} protocol)`,
    inWorld(async (world) => {
      const { options, asked } = withHuman(mode);
      const agent = await world.agent(options);
      await world.dibs.tasks.create({ prompt: "do it" });
      await agent.do("claim_task");
      const answered = agent.do("ask_human", { ...question, wait_seconds: 1 });
      (await until("the form", async () => asked.length > 0 && asked))[0]!.answer({ action: "decline" });
      expect(await answered).toContain("is open. You keep the task");
      expect((await world.dibs.tasks.get({ taskId: "0001" })).task.state).toBe("awaiting_response");
      const waiting = agent.do("ask_human", { ...question, wait_seconds: 50 });
      if (mode === "auto")
        (await until("it again", async () => asked.length > 1 && asked))[1]!.answer({ action: "cancel" });
      await world.dibs.tasks.respond({ taskId: "0001", response: "bcrypt" });
      expect(await waiting).toContain("bcrypt");
      const { events } = await world.dibs.tasks.events({ taskId: "0001" });
      expect(events.filter(({ type }) => type === "task:awaiting-response")).toHaveLength(1);
    }),
  );
}

test(
  "when somebody else answers first, the form at the client is taken back and its answer is not used",
  inWorld(async (world) => {
    const { options, asked } = withHuman("legacy");
    const agent = await world.agent(options);
    await world.dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    const answered = agent.do("ask_human", question);
    const [form] = await until("the form", async () => asked.length > 0 && asked);
    await world.dibs.tasks.respond({ taskId: "0001", response: "from the dashboard" });
    expect(await answered).toContain("from the dashboard");
    await until("the end of the form", async () => form!.signal.aborted);
    form!.answer({ action: "accept", content: { answer: "too late" } });
    expect(await agent.do("get_task", { task_id: "0001" })).not.toContain("too late");
  }),
);

test(
  "a client that is killed while its human is asked takes no question with it, and no answer",
  inWorld(async (world) => {
    const { options, asked } = withHuman("legacy");
    const agent = await world.agent(options);
    await world.dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    const waiting = agent.call("ask_human", question).catch(() => null);
    await until("the form", async () => asked.length > 0);
    process.kill(agent.pid, "SIGKILL");
    await waiting;
    asked[0]!.answer({ action: "accept", content: { answer: "nobody hears this" } });
    const successor = await world.agent();
    expect((await world.dibs.notifications.inbox()).questions).toHaveLength(1);
    await world.dibs.tasks.respond({ taskId: "0001", response: "argon2" });
    const text = await successor.do("claim_task", { wait_seconds: 20 });
    expect(text).toContain("argon2");
    expect(text).not.toContain("nobody hears this");
    const { events } = await world.dibs.tasks.events({ taskId: "0001" });
    const count = (type: string) => events.filter((event) => event.type === type).length;
    expect([count("task:awaiting-response"), count("task:response-received")]).toEqual([1, 1]);
  }),
);

test(
  "an answer at the client counts also after the agent stopped waiting",
  inWorld(async (world) => {
    const { options, asked } = withHuman("legacy");
    const agent = await world.agent(options);
    await world.dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    expect(await agent.do("ask_human", { ...question, wait_seconds: 0 })).toContain(
      "is open. You keep the task",
    );
    (await until("the form", async () => asked.length > 0 && asked))[0]!.answer({
      action: "accept",
      content: { answer: "scrypt, please" },
    });
    await until("the answer", async () => (await agent.do("list_tasks")).includes("scrypt, please"));
  }),
);

test(
  "asked again, a question is not asked twice, and an answer is repeated until it is acknowledged",
  inWorld(async (world) => {
    const agent = await world.agent();
    await world.dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    await agent.do("ask_human", question);
    await agent.do("ask_human", question);
    const waiting = agent.do("ask_human", { ...question, wait_seconds: 50 });
    await world.dibs.tasks.respond({ taskId: "0001", response: "argon2" });
    expect(await waiting).toContain("argon2");
    expect(await agent.do("ask_human", question)).toContain("argon2");
    expect(await agent.do("claim_task")).toContain("argon2");
    const { events } = await world.dibs.tasks.events({ taskId: "0001" });
    expect(events.filter(({ type }) => type === "task:awaiting-response")).toHaveLength(1);
    // Another question is an action of its own: the first answer has been heard.
    expect(await agent.do("ask_human", { task_id: "0001", question: "And the salt?" })).toContain("argon2");
    expect(await agent.do("get_task", { task_id: "0001" })).toContain("And the salt?");
  }),
);

test(
  "a wait for an answer ends in time, however often memory is tidied up meanwhile",
  inProcess(async ({ dibs, agent }) => {
    setFlagsFromString("--expose-gc");
    const tidyUp = runInNewContext("gc") as () => void;
    await dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    const tidying = setInterval(tidyUp, 20);
    try {
      expect(await agent.do("ask_human", { ...question, wait_seconds: 1 })).toContain(
        "is open. You keep the task",
      );
    } finally {
      clearInterval(tidying);
    }
  }),
);

test(
  "with a token that may not answer, nobody is asked at the client: the answer would be thrown away",
  inWorld(async (world) => {
    const server = await serveDibs({ path: world.path, port: 0, logLevel: "silent" });
    world.endings.push(() => server.close());
    await world.dibs.tasks.create({ prompt: "do it" });
    for (const [role, forms] of [
      ["worker", 0],
      ["leader", 1],
    ] as const) {
      const { token } = await world.dibs.tokens.create({ name: role, role });
      const { options, asked } = withHuman("legacy");
      const env = { DIBS_TOKEN: token!, DIBS_SESSION: role };
      const agent = await connectAgent(["--url", server.url, "--project", "demo"], { ...options, env });
      await agent.do("claim_task", { wait_seconds: 20 });
      const answered = agent.do("ask_human", { ...question, question: `${role}?`, wait_seconds: forms });
      if (forms > 0) (await until("the form", async () => asked[0])).answer({ action: "decline" });
      expect(await answered).toContain("is open. You keep the task");
      expect(asked).toHaveLength(forms);
      await world.dibs.tasks.respond({ taskId: "0001", response: "later" });
      await agent.do("release_task", { task_id: "0001" });
      await agent.close();
    }
  }),
);

test("no signal in src hangs on another one that nobody else holds: Node forgets such", () => {
  const root = resolve(import.meta.dirname, "../../src");
  const names = readdirSync(root, { recursive: true }).map(String);
  const forgetful = names.filter((name) => {
    if (!/\.tsx?$/.test(name)) return false;
    const text = readFileSync(join(root, name), "utf8");
    const isAny = name.startsWith("surfaces/mcp") && /AbortSignal\.(?:any|timeout)\(/.test(text);
    return isAny || /AbortSignal\.any\([^;]*AbortSignal\.timeout/s.test(text);
  });
  expect(forgetful).toEqual([]);
});

const human = withHuman("legacy");
test(
  "a human who declines ends the call at once, and the question stays open",
  inProcess(async ({ dibs, agent }) => {
    await dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task");
    const answered = agent.do("ask_human", { ...question, wait_seconds: 60 });
    (await until("the form", async () => human.asked[0])).answer({ action: "cancel" });
    const text = await answered;
    expect(text).toContain("The user of this client did not answer.");
    expect(text).toContain("is open. You keep the task");
    expect((await dibs.tasks.get({ taskId: "0001" })).task.state).toBe("awaiting_response");
  }, human.options),
);

test(
  "a question is not asked twice either when much has happened to its task",
  inProcess(async ({ dibs, agent }) => {
    await dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task", { start: true });
    const holder = { taskId: "0001", sessionId: "me" };
    await Promise.all(
      Array.from({ length: 1_010 }, (_, step) => dibs.tasks.progress({ ...holder, note: `step ${step}` })),
    );
    await agent.do("ask_human", question);
    await dibs.tasks.respond({ taskId: "0001", response: "argon2" });
    expect(await agent.do("ask_human", question)).toContain("argon2");
    const types = ["task:awaiting-response" as const];
    expect((await dibs.events.list({ taskId: "0001", types })).events).toHaveLength(1);
  }),
);

test(
  "who comes back to a task with an open question is shown it, and is not told to report progress",
  inProcess(async ({ dibs, agent }) => {
    await dibs.tasks.create({ prompt: "do it" });
    await agent.do("claim_task", { start: true });
    await agent.do("ask_human", question);
    const text = await agent.do("claim_task");
    expect(text).toContain("You already hold this task");
    expect(text).toContain("Which hash?");
    expect(text).toContain("argon2 | bcrypt");
    expect(text).not.toContain("update_progress");
  }),
);
