// Every command through the built program: on the embedded store and through a server, for programs and for people, with every exit
// code. A table tells what is typed and what comes back; each way has a repository of its own and goes through all of it.

import { expect, test } from "vitest";
import { exitCode } from "../../src/contract/codes.js";
import { type OperationName, operations } from "../../src/contract/registry.js";
import { entries } from "../../src/surfaces/cli/commands.js";
import type { ExitCode } from "../../src/surfaces/cli/spec.js";
import type { Way } from "./desk.js";
import { type Ended, openPlace, type Place } from "./run-place.js";

/** The shape of the answer: an operation's, these fields, or lines of them. */
type Shape = OperationName | object;

interface Step {
  /** What is typed; `{token}` is the id of the viewer's token. */
  line: string;
  json?: Shape;
  people: RegExp;
  code?: ExitCode;
  input?: string;
}

const a = "--session a";
const any = expect.anything();
const plan = "- [ ] Two\n- [ ] Three (depends on: Two)\n";
const end = { taskId: any, sessionId: any, epoch: any, outcome: "completed", exitCode: 0 };
const hello = `${JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
})}\n`;

const story: Step[] = [
  { line: "init --yes", json: { success: true, project: "shop", steps: any }, people: /created +AGENTS\.md/ },
  { line: "add One -p high", json: "tasks.create", people: /^0001 {2}One\n$/ },
  { line: "plan -", json: { plan: any, preview: any }, people: /To add these 2 tasks: /, input: plan },
  { line: "plan - --yes", json: "tasks.batch", people: /added 2 tasks/, input: plan },
  { line: "edit 0001 --title First", json: "tasks.update", people: /^0001 {2}First\n/ },
  { line: "next-id", json: "ids.next", people: /^0004\n$/ },
  { line: "list", json: "tasks.list", people: /^-- {2}0001 {2}First {2}high 80 +ready$/m },
  { line: "ready", json: "tasks.claimable", people: /0001[\s\S]*0002/ },
  { line: "explain 0003", json: "tasks.explain", people: /What would help:\n {2}dibs claim 0002/ },
  { line: "dependents 0002", json: "tasks.blockedBy", people: /^0003\n$/ },
  { line: "blocked-by 0002", json: "tasks.blockedBy", people: /^0003\n$/ },
  { line: "graph", json: "tasks.graph", people: /0002 {2}Two\n +└─ 0003 {2}Three/ },
  { line: `claim 0001 --start ${a}`, json: "tasks.claim", people: /session a, epoch 1, lease 30m/ },
  { line: "conflicts", json: "tasks.conflicts", people: /No tasks in flight change the same files/ },
  { line: "in-flight", json: "tasks.inFlight", people: /\[\*\] {2}0001/ },
  { line: "sessions", json: "sessions.list", people: /1 working, 0 idle/ },
  { line: `heartbeat 0001 ${a}`, json: "tasks.heartbeat", people: /^lease until / },
  { line: `progress 0001 half ${a}`, json: "tasks.progress", people: /noted on 0001/ },
  { line: `ask 0001 Which? ${a}`, json: "tasks.ask", people: /dibs answer 0001/ },
  { line: "inbox", json: "notifications.inbox", people: /^\? 0001 {2}First[\s\S]*Which\?/ },
  { line: "answer 0001 that", json: "tasks.respond", people: /answered 0001, now running/ },
  { line: `done 0001 well ${a} -c new.ts`, json: "tasks.complete", people: /completed 0001/ },
  {
    line: "show 0001 --brief",
    json: { success: true, brief: any },
    people: /^<task-data of="task 0001">\n[\s\S]*<\/task-data>\n$/,
  },
  { line: "show 0001", json: "tasks.get", people: /state +completed[\s\S]*result +well/ },
  { line: "attempts 0001", json: "tasks.attempts", people: /completed +well/ },
  { line: `claim ${a}`, json: "tasks.claimNext", people: /^0002 {2}Two/ },
  { line: `start 0002 ${a}`, json: "tasks.start", people: /started 0002/ },
  { line: `fail 0002 no --no-retry ${a}`, json: "tasks.fail", people: /failed 0002 for good/ },
  { line: "retry 0002", json: "tasks.retry", people: /queued 0002 again/ },
  { line: `claim 0002 ${a}`, json: "tasks.claim", people: /epoch 2/ },
  { line: `release 0002 ${a}`, json: "tasks.release", people: /released 0002/ },
  { line: "check add test -- true", json: "projects.update", people: /^added check test/ },
  { line: "check list", json: { success: true, checks: [any] }, people: /^test +10m +true$/m },
  { line: "check run", json: { success: true, results: [any] }, people: /^passed +test +\d/m },
  { line: "check remove test", json: "projects.update", people: /^removed check test/ },
  { line: "project set land.target main", json: "projects.update", people: /land\.target +main/ },
  { line: `claim 0002 ${a}`, json: "tasks.claim", people: /epoch 3/ },
  { line: `submit 0002 did it ${a}`, json: "tasks.submit", people: /^submitted 0002 \(no change/ },
  { line: "review", json: "landings.list", people: /./ },
  { line: "approve 0002", json: "tasks.approve", people: /^approved submission 1 of 0002/ },
  { line: "show 0002", json: { task: any, submission: any }, people: /^landing +waits to land$/m },
  { line: "withdraw 0002", json: "tasks.withdraw", people: /^withdrew 0002\n$/ },
  { line: `claim 0002 ${a}`, json: "tasks.claim", people: /epoch 4/ },
  { line: `submit 0002 did it ${a}`, json: "tasks.submit", people: /^submitted 0002 \(no change/ },
  { line: "reject 0002 more", json: "tasks.requestChanges", people: /^requested changes of 0002/ },
  { line: "project set land.target=", json: "projects.update", people: /land\.target +not set/ },
  { line: "cancel 0003", json: "tasks.cancel", people: /cancelled 0003/ },
  { line: "events 0003", json: "tasks.events", people: /cancelled +0003/ },
  { line: "stats", json: "stats.get", people: /tasks +3\n/ },
  { line: `usage 0001 --usd 0.42 ${a}`, json: "tasks.usage", people: /^reported on 0001/ },
  { line: "resource set test-db --capacity 2", json: "resources.set", people: /^set test-db/ },
  { line: "resource hold test-db --for 30m", json: "resources.hold", people: /^held test-db until / },
  { line: "resource list", json: "resources.list", people: /^test-db +0\/2 +0 +held \(manual\)/m },
  { line: "resource resume test-db", json: "resources.resume", people: /^test-db is not held/ },
  { line: "resources", json: "resources.list", people: /^test-db +0\/2 +0 +open/m },
  { line: "resource remove test-db", json: "resources.remove", people: /^removed test-db/ },
  { line: "lock acquire deploy", json: "locks.acquire", people: /^acquired deploy: process \d+/ },
  { line: "lock status deploy", json: "locks.get", people: /^deploy is held by process/ },
  { line: "lock list", json: "locks.list", people: /^deploy +process/m },
  { line: "lock release deploy", json: "locks.release", people: /^released deploy\n$/ },
  { line: "project create docs", json: "projects.create", people: /created project docs/ },
  { line: "project list", json: "projects.list", people: /docs[\s\S]*shop +default/ },
  { line: "project show docs", json: "projects.get", people: /claim\.defaultTtlMs +30m/ },
  { line: "project set maxRetries 1", json: "projects.update", people: /maxRetries +1/ },
  { line: "project pause docs", json: "projects.pause", people: /paused docs/ },
  { line: "project resume docs", json: "projects.resume", people: /resumed docs/ },
  { line: "token create --role viewer", json: "tokens.create", people: /^\S{20,}\n$/ },
  { line: "token list", json: "tokens.list", people: /viewer/ },
  { line: "token revoke {token}", json: "tokens.revoke", people: /^revoked / },
  { line: "leader add-task Four -p 1", json: "tasks.create", people: /^0005 {2}Four/ },
  { line: "leader list -s available", json: "tasks.list", people: /0005 {2}Four/ },
  { line: "leader status", json: "stats.get", people: /ready +/ },
  { line: "worker claim terminal-2", json: "tasks.claimNext", people: /dibs worker start terminal-2 0005/ },
  { line: "worker start terminal-2 0005", json: "tasks.start", people: /started 0005/ },
  { line: "worker complete terminal-2 0005 ok", json: "tasks.complete", people: /completed 0005/ },
  { line: "leader add-task Five -p 1", json: "tasks.create", people: /^0006 {2}Five/ },
  { line: "worker claim terminal-2", json: "tasks.claimNext", people: /^0006/ },
  { line: "worker fail terminal-2 0006 no", json: "tasks.fail", people: /failed 0006; retry in/ },
  { line: "leader cancel 0006", json: "tasks.cancel", people: /cancelled 0006/ },
  { line: "run --prompt Six -- cat", json: end, people: /^0007 completed\n$/ },
  { line: "work --once -- cat", json: end, people: /^0002 completed\n$/ },
  { line: "sync tasks.json --once", json: [{ what: any, message: any }], people: /^$|wrote/ },
  { line: "add Seven", json: "tasks.create", people: /^0008/ },
  {
    line: "spool --agent x --dir ai --once",
    json: [{ type: "placed", taskId: "0008" }],
    people: /^0008 placed/,
  },
  { line: "backup copy.db", json: { success: true, file: any }, people: /backed up to copy\.db/ },
  { line: "export all.jsonl", json: { success: true, file: any, lines: any }, people: /^exported \d+ lines/ },
  {
    line: "import all.jsonl --db new.db",
    json: { success: true, counts: any },
    people: /^imported 1 org, 2 projects/,
  },
  { line: "doctor", json: { success: true, findings: any }, people: /All is well\.|0 problems/ },
  {
    line: "trust",
    json: { success: true, id: any, path: any, tasks: any, tokens: any },
    people: /^trusted .*dibs\.db/,
  },
  { line: "completion bash", json: { script: any }, people: /complete -F _dibs dibs/ },
  { line: "__complete -- list --sta", people: /^--status\t.*\n--state\t/ },
  { line: "mcp", json: [{ jsonrpc: "2.0", id: 1, result: any }], people: /serverInfo/, input: hello },
  { line: "hook", people: /^$/, input: "{}" },
];

const refusals: Step[] = [
  { line: "retry 0001", code: 1, people: /TASK_NOT_RETRYABLE/ },
  { line: "fence", code: 1, json: [], people: /DIBS_EPOCH must name a claim/ },
  { line: "backup copy.db", code: 1, people: /Choose a new file name/ },
  { line: "list --sideways", code: 2, people: /Run: dibs list --help/ },
  { line: "watch", code: 2, people: /watch needs a terminal|no --json/ },
  { line: "plan -", code: 2, people: /Nothing was added|cannot be read/, input: "- [ ] A (depends on: B)\n" },
  { line: "check add test true", code: 2, people: /Run: dibs check add test -- true/ },
  { line: "check remove none", code: 3, people: /Run: dibs check list/ },
  { line: "show 0099", code: 3, people: /TASK_NOT_FOUND/ },
  { line: "list --project nowhere", code: 3, people: /PROJECT_NOT_FOUND/ },
  { line: "done 0008 --session a", code: 4, people: /NOT_CLAIM_OWNER/ },
  {
    line: `claim ${a} -l none`,
    code: 5,
    json: "tasks.claimNext",
    people: /^Nothing to claim: .*\. Run: dibs .*\n$/,
  },
  { line: "spool --agent y --dir ai --once", code: 5, json: [], people: /^$/ },
  { line: "list --db .", code: 6, people: /STORE_UNAVAILABLE/ },
];

/** In tests of their own, because they go on, take long, or need DynamoDB. */
const elsewhere = ["db create", "db replay", "demo", "land", "serve", "token link"];

test("no command is missing", async () => {
  const names: string[] = [];
  for (const [name, { load }] of entries) {
    const command = (await load())[name]!;
    names.push(...("parts" in command ? Object.values(command.parts).map((part) => part.name) : [name]));
  }
  const told = new Set([...story, ...refusals].flatMap(({ line }) => [nameIn(line, 1), nameIn(line, 2)]));
  expect(names.filter((name) => !told.has(name) && !elsewhere.includes(name))).toEqual([]);
  expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
});

const nameIn = (line: string, words: number) => line.split(" ").slice(0, words).join(" ");

const lanes: [Way, "programs" | "people"][] = [
  ["embedded", "programs"],
  ["server", "programs"],
  ["embedded", "people"],
  ["server", "people"],
];

test.each(lanes)("every command answers: %s, for %s", { timeout: 300_000 }, goThrough);

async function goThrough(way: Way, whom: "programs" | "people"): Promise<void> {
  const place = await openPlace(way);
  for (const step of [...story, ...refusals]) {
    const ended = await called(place, step, whom === "programs" ? ["--json"] : []);
    const said = `${way}, for ${whom}: dibs ${step.line}\n${ended.out}${ended.err}`;
    expect(ended.code, said).toBe(step.code ?? 0);
    if (whom === "people") expect(ended.out || ended.err, said).toMatch(step.people);
    else expectJson(step, ended, said);
  }
  const { out } = await place.dibs(["doctor"]);
  expect(out).toMatch(way === "server" ? /server +runs; commands go through it/ : /server +none runs/);
}

test("a server that does not answer is named, after some tries", async () => {
  const step: Step = { line: "list --url http://127.0.0.1:1", code: 6, people: /no answer/ };
  const ended = await called(await openPlace(), step, ["--json"]);
  expect(ended.code).toBe(6);
  expectJson(step, ended, step.line);
});

async function called(place: Place, { line, input }: Step, more: string[]): Promise<Ended> {
  const words = line.split(" ");
  if (words.at(-1) === "{token}") words.splice(-1, 1, await viewerToken(place));
  const at = words.indexOf("--");
  const args = at < 0 ? [...words, ...more] : [...words.slice(0, at), ...more, ...words.slice(at)];
  return place.dibs(args, input === undefined ? {} : { input });
}

async function viewerToken(place: Place): Promise<string> {
  const { tokens } = await place.json(["token", "list"]);
  return tokens.find(({ role }: { role: string }) => role === "viewer").id;
}

function expectJson({ json, code = 0 }: Step, { out }: Ended, said: string): void {
  if (json === undefined && code === 0) return;
  const lines = out.split("\n").slice(0, -1);
  const answers = lines.map((text) => JSON.parse(text));
  if (Array.isArray(json)) {
    for (const shape of json) expect(answers, said).toContainEqual(expect.objectContaining(shape));
    return;
  }
  expect(lines.length, said).toBe(1);
  const [answer] = answers;
  if (typeof json === "string") {
    const { output } = operations.find(({ name }) => name === json)!;
    expect(output.safeParse(answer).error?.issues ?? [], said).toEqual([]);
  } else if (json !== undefined) expect(answer, said).toMatchObject(json);
  else {
    expect(answer, said).toMatchObject({ success: false, message: any, retryable: any });
    expect(exitCode[answer.error as keyof typeof exitCode], said).toBe(code);
  }
}
