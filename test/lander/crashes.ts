// A lander as a process of its own that is killed, or stopped beyond its lease, before one of its effects; and what must be so
// after the next lander has come.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { expect } from "vitest";
import { report } from "../proof/figures.js";
import { afterwards, check, git, type Handed, newRepository, Stage, until, withRemote } from "./support.js";

const program = resolve(import.meta.dirname, "children/lander.mjs");

interface Told {
  reached?: boolean;
  end?: unknown;
  failed?: string;
}

class Child {
  readonly told: Told[] = [];

  constructor(readonly process: ChildProcess) {
    process.on("message", (message) => this.told.push(message as Told));
  }

  get hasReached(): boolean {
    return this.told.some(({ reached }) => reached);
  }

  async ended(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, "exit");
  }
}

export function start(stage: Stage, mode: "kill" | "stop", effect: string): Child {
  const child = fork(program, [stage.database, stage.root, mode, effect], { silent: true });
  afterwards(() => void child.kill("SIGKILL"));
  return new Child(child);
}

type TargetPlace = "checked out" | "not checked out" | "on a remote";

const everywhere = [
  "take over",
  "open",
  "record diff",
  "record checks",
  "intent",
  "move",
  "verify",
  "report landed",
  "tidy",
  "return",
  "drop",
  "hold",
];

/** What a lander does there, each a step before which it can die. */
export const effectsOf = (place: TargetPlace) =>
  place === "checked out" ? [...everywhere, "merge into checkout"] : everywhere;

/** Where only the way in which the target moves is another: the others in the long run. */
export const stopsOf = (place: TargetPlace) =>
  process.env.DIBS_LONG === "1"
    ? effectsOf(place)
    : ["take over", "record diff", "intent", "move", "verify", "report landed", "drop", "hold"];

/** One that lands, one that conflicts with it, one whose check is red, one that changes nothing, one that is held. */
async function prepared(place: TargetPlace) {
  const script = `process.exit(require("fs").existsSync("bad.txt") ? 1 : 0)`;
  const land = { checks: [check("no-bad", script)] };
  const files = { "a.txt": "a\n", "z.txt": "z\n" };
  const opened =
    place === "on a remote"
      ? await withRemote(land, files)
      : { stage: await Stage.open({ root: newRepository(files), land }), remote: null };
  const { stage, remote } = opened;
  if (place === "not checked out") git(stage.root, "switch", "--quiet", "--detach");
  return {
    place,
    stage,
    /** Where the target is. */
    repository: remote ?? stage.root,
    good: await stage.handIn({ "a.txt": "good\n", "new.txt": "new\n" }),
    conflicting: await stage.handIn({ "a.txt": "other\n" }),
    red: await stage.handIn({ "bad.txt": "bad\n" }),
    empty: await stage.handIn(null),
    missing: await stage.submitCommit("1".repeat(40)),
  };
}

type Prepared = Awaited<ReturnType<typeof prepared>>;

async function expectWhole({ place, stage, repository, ...tasks }: Prepared): Promise<void> {
  const { good, conflicting, red, empty, missing } = tasks;
  const returned = (handed: Handed) => stage.submission(handed);
  expect(await stage.stateOf(good)).toBe("completed");
  expect(await stage.stateOf(empty)).toBe("completed");
  expect(await returned(conflicting)).toMatchObject({ end: { as: "returned", reason: "conflict" } });
  expect(await returned(red)).toMatchObject({ end: { as: "returned", reason: "check-failed" } });
  expect((await stage.task(conflicting.taskId)).returnCount).toBe(1);
  expect((await stage.task(red.taskId)).returnCount).toBe(1);
  expect(await stage.submission({ taskId: missing })).toMatchObject({ stage: "held" });
  expect(await stage.holds()).toHaveLength(1);
  // Once, and as one commit.
  expect(git(repository, "rev-list", "--count", "main")).toBe("2");
  expect((await stage.task(good.taskId)).landed?.commit).toBe(git(repository, "rev-parse", "main"));
  expect(git(repository, "show", "main:a.txt")).toBe("good");
  expect(git(repository, "ls-tree", "--name-only", "main").split("\n")).not.toContain("bad.txt");
  // The person's checkout is at the target, or where it was; nothing is staged.
  expect(git(stage.root, "status", "--porcelain", "--untracked-files=no")).toBe("");
  expect(stage.read("a.txt")).toBe(place === "checked out" ? "good\n" : "a\n");
}

const figures = { kills: 0, stops: 0 };

/** What the tests of one file have done. */
export function reportFigures(place: TargetPlace): void {
  report(`landers, target ${place}`, figures);
  figures.kills = figures.stops = 0;
}

export async function killedBefore(effect: string, place: TargetPlace): Promise<void> {
  const all = await prepared(place);
  const child = start(all.stage, "kill", effect);
  await child.ended();
  expect(child.hasReached).toBe(true);
  await all.stage.landWhenFree();
  await expectWhole(all);
  figures.kills++;
}

export async function stoppedBefore(effect: string, place: TargetPlace): Promise<void> {
  const all = await prepared(place);
  const child = start(all.stage, "stop", effect);
  await until("the child is there", () => child.hasReached || child.process.exitCode !== null);
  expect(child.hasReached).toBe(true);
  await all.stage.landWhenFree();
  await expectWhole(all);
  const refs = () =>
    [all.stage.root, all.repository].map((path) =>
      git(path, "for-each-ref").replaceAll(/.*refs\/dibs\/land\/.*\n?/g, ""),
    );
  const before = refs();
  child.process.kill("SIGCONT");
  await child.ended();
  // It has noticed, and nothing has moved.
  expect(refs()).toEqual(before);
  await expectWhole(all);
  figures.stops++;
}
