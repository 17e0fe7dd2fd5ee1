import { describe, expect, test } from "vitest";
import type { z } from "zod";
import type { Operation } from "../../src/contract/operation.js";
import { registry } from "../../src/contract/registry.js";
import type { Command, SingleCommand } from "../../src/surfaces/cli/command.js";
import { entries, groups } from "../../src/surfaces/cli/commands.js";
import { argsOf, type FlagSpec, globalFlags } from "../../src/surfaces/cli/spec.js";
import { openDesk } from "./desk.js";

const all: { entry: string; command: Command }[] = [];
for (const [entry, { load }] of entries) all.push({ entry, command: (await load())[entry]! });

/** Every command that can be called, by its full name. */
const callable = new Map<string, SingleCommand>(
  all.flatMap(({ command }) =>
    "parts" in command
      ? Object.values(command.parts).map((part) => [part.name, part] as const)
      : [[command.name, command] as const],
  ),
);

const operations = Object.values(registry).flatMap((group) => Object.values(group) as Operation[]);

/** How a field of an operation is given, where its name does not tell. */
const spelling: Record<string, string[]> = {
  project: ["project", "all"],
  taskId: ["[id]", "<id>", "task"],
  sessionId: ["session"],
  parentId: ["parent", "[parent]"],
  dependsOn: ["depends-on"],
  labels: ["label"],
  addLabels: ["add-label"],
  removeLabels: ["remove-label"],
  agentType: ["agent-type"],
  maxRetries: ["max-retries"],
  notBefore: ["not-before"],
  timeoutMs: ["timeout"],
  correlationId: ["correlation"],
  extendMs: ["extend"],
  ttlMs: ["ttl"],
  waitMs: ["wait"],
  forMs: ["for"],
  budgets: ["budget"],
  inputTokens: ["input-tokens"],
  outputTokens: ["output-tokens"],
  expiresInMs: ["expires"],
  questionId: ["question"],
  types: ["type"],
  state: ["status"],
  q: ["search"],
  options: ["option"],
  type: ["group"],
  retryable: ["no-retry"],
  resume: ["no-resume"],
  includeExpired: ["expired"],
  id: ["[project]", "<project>", "<id>", "id", "project"],
  name: ["<name>", "name"],
  prompt: ["[prompt]", "prompt"],
  question: ["[question]"],
  response: ["[text]"],
  result: ["[result]"],
  error: ["[error]"],
  summary: ["[summary]"],
  note: ["[note]"],
  reason: ["[reason]", "reason"],
  settings: ["[settings]", "<key>"],
  paused: ["<key>"],
  tasks: ["<file|->"],
};

const exceptions: Record<string, string> = {
  "tasks.claim register": "always: an unknown session is registered",
  "tasks.claimNext register": "always: an unknown session is registered",
  "tasks.claimNext heedBreaker": "dibs work does; a claim by hand is a person's decision",
  "tasks.claimNext why": "always: people want to know",
  "tasks.claimNext kind": "dibs work --review claims reviews; a person needs no claim to give a verdict",
  "tasks.heartbeat paths": "dibs work reports what its worktree has changed",
  "tasks.fail quick": "dibs work reports it; a failure by hand is a verdict",
  "tasks.claimable asNew": "always: a session that has not come yet may ask",
  "tasks.explain asNew": "always: a session that has not come yet may ask",
  "tasks.batch dryRun": "without --yes, plan previews",
  "tasks.batch plan": "--name, or the file's path",
  "tasks.release result": "dibs done completes",
  "tasks.release error": "dibs fail fails",
  "tasks.submit base": "the lander finds it in the repository",
  "tasks.submit branch": "the one of the current directory",
  "tasks.submit host": "the session's",
  "tasks.submit result": "the summary, with -c and -m",
  "sessions.list all": "--ended, because --all means all projects",
  "locks.acquire host": "the process is looked up here",
  "locks.acquire processStartedAt": "the process is looked up here",
  "locks.release host": "the process is looked up here",
  "locks.release processStartedAt": "the process is looked up here",
  "resources.hold source": "a hold by hand is manual; dibs work reports limits",
  "resources.resume source": "a person ends all of them",
  "projects.update id": "--project",
  "tokens.list cursor": "all of them are shown",
};

function fieldsOf({ input }: Operation): string[] {
  return Object.keys((input as z.ZodObject).shape);
}

const isGiven = (command: SingleCommand, field: string) => {
  const flags = new Set([...Object.keys(globalFlags), ...Object.keys(command.flags ?? {})]);
  const args = new Set(argsOf(command).map(({ name, needed }) => (needed ? `<${name}>` : `[${name}]`)));
  return [field, ...(spelling[field] ?? [])].some((each) => flags.has(each) || args.has(each));
};

describe("every operation that has a command line", () => {
  const told = operations.filter(({ cli }) => cli !== undefined);

  test.each(told.map((operation) => [operation.cli!, operation] as const))("dibs %s exists", (name) => {
    expect([...callable.keys()]).toContain(name);
  });

  test.each(told.map((operation) => [operation.name, operation] as const))(
    "%s takes every field of its input",
    (name, operation) => {
      const command = callable.get(operation.cli!)!;
      const missing = fieldsOf(operation).filter(
        (field) => !isGiven(command, field) && exceptions[`${name} ${field}`] === undefined,
      );
      expect(missing).toEqual([]);
    },
  );

  test("no exception is out of date", () => {
    const known = new Set(
      told.flatMap((operation) => fieldsOf(operation).map((field) => `${operation.name} ${field}`)),
    );
    expect(Object.keys(exceptions).filter((each) => !known.has(each))).toEqual([]);
  });
});

test("every command of the contract is there", () => {
  const wanted =
    "init serve add plan list ready show claim start done fail release heartbeat progress ask answer inbox cancel retry edit explain blocked-by dependents graph sessions lock next-id run work watch events stats sync export import project token backup doctor demo mcp spool";
  const gaps = ["run", "work", "watch", "mcp"];
  expect(wanted.split(" ").filter((name) => !entries.has(name) && !gaps.includes(name))).toEqual([]);
  const seed = "leader add-task, leader cancel, worker claim, worker start, worker complete, worker fail";
  expect(seed.split(", ").filter((name) => !callable.has(name))).toEqual([]);
});

test("every command says what it does, and what its flags mean", () => {
  for (const { name, summary, flags = {} } of callable.values()) {
    expect(summary, name).toMatch(/\w.*[^.]$/);
    for (const [flag, { help }] of Object.entries(flags)) expect(help, `${name} --${flag}`).toMatch(/\w/);
  }
});

test("a short flag means one thing in a command", () => {
  for (const { name, flags = {} } of callable.values()) {
    const every: FlagSpec[] = Object.values({ ...globalFlags, ...flags });
    const shorts = every.flatMap(({ short }) => short ?? []);
    expect(new Set(shorts).size, name).toBe(shorts.length);
    const doubled = Object.keys(flags).filter((flag) => flag in globalFlags);
    expect(doubled, name).toEqual([]);
  }
});

test("the overview lists every command that people call", async () => {
  const desk = await openDesk();
  const { out } = await desk.dibs(["--help"]);
  for (const group of Object.values(groups)) {
    for (const name of Object.keys(group)) expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  expect(out).not.toContain("__complete");
});

test.each(all.filter(({ command }) => "parts" in command).map(({ entry }) => entry))(
  "dibs %s --help lists its parts, and alone it is refused",
  async (name) => {
    const desk = await openDesk();
    expect((await desk.dibs([name, "--help"])).code).toBe(0);
    expect((await desk.dibs([name])).code).toBe(2);
    expect((await desk.dibs([name, "nonsense"])).code).toBe(2);
  },
);
