import { expect, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { inWorld, tokens, until } from "./support.js";

for (const era of ["legacy", "auto"] as const) {
  const client = { versionNegotiation: { mode: era } };

  test(
    `from a new task to what it unblocks (${era} protocol)`,
    inWorld(async (world) => {
      const agent = await world.agent({ client });
      expect(agent.client.getProtocolEra?.() ?? era).toBe(era === "auto" ? "modern" : "legacy");
      expect(await agent.do("create_task", { description: "Create User model", priority: 1 })).toContain(
        "0001",
      );
      const second = await agent.do("create_task", {
        description: "Create endpoints",
        priority: 2,
        dependencies: ["0001"],
      });
      expect(second).toContain("waits for 1");

      const claimed = await agent.do("claim_task", { agent_id: "terminal-2" });
      expect(claimed).toContain("hold task 0001: claimed, priority critical 100");
      expect(claimed).toContain("Create User model");
      expect(claimed).toContain("Next: start_task 0001");
      expect(await agent.do("start_task", { agent_id: "terminal-2", task_id: "0001" })).toContain("running");

      const asked = await agent.do("ask_human", {
        agent_id: "terminal-2",
        task_id: "0001",
        question: "Which hash?",
        options: ["argon2", "bcrypt"],
      });
      expect(asked).toContain("is open. You keep the task");
      expect((await world.dibs.notifications.inbox()).questions[0]?.question?.text).toBe("Which hash?");
      await world.dibs.tasks.respond({ taskId: "0001", response: "argon2" });

      // Any call brings it; only an action acknowledges it.
      for (const tool of ["get_task", "start_task", "update_progress"]) {
        const heard = await agent.do(tool, { agent_id: "terminal-2", task_id: "0001" });
        expect(heard).toContain("argon2");
      }
      const done = await agent.do("complete_task", {
        agent_id: "terminal-2",
        task_id: "0001",
        output: "Created User model with validation",
        files_created: ["src/models/user.ts"],
      });
      expect(done).not.toContain("argon2");
      expect(done).toContain("Now ready: 0002");
      expect((await world.dibs.tasks.get({ taskId: "0001" })).task).toMatchObject({
        state: "completed",
        response: "argon2",
        result: { output: "Created User model with validation", filesCreated: ["src/models/user.ts"] },
      });
      const next = await agent.do("claim_task", { agent_id: "terminal-2", start: true });
      expect(next).toContain("hold task 0002: running");
      expect(next).toContain("Created User model with validation");
      expect(next).toContain("src/models/user.ts");
      expect(agent.errors()).toBe("");
    }),
  );
}

for (const mode of ["legacy", "auto"] as const) {
  test(
    `resources are read, and their changes told; prompts lead to the tools (${mode} protocol)`,
    inWorld(async (world) => {
      const told = new Set<string>();
      const agent = await world.agent({
        client: { versionNegotiation: { mode } },
        prepare: (client) =>
          client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
            told.add(params.uri);
          }),
      });
      const { client } = agent;
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
        "dibs://inbox",
        "dibs://ready",
      ]);
      const templates = (await client.listResourceTemplates()).resourceTemplates;
      expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(["dibs://task/{id}"]);
      if (mode === "auto") await client.listen({ resourceSubscriptions: ["dibs://ready"] });
      else await client.subscribeResource({ uri: "dibs://ready" });
      await world.dibs.tasks.create({ prompt: "do it" });
      await until("the notice", async () => told.has("dibs://ready"));
      expect([...told]).toEqual(["dibs://ready"]);
      const { contents } = await client.readResource({ uri: "dibs://ready" });
      expect((contents[0] as { text: string }).text).toContain("0001 queued");

      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toEqual(["plan_work", "work_next", "hand_over"]);
      const plan = await client.getPrompt({ name: "plan_work", arguments: { goal: "a shop" } });
      expect(JSON.stringify(plan.messages)).toMatch(/a shop.*create_task/);
      const over = await client.getPrompt({ name: "hand_over", arguments: {} });
      expect(JSON.stringify(over.messages)).toContain("release_task");
      expect(JSON.stringify(await client.getPrompt({ name: "work_next" }))).toContain("claim_task");
      expect(agent.errors()).toBe("");
    }),
  );
}

for (const mode of ["legacy", "auto"] as const) {
  test(
    `no change is missed through a server, from the subscription on, nor when the server stops (${mode} protocol)`,
    inWorld(async (world) => {
      const server = await serveDibs({ path: world.path, port: 0, logLevel: "silent" });
      let isServed = true;
      world.endings.push(() => isServed && server.close());
      const told = new Set<string>();
      const { client } = await world.agent({
        client: { versionNegotiation: { mode } },
        prepare: (each) =>
          each.setNotificationHandler("notifications/resources/updated", ({ params }) => {
            told.add(params.uri);
          }),
      });
      const uris = ["0001", "0002", "0003"].map((id) => `dibs://task/${id}`);
      if (mode === "auto") await client.listen({ resourceSubscriptions: uris });
      else for (const uri of uris) await client.subscribeResource({ uri });
      await world.dibs.tasks.create({ prompt: "at once" });
      await until("the notice of the first change", async () => told.has(uris[0]!));
      const stopped = server.close();
      await world.dibs.tasks.create({ prompt: "while it stops" });
      await stopped;
      isServed = false;
      await until("the notice of what happened meanwhile", async () => told.has(uris[1]!));
      await world.dibs.tasks.create({ prompt: "without it" });
      await until("the notice of what happened since", async () => told.has(uris[2]!));
    }),
  );
}

test(
  "ten tools, in a fixed order, cost at most 1500 tokens",
  inWorld(async (world) => {
    const agent = await world.agent();
    const list = await agent.client.listTools();
    expect(list.tools.map(({ name }) => name)).toEqual([
      "create_task",
      "claim_task",
      "start_task",
      "complete_task",
      "fail_task",
      "ask_human",
      "update_progress",
      "release_task",
      "list_tasks",
      "get_task",
    ]);
    expect(tokens(JSON.stringify(list))).toBeLessThanOrEqual(1_500);
    for (const { annotations, name } of list.tools) {
      expect(annotations?.readOnlyHint, name).toBe(name === "list_tasks" || name === "get_task");
      expect(annotations?.destructiveHint ?? false, name).toBe(false);
    }
  }),
);
