// The world in which a script begins: two projects with short leases, some sessions, and some tasks.

import type { Command, NewTask } from "../../src/core/command.js";
import type { SettingsPatch } from "../../src/core/project.js";
import type { Plan } from "./jobs.js";
import { Picker } from "./picker.js";
import { projectSettings } from "./settings.js";

const tasks: NewTask[] = [
  { prompt: "first" },
  { key: "goal", type: "group", prompt: "a goal" },
  { key: "part", parentId: "goal", prompt: "one part", priority: 80 },
  { parentId: "goal", prompt: "another part", dependsOn: ["part"] },
  { key: "epic", prompt: "a task with parts" },
  { key: "leaf", parentId: "epic", prompt: "its part", labels: ["ui"] },
  { prompt: "after the epic", dependsOn: ["epic", "leaf"] },
];

const short: SettingsPatch = {
  claim: { minTtlMs: 100, defaultTtlMs: 5000, startTimeoutMs: 3000, orphanThresholdMs: 4000 },
};

const resources: Command[] = [
  { type: "set-resource", id: "db", capacity: 2 },
  { type: "set-resource", id: "gpu", capacity: 3 },
  { type: "set-resource", id: "llm", budgets: [{ amount: 1, unit: "usd", period: "hour" }] },
];

export function beginning(numbers: number[]): Plan[] {
  const pick = new Picker(numbers);
  const more = pick.chance(50) ? projectSettings(pick) : {};
  const order = pick.of(["depth-first", "priority"] as const);
  const landing: SettingsPatch = pick.chance(35) ? { land: { target: "main" } } : {};
  const commands: Command[] = [
    { type: "create-project", id: "side", settings: { ...short, order } },
    ...(pick.chance(15) ? [] : [{ type: "update-project" as const, project: "demo", settings: short }]),
    { type: "update-project", project: "demo", settings: { ...more, ...landing } },
    ...(pick.chance(50) ? resources : []),
    { type: "register-session", project: "demo", session: { id: "s1" } },
    { type: "register-session", project: "demo", session: { id: "s2", heartbeats: true, capacity: 2 } },
    { type: "register-session", project: "demo", session: { id: "s3", pid: 7, host: "h1", name: "alice" } },
    { type: "register-session", project: "side", session: { id: "s1", capabilities: ["gpu"] } },
    { type: "register-session", project: "side", session: { id: "s2", heartbeats: true } },
  ];
  // Zero tasks for the plainest world.
  const count = pick.below(tasks.length + 1);
  for (const project of count > 0 ? ["demo", "side"] : []) {
    commands.push({ type: "create", project, correlationId: "c", tasks: tasks.slice(0, count) });
  }
  return commands.map((command) => ({ do: "command", command }));
}
