import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LongLines } from "../../src/surfaces/mcp/long-lines.js";
import { bin, connectAgent, inWorld } from "./support.js";

test(
  "standard output carries the protocol and nothing else, whatever goes wrong",
  inWorld(async (world) => {
    const child = spawn(process.execPath, [bin, "mcp", "--db", world.path], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: process.env.PATH },
    });
    let out = "";
    let err = "";
    const answered = new Map<unknown, () => void>();
    child.stderr.on("data", (chunk) => (err += chunk));
    child.stdout.on("data", (chunk) => {
      out += chunk;
      for (const line of out.split("\n").slice(0, -1)) answered.get(JSON.parse(line).id)?.();
    });
    let last = 0;
    const ask = (method: string, params: unknown = {}) => {
      const id = ++last;
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return new Promise<void>((resolve) => answered.set(id, resolve));
    };
    await ask("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    child.stdin.write("this is not JSON\n{\n\u0000\n");
    await ask("no/such/method");
    await ask("tools/call", { name: "no_such_tool", arguments: {} });
    await ask("tools/call", { name: "claim_task", arguments: { agent_id: "../etc" } });
    await ask("tools/call", { name: "create_task", arguments: { description: "console.log('x')\n" } });
    await ask("tools/call", { name: "claim_task" });
    await ask("tools/call", { name: "ask_human", arguments: { task_id: "0001", question: "?" } });
    await ask("resources/read", { uri: "dibs://task/0404" });
    await ask("resources/read", { uri: "file:///etc/passwd" });
    await ask("prompts/get", { name: "plan_work", arguments: { goal: "g" } });
    child.stdin.end();
    const [code] = await once(child, "exit");
    expect(code, err).toBe(0);
    const messages = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    for (const message of messages) expect(message).toMatchObject({ jsonrpc: "2.0" });
    const unread = messages.filter(({ id }) => id === null);
    expect(unread.map(({ error }) => error.code)).toEqual([-32700, -32700, -32700]);
    expect(messages.filter(({ id }) => id !== undefined && id !== null).map(({ id }) => id)).toEqual(
      Array.from({ length: last }, (_, index) => index + 1),
    );
  }),
);

test(
  "a message that is too long is refused, and the client is served as before",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "do it" });
    const agent = await world.agent();
    await agent.do("claim_task", { start: true });
    const output = "x".repeat(17 * 1024 * 1024);
    await expect(agent.call("complete_task", { task_id: "0001", output })).rejects.toThrow(
      "more than 16777216 bytes",
    );
    expect(await agent.do("complete_task", { task_id: "0001", output: "done" })).toContain(
      "Completed task 0001",
    );
    // Also where nobody can tell which request it was.
    const { client } = agent;
    await client.notification({
      method: "notifications/progress",
      params: { progressToken: output, progress: 1 },
    });
    await world.dibs.tasks.create({ prompt: "another" });
    expect(await agent.do("claim_task")).toContain("hold task 0002");
    await agent.close();
    const next = await world.dibs.tasks.claimNext({ sessionId: "next", register: true, waitMs: 60_000 });
    expect(next.claim?.taskId).toBe("0002");
  }),
);

test("a line's id is found at its head or its tail, and a line that is not too long passes as it is", async () => {
  const refused: unknown[] = [];
  let unread = 0;
  const lines = new LongLines(
    100,
    (id) => refused.push(id),
    () => unread++,
  );
  let out = "";
  lines.on("data", (chunk) => {
    out += chunk;
  });
  const long = "y".repeat(120);
  const sent = [
    `{"jsonrpc":"2.0","id":7,"method":"${long}"}`,
    `{"method":"${long}","jsonrpc":"2.0","id":"a-\\"b"}`,
    `{"method":"x","params":{"text":"${long}","id":9}}`,
    '{"short":true}',
    "",
    "z".repeat(99),
    '{"cut": ',
    '{"after":true}\r',
  ];
  for (const byte of Buffer.from(`${sent.join("\n")}\n`)) lines.write(Buffer.from([byte]));
  lines.end();
  await once(lines, "end");
  expect(refused).toEqual([7, 'a-"b']);
  expect(out.split("\n").filter((line) => line.length < 100 && isJson(line))).toEqual([
    '{"short":true}',
    '{"after":true}\r',
  ]);
  // Blank lines are no messages.
  expect([unread, out.includes("z"), out.includes("cut")]).toEqual([2, false, false]);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a mistake in the call itself is not told on standard output, also where JSON is asked for", async () => {
  const child = spawn(process.execPath, [bin, "mcp", "--json", "--nonsense"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  await once(child, "close");
  expect(out).toBe("");
  expect(JSON.parse(err).error).toBe("VALIDATION_FAILED");
});

test(
  "a store that cannot be opened is told to the agent, not to its protocol",
  inWorld(async (world) => {
    const file = join(world.directory, "not-a-store.db");
    writeFileSync(file, "this is not a database, but long enough to be taken for one".repeat(100));
    const broken = await connectAgent(["--db", file]);
    const { isError, text } = await broken.call("list_tasks");
    expect(isError).toBe(true);
    expect(text).toMatch(/^STORE_\w+: .*\nNext: /s);
    // What is there the next time is used.
    rmSync(file);
    expect(await broken.do("list_tasks")).toContain("No tasks. No Dibs store at");
    await broken.close();
  }),
);
