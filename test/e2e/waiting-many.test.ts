// A random script over many waiting claims that differ: again and again, whoever still waits must have nothing to claim.

import { expect, test } from "vitest";
import { type Dibs, openDibs } from "../../src/index.js";
import { afterwards, tempFile, until } from "../faults/support.js";
import { cloneDatabase } from "../postgres/database.js";
import { seeded } from "../postgres/support.js";

const sessionCount = 40;
const rounds = 12;
const stepsPerRound = 12;
const capabilities = ["gpu", "net"];
const agentTypes = ["claude", "codex"];

const stores = {
  sqlite: async () => ({ path: tempFile() }),
  postgres: async () => {
    const { url, drop } = await cloneDatabase();
    afterwards(drop);
    return { url };
  },
};

test.each(["sqlite", "postgres"] as const)(
  "no claim sleeps while there is something for it, on %s",
  async (store) => {
    const dibs = await openDibs(await stores[store]());
    const fleet = new Fleet(dibs, seeded("waiting-many.test.ts"));
    try {
      await fleet.start();
      for (let round = 0; round < rounds; round++) {
        for (let step = 0; step < stepsPerRound; step++) await fleet.step();
        await until("nobody sleeps", async () => (await fleet.sleepers()).length === 0);
      }
      expect(fleet.claims).toBeGreaterThan(0);
    } finally {
      await fleet.end();
      await dibs.close();
    }
  },
);

interface Agent {
  id: string;
  project: string;
  /** What it holds; null while it waits. */
  held: string | null;
  /** Given back a moment ago: claim-next does not hand it out again at once. */
  avoids: Set<string>;
  leave: AbortController;
  wait: Promise<void>;
}

class Fleet {
  claims = 0;
  private agents: Agent[] = [];
  private isOver = false;

  constructor(
    private readonly dibs: Dibs,
    private readonly random: () => number,
  ) {}

  private pick = <T>(from: readonly T[]): T => from[Math.floor(this.random() * from.length)]!;
  private chance = (share: number) => this.random() < share;
  private some = () => capabilities.filter(() => this.chance(0.5));

  async start(): Promise<void> {
    await this.dibs.projects.create({ id: "other" });
    const settings = { retry: { delayMs: 20, backoff: "fixed" as const } };
    const { projects } = await this.dibs.projects.list({});
    for (const { id } of projects) await this.dibs.projects.update({ id, settings });
    for (let at = 0; at < sessionCount; at++) {
      const project = this.pick(projects).id;
      const agent = { id: `s${at}`, project, held: null, avoids: new Set<string>() };
      await this.register(agent);
      this.agents.push(this.waitWith(agent));
    }
  }

  private register({ id, project }: Pick<Agent, "id" | "project">) {
    const traits = { agentType: this.pick(agentTypes), capabilities: this.some() };
    return this.dibs.sessions.register({ project, id, ...traits });
  }

  private waitWith(agent: Omit<Agent, "leave" | "wait">): Agent {
    const leave = new AbortController();
    const waiting = Object.assign(agent, { leave, wait: Promise.resolve(), held: null as string | null });
    const input = { project: agent.project, sessionId: agent.id, waitMs: 60_000 };
    waiting.wait = this.dibs.tasks.claimNext(input, { signal: leave.signal }).then(({ claim }) => {
      waiting.held = claim?.taskId ?? null;
      if (claim) this.claims++;
      else if (!this.isOver) this.waitWith(waiting);
    });
    return waiting;
  }

  async step(): Promise<void> {
    const { dibs } = this;
    const holders = this.agents.filter(({ held }) => held !== null);
    const does = this.pick(["create", "create", "create", "finish", "finish", "leave", "learn", "pause"]);
    if (does === "create") await this.create();
    if (does === "finish" && holders.length > 0) await this.finish(this.pick(holders));
    if (does === "leave") this.pick(this.agents).leave.abort();
    if (does === "learn") await this.register(this.pick(this.agents));
    if (does === "pause") {
      const { project } = this.pick(this.agents);
      await dibs.projects.pause({ id: project });
      await this.create();
      await dibs.projects.resume({ id: project });
    }
  }

  private async create(): Promise<void> {
    const { id, project } = this.pick(this.agents);
    await this.dibs.tasks.create({
      project,
      prompt: "x",
      ...(this.chance(0.2) ? { assignee: id } : {}),
      ...(this.chance(0.2) ? { agentType: this.pick(agentTypes) } : {}),
      ...(this.chance(0.3) ? { requires: [this.pick([...capabilities, "nobody has it"])] } : {}),
      ...(this.chance(0.2) ? { notBefore: Date.now() + Math.floor(this.random() * 100) } : {}),
    });
  }

  private async finish(agent: Agent): Promise<void> {
    const input = { project: agent.project, taskId: agent.held!, sessionId: agent.id };
    const how = this.pick(["complete", "release", "fail"] as const);
    if (how === "release") agent.avoids.add(agent.held!);
    if (how === "fail") await this.dibs.tasks.fail({ ...input, error: "no" });
    else await this.dibs.tasks[how](input);
    this.waitWith(agent);
  }

  /** Those that wait although there is something for them. */
  async sleepers(): Promise<string[]> {
    const waiting = this.agents.filter(({ held }) => held === null);
    const found = await Promise.all(
      waiting.map(async (agent) => {
        const { tasks } = await this.dibs.tasks.claimable({ project: agent.project, sessionId: agent.id });
        return tasks.some(({ id }) => !agent.avoids.has(id)) && agent.held === null ? [agent.id] : [];
      }),
    );
    return found.flat();
  }

  async end(): Promise<void> {
    this.isOver = true;
    for (const { leave } of this.agents) leave.abort();
    await Promise.all(this.agents.map(({ wait }) => wait));
  }
}
