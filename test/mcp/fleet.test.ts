import { expect, test } from "vitest";
import { type Agent, inWorld } from "./support.js";

/** Claims, starts and completes until nothing is left; what it did, in order. */
async function work(agent: Agent): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const text = await agent.do("claim_task", { wait_seconds: 1 });
    const id = /hold task (\S+):/.exec(text)?.[1];
    if (id === undefined) return done;
    await agent.do("start_task", { task_id: id });
    await agent.do("complete_task", { task_id: id, output: `done by ${process.pid}` });
    done.push(id);
  }
}

test(
  "ten agents do a hundred tasks, each once, dependencies first",
  inWorld(async (world) => {
    const ids = Array.from({ length: 100 }, (_, index) => `task-${index}`);
    await world.dibs.tasks.batch({
      tasks: ids.map((id, index) => ({
        id,
        prompt: `do ${id}`,
        ...(index >= 50 ? { dependsOn: [`task-${index - 50}`] } : {}),
      })),
    });
    const agents = await Promise.all(ids.slice(0, 10).map(() => world.agent()));
    const done = (await Promise.all(agents.map(work))).flat();
    expect(done.toSorted()).toEqual(ids.toSorted());
    const { tasks } = await world.dibs.tasks.list({ state: "completed", limit: 1000 });
    expect(tasks.map(({ epoch }) => epoch)).toEqual(ids.map(() => 1));
    const claimed = (await world.dibs.events.list({ types: ["task:claimed"], limit: 1000 })).events;
    expect(claimed).toHaveLength(100);
    for (const agent of agents) expect(agent.errors()).toBe("");
  }),
);

test(
  "several agents of one client are told apart by their agent_id, and one that forgot is reminded",
  inWorld(async (world) => {
    await world.dibs.tasks.create({ prompt: "first" });
    await world.dibs.tasks.create({ prompt: "second" });
    const client = await world.agent();
    expect(await client.do("claim_task", { agent_id: "a" })).toContain("hold task 0001");
    expect(await client.do("claim_task", { agent_id: "b" })).toContain("hold task 0002");
    const again = await client.do("claim_task", { agent_id: "a" });
    expect(again).toContain("You already hold this task");
    expect(again).toContain("hold task 0001");
    const foreign = await client.call("complete_task", { agent_id: "a", task_id: "0002" });
    expect(foreign.isError && foreign.text).toContain("NOT_CLAIM_OWNER");
    const { sessions } = await world.dibs.sessions.list();
    expect(sessions.map(({ id, pid }) => [id, pid])).toEqual(
      expect.arrayContaining([
        ["a", client.pid],
        ["b", client.pid],
      ]),
    );
  }),
);
