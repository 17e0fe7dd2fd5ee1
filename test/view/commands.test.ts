import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Action, cliFor, curlFor, type Details, withFlag } from "../../src/client/view/commands.js";
import { operations } from "../../src/contract/registry.js";
import { entries } from "../../src/surfaces/cli/commands.js";
import { type CommandSpec, parse } from "../../src/surfaces/cli/spec.js";

const run = promisify(execFile);

/** What a real shell makes of a line, with a program of ours in the place of the one that is called. */
async function shellWords(line: string, program: string): Promise<string[]> {
  const script = `${program}() { for word; do printf '%s\\0' "$word"; done; }\n${line}\n`;
  const env = { PATH: process.env.PATH, DIBS_TOKEN: "s3cret" };
  const { stdout } = await run("/bin/sh", ["-c", script], { env });
  return stdout.split("\0").slice(0, -1);
}

const hostile = `it's "teal" $(rm -rf /) \`x\` \\ !!\n--help; #`;
const cases: [Action, Details][] = [
  ["show", { taskId: "0001" }],
  ["explain", { taskId: "0001_t1.2", project: "shop" }],
  ["retry", { taskId: "0001", project: "shop" }],
  ["attempts", { taskId: "0001" }],
  ["log", { taskId: "0001" }],
  ["events", { taskId: "0001" }],
  ["dependents", { taskId: "0001" }],
  ["answer", { taskId: "0001", text: "teal" }],
  ["answer", { taskId: "0001", text: hostile, questionId: "q-1", project: "shop" }],
  ["answer", { taskId: "0001", text: "-5" }],
  ["answer", { taskId: "0001", text: "--" }],
  ["cancel", { taskId: "0001" }],
  ["cancel", { taskId: "0001", cascade: true, text: "--no need" }],
  ["release", { taskId: "0001" }],
  ["release", { taskId: "0001", text: hostile }],
  [
    "edit",
    {
      taskId: "0001",
      patch: {
        title: hostile,
        prompt: "-x",
        priority: "high",
        labels: ["ui", "needs design"],
        addLabels: ["api, v2"],
        removeLabels: ["old"],
        dependsOn: [],
        files: ["src/*.ts", "a,b.ts"],
        notBefore: "2026-01-31T12:00:00.000Z",
        timeoutMs: 90_000,
        assignee: null,
        metadata: { "a'b": 1 },
        maxRetries: 2,
      },
    },
  ],
];

describe("as a command line", () => {
  test("a priority from 1 to 5 is printed in the spelling that the command line accepts", () => {
    expect(cliFor("edit", { taskId: "0001", patch: { priority: 3 } })).toBe("dibs edit 0001 --priority 03");
    expect(cliFor("edit", { taskId: "0001", patch: { priority: 6 } })).toBe("dibs edit 0001 --priority 6");
  });

  test.each(cases)("%s %j is what the command line itself understands", async (action, details) => {
    const [name = "", ...argv] = await shellWords(cliFor(action, details), "dibs");
    const command = (await entries.get(name)!.load())[name] as CommandSpec;
    const { args, values, on } = parse(command, argv);
    expect(args[0]).toBe(details.taskId);
    expect(values.get("project")).toEqual(details.project === undefined ? undefined : [details.project]);
    if (action === "answer" || action === "release") expect(args[1]).toBe(details.text);
    if (action === "answer") expect(values.get("question")?.[0]).toBe(details.questionId);
    if (action === "cancel") expect(values.get("reason")?.[0]).toBe(details.text);
    expect(on.has("cascade")).toBe(details.cascade === true);
    expect(on.has("force")).toBe(action === "release");
    expect(on.has("log")).toBe(action === "log");
  });

  test("one command is for several tasks", () => {
    const on = { taskId: "0001", furtherIds: ["0002", "docs"], project: "shop" };
    expect(cliFor("retry", on)).toBe("dibs retry 0001 0002 docs --project shop");
    expect(cliFor("release", { ...on, text: "it hangs" })).toBe(
      "dibs release 0001 0002 docs --force --project shop -- 'it hangs'",
    );
  });

  test("an edit carries every field, and takes away what is null or empty", async () => {
    const [, , ...argv] = await shellWords(cliFor(...cases.at(-1)!), "dibs");
    const command = (await entries.get("edit")!.load()).edit as CommandSpec;
    expect(Object.fromEntries(parse(command, ["0001", ...argv]).values)).toEqual({
      title: [hostile],
      prompt: ["-x"],
      priority: ["high"],
      label: ["ui", "needs design"],
      "add-label": ["api, v2"],
      "remove-label": ["old"],
      "depends-on": [""],
      files: ["src/*.ts", "a,b.ts"],
      "not-before": ["2026-01-31T12:00:00.000Z"],
      timeout: ["90000ms"],
      assignee: [""],
      metadata: [`{"a'b":1}`],
      "max-retries": ["2"],
    });
  });

  test("a lone dash, which means standard input, comes from there", () => {
    expect(cliFor("answer", { taskId: "0001", text: "-" })).toBe("printf %s - | dibs answer 0001 -- -");
  });
});

describe("as a call of curl", () => {
  test.each(cases)("%s %j is a request of the registry", async (action, details) => {
    const words = await shellWords(curlFor(action, details, "http://127.0.0.1:3427"), "curl");
    const behind = (flag: string) => words.flatMap((word, at) => (words[at - 1] === flag ? [word] : []));
    const url = new URL(words.find((word) => word.startsWith("http"))!);
    const method = behind("-X")[0] ?? "GET";
    const path = url.pathname.replace(details.taskId, ":taskId");
    const operation = operations.find(({ http }) => http.method === method && http.path === path)!;
    expect(operation).toBeDefined();
    expect(behind("-H")).toContain("Authorization: Bearer s3cret");
    if (details.project) expect(behind("-H")).toContain(`dibs-project: ${details.project}`);
    const [body] = behind("--data-raw");
    expect(body === undefined).toBe(method === "GET");
    const input = { taskId: details.taskId, ...(body ? JSON.parse(body) : {}) };
    expect(operation.input.safeParse(input).error).toBeUndefined();
    if (action === "answer") expect(input.response).toBe(details.text);
    if (action === "edit") expect(input).toEqual({ taskId: "0001", ...details.patch });
  });
});

test("an answer that nobody has given yet is a variable that a shell refuses, not an answer", async () => {
  const line = cliFor("answer", { taskId: "0001", questionId: "q1" });
  expect(line).toMatch(/^dibs answer 0001 --question q1 -- "\$\{ANSWER:\?/);
  await expect(shellWords(line, "dibs")).rejects.toThrow(/ANSWER: is missing/);
});

test("a flag goes before what a command hands on", () => {
  expect(withFlag("dibs work -- <command>", "project", "barn")).toBe("dibs work --project barn -- <command>");
  expect(withFlag("dibs retry 0001", "project", "barn")).toBe("dibs retry 0001 --project barn");
});
