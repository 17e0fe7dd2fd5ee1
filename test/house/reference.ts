// The reference pages that are generated from the program: commands, events, metrics, MCP tools.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "../../src/core/command.js";
import { carryOut } from "../../src/core/decide.js";
import { type EventType, eventTypes } from "../../src/core/event.js";
import { renderFamilies } from "../../src/operations/metrics/exposition.js";
import { storeFamilies } from "../../src/operations/metrics/families.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Call } from "../../src/surfaces/http/context.js";
import { ServerMetrics } from "../../src/surfaces/http/server-metrics.js";
import type { Streams } from "../../src/surfaces/http/stream.js";
import { type ToolSpec, tools } from "../../src/surfaces/mcp/tools.js";
import { executorOn } from "../metrics/support.js";
import { filesUnder, root } from "./source.js";

const helpPages = "test/cli/golden/help";

/** Every help page, as the golden files have it: other tests hold them against the program. */
export function commandPages(): string {
  const files = filesUnder(helpPages).map((path) => basename(path, ".txt"));
  const names = files.filter((name) => !name.startsWith("__") && name !== "dibs");
  return ["dibs", ...names]
    .map((name) => {
      const text = readFileSync(join(root, helpPages, `${name}.txt`), "utf8").trimEnd();
      // `lock-acquire` belongs to the group `lock`; `in-flight` is one word.
      const group = names.find((other) => name.startsWith(`${other}-`));
      const typed = group ? `${group} ${name.slice(group.length + 1)}` : name;
      return `## ${name === "dibs" ? "dibs" : `dibs ${typed}`}\n\n\`\`\`text\n${text}\n\`\`\``;
    })
    .join("\n\n");
}

const org = "default";
const project = "demo";
const minute = 60_000;

/** What each event type has in `data`, by running commands that cause all of them. */
export async function eventTable(): Promise<string> {
  const seen = new Map<EventType, Set<string>>();
  for (const { type, data } of await eventsOfEveryType()) {
    const fields = seen.get(type) ?? new Set();
    for (const name of Object.keys(data)) fields.add(name);
    seen.set(type, fields);
  }
  const rows = eventTypes.map((type) => {
    const fields = [...(seen.get(type) ?? missing(type))].map((name) => `\`${name}\``);
    return `| \`${type}\` | ${meanings[type]} | ${fields.join(", ")} |`;
  });
  return ["| event | means | `data` |", "|---|---|---|", ...rows].join("\n");
}

function missing(type: EventType): never {
  throw new Error(`No command in test/house/reference.ts causes ${type}. Add one.`);
}

const meanings: Record<EventType, string> = {
  "task:created": "a task was created",
  "task:queued": "the new task is queued",
  "task:claimed": "a session claimed the task",
  "task:started": "the holder started it",
  "task:progress": "the holder reported progress",
  "task:awaiting-response": "the holder asked a question",
  "task:response-received": "the question was answered",
  "task:usage": "the holder reported what the attempt has cost",
  "task:overlap":
    "a runner reported that two tasks in flight change the same files; once per pair, in the timelines of both",
  "resource:updated": "a resource was set, held, resumed or removed, or a hold ended",
  "task:submitted": "the holder handed in its change, which waits to land",
  "task:review-requested": "the submission passed its checks and waits for a review",
  "task:review-started": "an agent claimed the review of a submission",
  "task:reviewed": "a reviewer approved the submission or requested changes",
  "task:landed": "the change is on the target branch, or there was none",
  "task:returned": "a submission came back, and the task is queued again or asks a human",
  "task:withdrawn": "a submission was withdrawn, and the task is queued again",
  "task:completed": "the task was completed",
  "task:failed": "the task failed and is not retried",
  "task:retry-scheduled": "an attempt failed and is retried at `retryAt`",
  "task:retried": "a failed or cancelled task was queued again",
  "task:cancelled": "the task was cancelled",
  "task:released": "the holder released the task",
  "task:claim-expired": "the lease expired",
  "task:claim-orphaned": "the holder's session ended or its process is gone",
  "task:unblocked": "the task's last dependency was completed or removed",
  "task:updated": "fields were changed, or the task was archived",
  "session:registered": "a session was registered",
  "session:ended": "a session ended",
  "notification:created": "a notification is in the inbox",
  "notification:read": "a notification was read",
  "project:updated": "settings were changed, or the project was created, paused or resumed",
  "token:created": "a token was created",
  "token:revoked": "a token was revoked",
};

async function eventsOfEveryType() {
  const clock = new TestClock();
  const store = openMemoryStore(clock);
  await store.open(org, project);
  const run = async (command: Command) => {
    const [done] = await store.commit(org, [(transaction) => carryOut(transaction, command, "user:test")]);
    if (!done!.ok) throw done!.error;
    if (!done!.value.ok) throw new Error(`${command.type}: ${done!.value.message}`);
    clock.advance(minute);
  };
  const on = (taskId: string) => ({ project, taskId });
  const held = (taskId: string, epoch = 1) => ({ ...on(taskId), sessionId: "s", epoch });
  const take = (taskId: string): Command => ({ type: "claim", ...on(taskId), sessionId: "s", start: true });
  const result = { output: "", filesCreated: [], filesModified: [] };
  const create = (more: object = {}): Command => ({
    type: "create",
    project,
    correlationId: "c",
    tasks: [{ prompt: "do it", ...more }],
  });
  const session = (id: string): Command => ({ type: "register-session", project, session: { id } });
  const lander = { repository: "r", target: "main", epoch: 1 };
  const script: Command[] = [
    session("s"),
    session("t"),
    ...Array.from({ length: 7 }, () => create()),
    create({ dependsOn: ["0001"] }),
    take("0001"),
    { type: "progress", ...held("0001"), note: "half", percent: 50 },
    { type: "report-usage", ...held("0001"), usd: 0.42, inputTokens: 120_000, model: "opus" },
    { type: "set-resource", id: "db", capacity: 2 },
    { type: "hold-resource", project, id: "db", source: "manual", forMs: minute },
    { type: "resume-resource", id: "db", source: "manual" },
    { type: "ask", ...held("0001"), question: "which?" },
    { type: "respond", ...on("0001"), response: "this" },
    { type: "complete", ...held("0001"), result },
    take("0002"),
    { type: "fail", ...held("0002"), error: "broken", spread: 0 },
    take("0003"),
    { type: "fail", ...held("0003"), error: "broken", retryable: false, spread: 0 },
    { type: "retry", ...on("0003") },
    { type: "cancel", ...on("0004") },
    take("0005"),
    { type: "release", ...held("0005"), spread: 0 },
    // A holder that leaves while its question is open.
    take("0005"),
    { type: "ask", ...held("0005", 2), question: "which?" },
    { type: "release", ...held("0005", 2), spread: 0 },
    { type: "respond", ...on("0005"), response: "this" },
    create({ type: "group" }),
    create({ id: "part", parentId: "0009" }),
    { type: "claim", ...on("part"), sessionId: "s" },
    { type: "complete", ...held("part"), result },
    { type: "update", ...on("0006"), patch: { priority: 90 } },
    { type: "claim", ...on("0006"), sessionId: "t" },
    { type: "heartbeat", ...on("0006"), sessionId: "t", epoch: 1, paths: ["package.json"] },
    create({ id: "overlapping" }),
    take("overlapping"),
    { type: "heartbeat", ...held("overlapping"), paths: ["package.json"] },
    { type: "cancel", ...on("overlapping") },
    { type: "end-session", project, sessionId: "t", reason: "session_ended" },
    { type: "update-project", project, settings: { land: { target: "main" } } },
    ...["landed", "returned", "withdrawn"].flatMap((id) => [
      create({ id }),
      take(id),
      { type: "submit" as const, ...held(id), commit: "c1", result },
    ]),
    { type: "withdraw", ...on("withdrawn"), reason: "not yet" },
    { type: "update-project", project, settings: { land: { review: "agent" } } },
    session("reviewer"),
    { type: "claim-review", project, sessionId: "reviewer", candidates: ["landed"] },
    {
      type: "review",
      ...on("landed"),
      submission: 1,
      verdict: "approve",
      sessionId: "reviewer",
      comment: "good",
    },
    { type: "acquire-lander", project, repository: "r", target: "main", holder: "l", ttlMs: 60 * minute },
    {
      type: "open-landing",
      ...lander,
      tasks: [{ ...on("landed"), submission: 1, commit: "c2" }],
      commit: "c2",
    },
    { type: "land", id: "L1", epoch: 1 },
    { type: "open-landing", ...lander, tasks: [] },
    {
      type: "record-diff",
      id: "L2",
      epoch: 1,
      ...on("returned"),
      submission: 1,
      diff: {
        base: "b",
        files: [],
        fileCount: 1,
        insertions: 1,
        deletions: 0,
        reviewPaths: [],
        patchId: null,
      },
      patch: { text: "", omitted: 0 },
    },
    { type: "return", id: "L2", epoch: 1, ...on("returned"), submission: 1, reason: "conflict" },
    { type: "update-project", project, settings: { land: { target: null } } },
    take("0007"),
    { type: "update-project", project, paused: true },
    { type: "update-project", project, settings: {} },
  ];
  for (const command of script) await run(command);
  clock.advance(24 * 60 * minute);
  await run({ type: "sweep", limit: 10 });
  await run({ type: "archive-tasks", tasks: [{ project, id: "0004" }], before: clock.now() });
  await run({ type: "create-token", id: "t1", name: "ci", role: "viewer", hash: "0".repeat(64) });
  await run({ type: "revoke-token", id: "t1" });
  return store.read(org, (view) => view.events({ after: 0, limit: 1_000 }));
}

/** Metrics as a server prints them, after one request. */
export async function metricTable(): Promise<string> {
  const store = openMemoryStore(new TestClock());
  await store.open(org, project);
  const executor = executorOn(store);
  const ofOrg = namesIn(renderFamilies(await storeFamilies(executor, org)));
  const figures = new ServerMetrics(executor, { count: () => 0 } as unknown as Streams);
  figures.request({ call: { route: "/api/tasks" } as Call, method: "GET", status: 200, ms: 1 });
  figures.storeTook("tasks.list", 1);
  const all = familiesIn(await figures.text(org));
  const rows = all.map(({ name, type, help, labels }) => {
    const scope = ofOrg.has(name) ? "org" : "server";
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${scope} | ${help} |`;
  });
  return ["| metric | type | labels | of | means |", "|---|---|---|---|---|", ...rows].join("\n");
}

const namesIn = (text: string) => new Set(familiesIn(text).map(({ name }) => name));

function familiesIn(text: string) {
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n((?:[^#\n].*\n)*)/gm)].map(
    ([, name, help, type, samples]) => {
      const labels = [...samples!.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!);
      return {
        name: name!,
        help: help!,
        type: type!,
        labels: [...new Set(labels)].filter((one) => one !== "le"),
      };
    },
  );
}

export function toolPages(): string {
  const pages = Object.entries<ToolSpec>(tools).map(([name, { description, fields, required }]) => {
    const rows = Object.entries(fields).map(([field, spec]) => {
      const type = spec.items ? "list of text" : [spec.type].flat().join(" or ").replaceAll("string", "text");
      return `| \`${field}\`${required.includes(field) ? "" : "?"} | ${type} | ${spec.description ?? ""} |`;
    });
    return [`### ${name}`, "", description, "", "| argument | | |", "|---|---|---|", ...rows].join("\n");
  });
  return pages.join("\n\n");
}
