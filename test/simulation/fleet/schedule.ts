// A schedule: who takes part, what they do, and what goes wrong when. It follows from its number, and is a list, so that it can be
// shortened.

import type { Weather } from "./network.js";
import type { Act } from "./people.js";
import { Random } from "./world.js";

export type Step = { work: number } | "progress" | "ask" | "done" | "red" | "fail" | "forget";

export interface TaskPlan {
  id: string;
  after: string[];
  /** What its change touches; tasks that share one conflict. */
  path: string;
  uses: Record<string, number> | null;
  /** The reviewer sends its first submission back. */
  isRejected: boolean;
  attempts: Step[][];
}

export type Role = "worker" | "careless" | "reader" | "lander" | "server";

export type Decision =
  | { what: "land"; review: "none" | "human" }
  | ({ what: "task" } & TaskPlan)
  | { what: "join"; role: Role; name: string }
  | { what: "stop" | "kill"; name: string; from: number; until: number }
  | { what: "cut"; a: string; b: string; way: "both" | "requests" | "answers"; from: number; until: number }
  | ({ what: "weather" } & Weather)
  | { what: "act"; act: Act; taskId: string; from: number };

export interface Schedule {
  number: number;
  decisions: Decision[];
}

/** Faults begin within this time. */
const faultsMs = 5_000;

/** Without one of each, nothing can be expected. */
export const needed: readonly Decision[] = [
  { what: "join", role: "server", name: "server-1" },
  { what: "join", role: "worker", name: "worker-1" },
];

export function scheduleOf(number: number): Schedule {
  const random = new Random(`schedule ${number}`);
  const decisions: Decision[] = [...needed];
  const join = (role: Role, count: number, first = 1) => {
    for (let n = first; n < first + count; n++) decisions.push({ what: "join", role, name: `${role}-${n}` });
  };
  const lands = random.chance(60);
  if (lands) decisions.push({ what: "land", review: random.chance(30) ? "human" : "none" });
  join("server", random.below(2), 2);
  join("worker", random.below(3), 2);
  join("careless", random.below(3));
  join("reader", random.below(2));
  if (lands) join("lander", random.chance(70) ? 2 : 1);
  const tasks = random.between(4, 8);
  for (let n = 1; n <= tasks; n++) decisions.push(taskOf(random, n));
  const names = decisions.flatMap((each) => (each.what === "join" ? [each] : []));
  for (let faults = random.below(10); faults > 0; faults--) decisions.push(faultOf(random, names, tasks));
  return { number, decisions };
}

function taskOf(random: Random, n: number): Decision {
  const after = n > 1 && random.chance(35) ? [`t${random.between(1, n - 1)}`] : [];
  const attempts = Array.from({ length: random.below(3) }, () => attemptOf(random));
  const path = random.chance(25) ? "shared" : `t${n}`;
  const uses = random.chance(20) ? { db: 1 } : null;
  return { what: "task", id: `t${n}`, after, path, uses, isRejected: random.chance(20), attempts };
}

function attemptOf(random: Random): Step[] {
  const steps: Step[] = [];
  const work = () => steps.push({ work: random.chance(6) ? 5_000 : random.below(1_000) });
  work();
  if (random.chance(25)) steps.push("progress");
  if (random.chance(20)) steps.push("ask");
  if (random.chance(25)) work();
  steps.push(random.of(["done", "done", "done", "done", "fail", "red", "red", "forget"] as const));
  return steps;
}

function faultOf(random: Random, joined: { role: Role; name: string }[], tasks: number): Decision {
  const from = random.below(faultsMs);
  const until = from + (random.chance(30) ? random.between(4_000, 7_000) : random.between(50, 2_000));
  const landers = joined.filter(({ role }) => role === "lander");
  const { role, name } = random.of(landers.length > 0 && random.chance(30) ? landers : joined);
  const others = joined.filter((each) => (each.role === "server") !== (role === "server"));
  const kind = random.below(100);
  if (kind < 25) return { what: "stop", name, from, until };
  if (kind < 45) return { what: "kill", name, from, until };
  if (kind < 65) {
    const way = random.of(["both", "requests", "answers", "answers"] as const);
    return { what: "cut", a: name, b: random.of(others).name, way, from, until };
  }
  if (kind < 80) {
    const [losePercent, repeatPercent] = [random.below(40), random.below(20)];
    return { what: "weather", losePercent, repeatPercent, lateMs: random.of([0, 300, 5_000]), from, until };
  }
  const act = random.of(["cancel", "withdraw", "release", "retry", "pause", "push"] as const);
  return { what: "act", act, taskId: `t${random.between(1, tasks)}`, from };
}

/** For people. */
export function linesOf({ number, decisions }: Schedule): string[] {
  return [`schedule ${number}:`, ...decisions.map((each) => `  ${lineOf(each)}`)];
}

const seconds = (ms: number) => `${ms / 1_000} s`;
const period = ({ from, until }: { from: number; until: number }) =>
  `from ${seconds(from)} until ${seconds(until)}`;

function lineOf(decision: Decision): string {
  switch (decision.what) {
    case "land":
      return `work lands; review: ${decision.review}`;
    case "join":
      return decision.name;
    case "task":
      return taskLine(decision);
    case "stop":
      return `${decision.name} is stopped ${period(decision)}`;
    case "kill":
      return `${decision.name} is killed, and down ${period(decision)}`;
    case "cut":
      return `${decision.way === "both" ? "all" : decision.way} between ${decision.a} and ${decision.b} are lost ${period(decision)}`;
    case "weather":
      return `${decision.losePercent}% of all messages are lost, ${decision.repeatPercent}% of requests arrive twice, up to ${decision.lateMs} ms late, ${period(decision)}`;
    case "act":
      return `a person at ${seconds(decision.from)}: ${decision.act} ${decision.taskId}`;
  }
}

function taskLine({ id, after, path, uses, isRejected, attempts }: TaskPlan): string {
  const stepText = (step: Step) => (typeof step === "string" ? step : `work ${seconds(step.work)}`);
  const parts = [
    `task ${id}`,
    ...(after.length > 0 ? [`after ${after.join(", ")}`] : []),
    ...(path === id ? [] : [`changes ${path}`]),
    ...(uses ? ["uses db"] : []),
    ...(isRejected ? ["rejected once"] : []),
  ];
  const attemptsText = attempts.map((steps) => steps.map(stepText).join(", ")).join(" | ");
  return `${parts.join(", ")}${attemptsText === "" ? "" : `: ${attemptsText}`}`;
}
