// A proxy that is killed: before or after each single thing that it does to the store or the disk, in a story that has everything in
// it. Its successor finds what is left, and in the end every task is done once, and there is none too many.

import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Spool } from "../../src/bridges/spool/index.js";
import { Tree } from "../../src/bridges/spool/tree.js";
import type { Dibs } from "../../src/index.js";
import { report } from "../proof/figures.js";
import { openRig, type Rig } from "./support.js";

/** Lets so many things happen, and then nothing any more. */
class Killer {
  private done = 0;
  isDead = false;

  constructor(
    private readonly at: number,
    private readonly when: "before" | "after",
  ) {}

  private due(when: "before" | "after"): void {
    if (this.isDead || (this.done === this.at && this.when === when)) {
      this.isDead = true;
      throw new Error("killed");
    }
  }

  sync<T>(act: () => T): T {
    this.due("before");
    const result = act();
    this.due("after");
    this.done++;
    return result;
  }

  async async<T>(act: () => Promise<T>): Promise<T> {
    this.due("before");
    const result = await act();
    this.due("after");
    this.done++;
    return result;
  }
}

let killer: Killer | null = null;

const acts = [
  "replace",
  "create",
  "placeDirectory",
  "placeFile",
  "move",
  "removeFile",
  "forget",
  "makeDirectory",
  "removeIfEmpty",
] as const;
let isInside = false;
for (const name of acts) {
  const original = Tree.prototype[name] as (...given: unknown[]) => unknown;
  Object.defineProperty(Tree.prototype, name, {
    value(this: Tree, ...given: unknown[]) {
      // One thing may be done by means of another.
      if (!killer || isInside) return original.apply(this, given);
      try {
        return killer.sync(() => {
          isInside = true;
          return original.apply(this, given);
        });
      } finally {
        isInside = false;
      }
    },
  });
}

function mortal(dibs: Dibs): Dibs {
  const group = (methods: object) =>
    new Proxy(methods, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
        return (...given: unknown[]) => (killer ? killer.async(() => method(...given)) : method(...given));
      },
    });
  // A client is awaited like any other value: it has no `then`.
  return new Proxy(dibs, {
    get: (target, name) => (name === "then" ? undefined : group(Reflect.get(target, name) as object)),
  });
}

const dead = 2 ** 22 + 1;

const prompts = [
  "dropped",
  "dropped with a number",
  "four",
  "one",
  "taken before it was seen",
  "three",
  "two",
];

/** What the world does, each before a look of the proxy; whatever is not where it is expected is left alone. */
const story: ((rig: Rig) => void)[] = [
  () => {},
  (rig) => {
    if (rig.has("to_execute/0001/0001.md")) rig.take("0001");
    rig.write("to_execute/dropped/dropped.md", "dropped");
    rig.write("to_execute/0009/0009.md", "dropped with a number");
  },
  () => {},
  (rig) => {
    if (rig.has(`in_progress/0001/0001.${process.pid}.md`)) rig.mv("in_progress/0001", "completed/0001");
    if (rig.has("to_execute/0002/0002.md")) rig.take("0002", dead);
    if (rig.has("to_execute/0003/0003.md")) {
      rig.take("0003");
      rig.write("in_progress/0003/error", "no");
    }
    if (rig.has("to_execute/0004/0004.md")) {
      rig.take("0004");
      rig.write("in_progress/0004/error", "never");
    }
  },
  () => {},
  (rig) => {
    if (rig.has("stale/0004/error")) {
      rmSync(rig.path("stale/0004/error"));
      renameSync(rig.path("stale/0004"), rig.path("to_execute/0004"));
    }
    if (rig.has("to_execute/dropped/dropped.md")) rig.take("dropped");
    rig.write(`in_progress/taken/taken.${process.pid}.md`, "taken before it was seen");
  },
  () => {},
];

/** All that lies there is done, as often as something does. */
async function finish(rig: Rig, spool: Spool): Promise<void> {
  for (let round = 0; round < 12; round++) {
    // Whatever failed in the story gets its other try.
    for (const { id } of (await rig.dibs.tasks.list({ state: "failed" })).tasks)
      await rig.dibs.tasks.retry({ taskId: id });
    for (const name of rig.ls("to_execute")) if (rig.has(`to_execute/${name}/${name}.md`)) rig.take(name);
    for (const name of rig.ls("in_progress")) {
      const file = rig.ls(`in_progress/${name}`).find((each) => each.endsWith(".md"));
      if (file !== undefined) rig.mv(`in_progress/${name}/${file}`, `completed/${name}/${file}`);
    }
    rig.clock.advance(3_000);
    await spool.poll();
    const { done } = (await rig.dibs.stats.get({})).by_status;
    if (done >= prompts.length && !(await spool.poll()).isAny) return;
  }
}

async function tell(at: number, when: "before" | "after"): Promise<boolean> {
  const rig = await openRig();
  const { dibs } = rig;
  await dibs.projects.update({ settings: { retry: { delayMs: 0 }, maxLost: 100, maxRetries: 100 } });
  await rig.add("one", "two", "three");
  await dibs.tasks.create({ prompt: "four", maxRetries: 0 });
  killer = new Killer(at, when);
  let spool = await rig.proxy({ dibs: mortal(dibs) }).catch(() => null);
  for (const act of story) {
    act(rig);
    rig.clock.advance(300);
    if (spool) await spool.poll().catch(() => undefined);
    if (killer?.isDead) {
      killer = null;
      spool = await rig.afterKill();
    }
  }
  let wasKilled = killer === null;
  if (killer) {
    await spool!.close();
    wasKilled = killer.isDead;
    killer = null;
    spool = await (wasKilled ? rig.afterKill() : rig.proxy());
  }
  await finish(rig, spool!);
  const { tasks } = await dibs.tasks.list();
  const { events } = await dibs.events.list({ types: ["task:completed"], limit: 1_000 });
  const files = readdirSync(join(rig.directory, "ai_comms"), { recursive: true, encoding: "utf8" });
  const told = JSON.stringify({ at, when, events: rig.events, files }, null, 1);
  expect(tasks.map(({ prompt }) => prompt).sort(), told).toEqual(prompts);
  expect(
    tasks.filter(({ state }) => state !== "completed"),
    told,
  ).toEqual([]);
  expect(events.map(({ taskId }) => taskId).sort(), told).toEqual(tasks.map(({ id }) => id).sort());
  expect([...rig.ls("to_execute"), ...rig.ls("in_progress")], told).toEqual([]);
  expect(readdirSync(join(rig.directory, "ai_comms/claude/.spool/held")), told).toEqual([]);
  return wasKilled;
}

test("whatever it was doing when it was killed, nothing is lost or doubled", {
  timeout: 300_000,
}, async () => {
  const step = process.env.DIBS_LONG ? 1 : 17;
  let kills = 0;
  for (const when of ["before", "after"] as const) {
    for (let at = when === "before" ? 0 : Math.floor(step / 2); await tell(at, when); at += step) kills++;
  }
  expect(kills).toBeGreaterThan(200 / step);
  report("spool", { kills });
});
