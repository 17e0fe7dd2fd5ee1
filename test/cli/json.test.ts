// `--json` prints what the HTTP operation answers: the same text for questions, the same shape for everything that changes something.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.js";
import { registry } from "../../src/contract/registry.js";
import { type Calling, type Desk, deskWithStore, openDesk, ways } from "./desk.js";

const operations = new Map(
  Object.values(registry).flatMap((group) =>
    (Object.values(group) as Operation[]).map((operation) => [operation.name, operation] as const),
  ),
);

const as: Calling = { env: { DIBS_SESSION: "agent-1" } };

/** Calls it, and judges the answer by the operation's own shape. */
async function answers(desk: Desk, name: string, argv: string[], calling: Calling = as) {
  const { code, out, err } = await desk.dibs([...argv, "--json"], calling);
  expect(err).toBe("");
  expect(out.endsWith("\n")).toBe(true);
  expect(out.trimEnd()).not.toContain("\n");
  const body = JSON.parse(out);
  const judged = operations.get(name)!.output.safeParse(body);
  expect(judged.error?.issues ?? [], `${argv.join(" ")}: ${out}`).toEqual([]);
  return { code, body };
}

describe.each(ways)("%s", (way) => {
  test("what changes something answers in the shape of its operation", async () => {
    const desk = await openDesk(way);
    const steps: [string, string[], Calling?][] = [
      ["tasks.create", ["add", "One"]],
      ["tasks.batch", ["plan", "-", "--yes"], { input: "- [ ] Two\n- [ ] Three (depends on: Two)\n" }],
      ["tasks.update", ["edit", "0001", "-p", "high"]],
      ["tasks.claim", ["claim", "0001", "--start"]],
      ["tasks.progress", ["progress", "0001", "on it", "--percent", "10"]],
      ["tasks.heartbeat", ["heartbeat", "0001"]],
      ["tasks.ask", ["ask", "0001", "Which?"]],
      ["tasks.respond", ["answer", "0001", "That one"]],
      ["tasks.complete", ["done", "0001", "it is done"]],
      ["tasks.claimNext", ["claim"]],
      ["tasks.start", ["start", "0002"]],
      ["tasks.fail", ["fail", "0002", "no", "--no-retry"]],
      ["tasks.retry", ["retry", "0002"]],
      ["tasks.claim", ["claim", "0002"]],
      ["tasks.release", ["release", "0002", "changed my mind"]],
      ["tasks.cancel", ["cancel", "0002", "--reason", "no more"]],
      ["ids.next", ["next-id"]],
      ["locks.acquire", ["lock", "acquire", "deploy"]],
      ["locks.release", ["lock", "release", "deploy"]],
      ["projects.create", ["project", "create", "docs"]],
      ["projects.update", ["project", "set", "maxRetries", "1"]],
      ["projects.pause", ["project", "pause"]],
      ["projects.resume", ["project", "resume"]],
      ["tokens.create", ["token", "create", "--role", "viewer", "--expires", "1d"]],
      ["tasks.create", ["leader", "add-task", "Four", "-p", "2"]],
      ["tasks.claimNext", ["worker", "claim", "terminal-2"]],
      ["tasks.start", ["worker", "start", "terminal-2", "0005"]],
      ["tasks.complete", ["worker", "complete", "terminal-2", "0005", "ok", "-c", "a.ts"]],
      ["tasks.cancel", ["leader", "cancel", "0003"]],
    ];
    for (const [name, argv, calling] of steps) {
      const { code, body } = await answers(desk, name, argv, { ...as, ...calling });
      expect(code, `${argv.join(" ")}: ${JSON.stringify(body)}`).toBe(0);
    }
    const [token] = (await desk.json(["token", "list"])).tokens.filter(
      ({ role }: { role: string }) => role === "viewer",
    );
    expect((await answers(desk, "tokens.revoke", ["token", "revoke", token.id])).code).toBe(0);
  });

  test("nothing to claim is an answer, with exit code 5", async () => {
    const desk = await deskWithStore(way);
    const { code, body } = await answers(desk, "tasks.claimNext", ["claim"]);
    expect(code).toBe(5);
    const message = 'Nothing to claim: no open tasks. Run: dibs add "Write the docs"';
    expect(body).toMatchObject({ success: true, claim: null, task: null, resumed: false, why: { message } });
  });

  test("a refusal is the problem that HTTP answers with", async () => {
    const desk = await openDesk(way);
    await desk.says(["add", "One"]);
    await desk.says(["claim", "0001", "--session", "a"]);
    const { code, out, err } = await desk.dibs(["claim", "0001", "--session", "b", "--json"]);
    expect([code, err]).toEqual([1, ""]);
    expect(JSON.parse(out)).toMatchObject({
      success: false,
      error: "TASK_ALREADY_CLAIMED",
      retryable: true,
      claim: { sessionId: "a", holderAlive: true },
    });
  });
});

test("questions answer as HTTP does, field by field", async () => {
  const desk = await openDesk("server");
  await desk.says(["plan", "-", "--yes"], { input: "- [ ] One\n- [ ] Two (depends on: One)\n- [ ] Three\n" });
  await desk.says(["claim", "0001", "--start"], as);
  await desk.says(["ask", "0001", "Which?"], as);
  const pairs: [string[], string][] = [
    [["list"], "/api/tasks"],
    [["list", "-s", "pending", "--limit", "1"], "/api/tasks?state=pending&limit=1"],
    [["list", "--tree", "--limit", "5"], "/api/tasks?limit=5"],
    [["ready"], "/api/tasks/claimable"],
    [["show", "0001"], "/api/tasks/0001"],
    [["show", "0001", "--log"], "/api/tasks/0001/log"],
    [["attempts", "0001"], "/api/tasks/0001/attempts"],
    [["explain", "0002"], "/api/tasks/0002/explain"],
    [["dependents", "0001"], "/api/tasks/0001/blocked-by"],
    [["blocked-by", "0001"], "/api/tasks/0001/blocked-by"],
    [["graph"], "/api/graph"],
    [["in-flight"], "/api/tasks/in-flight"],
    [["sessions"], "/api/sessions"],
    [["sessions", "--summary"], "/api/sessions/summary"],
    [["events"], "/api/events"],
    [["events", "0001"], "/api/tasks/0001/events"],
    [["inbox"], "/api/inbox"],
    [["stats"], "/api/stats"],
    [["project", "list"], "/api/projects"],
    [["project", "show"], "/api/projects/shop"],
    [["lock", "status", "none"], "/api/locks/none"],
    [["lock", "list"], "/api/locks"],
    [["token", "list"], "/api/tokens"],
    [["leader", "list"], "/api/tasks"],
    [["leader", "status"], "/api/stats"],
  ];
  for (const [argv, path] of pairs)
    expect(await desk.json(argv), argv.join(" ")).toEqual(await desk.http(path));
});

test("--json prints one line without colour, whatever the terminal", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  const { out } = await desk.dibs(["list", "--json"], { answers: [], env: { FORCE_COLOR: "1" } });
  expect(out).not.toContain("\u001b");
  expect(out.trimEnd()).not.toContain("\n");
});

test("commands without an operation answer in JSON, too", async () => {
  const desk = await openDesk();
  await desk.says(["add", "One"]);
  expect(await desk.json(["init", "--agents-md"])).toMatchObject({
    success: true,
    project: "shop",
    steps: [
      { what: "store", did: "kept" },
      { did: "created" },
      { did: "kept" },
      { what: "agents", did: "created" },
    ],
  });
  expect(await desk.json(["doctor"])).toMatchObject({ success: true });
  expect(await desk.json(["backup", "copy.db"])).toEqual({
    success: true,
    file: join(desk.directory, "copy.db"),
  });
  expect(await desk.json(["export", "out.jsonl"])).toMatchObject({ success: true });
  const lines = readFileSync(join(desk.directory, "out.jsonl"), "utf8").trimEnd().split("\n");
  expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => "object"));
  const { plan, preview } = await desk.json(["plan", "-"], { input: "- [ ] A\n- [ ] B (depends on: A)\n" });
  expect(plan.tasks).toHaveLength(2);
  expect(preview.waves).toEqual([["t1"], ["t2"]]);
});
