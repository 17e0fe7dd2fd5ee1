// What people see, at 80 columns without colour. The stories are told on both ways to a store and must read the same.
// `npx vitest run test/cli/golden.test.ts -u` writes the files anew: look at what changed.

import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openDibs } from "../../src/compose.js";
import { commitOf, inspect, reviewedBy, submit, waiting } from "../reviews.js";
import { type Calling, type Desk, deskWithStore, openDesk, type Way } from "./desk.js";

const plan = `# Shop

- [ ] 1. **Set up the project** (high)
- [ ] 2. Create the database schema (depends on: Set up the project)
- [ ] 3. Implement the user model (depends on 1)
- [ ] 4. API
  - [ ] 4.1 Endpoints for users (depends on 2, 3)
  - [ ] 4.2 Endpoints for carts, with a title that runs on and on so that it cannot fit into eighty columns
- [x] 5. Choose a name
- [ ] 6. Write tests (depends on API)
`;

/** Who acts and what is random differ between the ways and the machines. */
function normalise(text: string): string {
  return text
    .replaceAll(/(user|token):[\w-]+ */g, (found) =>
      "user:ann".padEnd(found.length).replace(/ +$/, (end) => (found.endsWith(" ") ? end : "")),
    )
    .replaceAll(/^ *\d+(?= {2}\d\d:\d\d:\d\d)/gm, "     N")
    .replaceAll(/\d+ MiB free/g, "N MiB free")
    .replaceAll(/^dibs\.server .*$/gm, "dibs.server  (the server)")
    .replaceAll(/(?<=^more: --after )\d+$/gm, "N")
    .replaceAll(/\bt-[a-z0-9]{10}\b/g, "t-0123456789")
    .replaceAll(/(?<=~t-0123456789~)[\w-]{40,}$/gm, "secret")
    .replaceAll(/^v\d+\.\d+\.\d+$|(?<=node +)v\d+\.\d+\.\d+/gm, "vN");
}

class Story {
  private readonly told: string[] = [];

  constructor(private readonly desk: Desk) {}

  async tell(line: string, calling: Calling = {}): Promise<void> {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
    const { code, out, err } = await this.desk.dibs(words, calling);
    for (const text of out.split("\n")) {
      if (!text.startsWith("  dibs ")) expect(text.length, `${line}: ${text}`).toBeLessThanOrEqual(80);
    }
    this.told.push(`$ dibs ${line}\n${out}${err}${code === 0 ? "" : `[exit ${code}]\n`}`);
  }

  text(): string {
    return normalise(this.told.join("\n"));
  }
}

const stories: Record<string, (tell: Story["tell"], desk: Desk) => Promise<void>> = {
  async plan(tell) {
    await tell("plan plan.md");
    await tell("plan bad.md");
    await tell("plan missing.md");
    await tell("plan plan.md --yes");
    await tell("plan - --yes --parent 0004", { input: "TASK: Payments\nDEPENDS_ON: 0001\nPRIORITY: high\n" });
    await tell("list");
    await tell("list --tree");
    await tell("ready");
    await tell("graph");
    await tell("graph 0003");
    await tell("dependents 0001");
    await tell("explain 0004_t1");
  },
  async "plan-again"(tell, { directory }) {
    await tell("plan plan.md --yes");
    await tell("plan plan.md");
    await tell("claim 0001 --session agent-1");
    const edited = plan
      .replace("- [ ] 1. **Set up the project** (high)", "- [ ] 1. Review\n- [ ] 2. **Set up the project**")
      .replace("3. Implement the user model (depends on 1)", "4. Implement the user model (critical)")
      .replace("- [ ] 2. Create", "- [x] 3. Create")
      .replace(/ {2}- \[ \] 4\.1 .*\n/, "");
    writeFileSync(join(directory, "plan.md"), edited);
    await tell("plan plan.md --format markdown --prune");
    await tell("plan plan.md --yes");
    await tell("plan plan.md --yes --prune");
    await tell("list");
  },
  async work(tell, { clock }) {
    const as = { env: { DIBS_SESSION: "agent-1" } };
    await tell("plan plan.md --yes");
    await tell("claim --start", as);
    clock.advance(90_000);
    await tell('progress 0001 "half way" --percent 50', as);
    await tell("show 0001");
    await tell("in-flight");
    await tell("sessions");
    await tell("heartbeat 0001", as);
    await tell('ask 0001 "Teal, or orange?" --option "Teal, dark" --option orange', as);
    clock.advance(3_600_000);
    await tell("inbox");
    await tell("list -s awaiting_response");
    await tell("answer 0001 teal");
    await tell('done 0001 "It is built." -c src/main.ts README.md -m package.json', as);
    await tell("show 0001");
    await tell("attempts 0001");
    await tell("claim 0002", as);
    await tell("start 0002", as);
    await tell('fail 0002 "no driver" --no-retry', as);
    await tell("explain 0004_t1");
    await tell("inbox");
    await tell("retry 0002");
    await tell("claim 0003", as);
    await tell("release 0003", as);
    await tell("cancel 0004 --cascade");
    await tell("graph");
    await tell("graph --all");
    await tell("events 0002");
    await tell("stats");
    clock.advance(10 * 60_000);
    await tell("sessions");
  },
  async edit(tell) {
    await tell(
      'add "Write the docs" -p high -l docs -l urgent --phase implementation --files "docs/**" --id docs',
    );
    await tell('add "Second" -d docs --assignee agent-2 --not-before 2h --timeout 30m');
    await tell("show 0001");
    await tell('edit 0001 --assignee "" --title "The second task"');
    await tell("next-id");
    await tell("next-id 0001");
    await tell('add "A part" --parent 0001');
    await tell("list");
  },
  async projects(tell) {
    await tell("project list");
    await tell("project show");
    await tell(
      "project set claim.minTtlMs 1s claim.defaultTtlMs 2000 order depth-first ageing.enabled false",
    );
    await tell("project set claim.nonsense 1");
    await tell("project set claim.minTtlMs");
    await tell("project create docs maxRetries=1");
    await tell("project pause docs");
    await tell("project resume docs");
    await tell("project list");
  },
  async locks(tell) {
    await tell("lock status deploy");
    await tell("lock acquire deploy --pid 1");
    await tell("lock status deploy");
    await tell("lock acquire deploy");
    await tell("lock release deploy");
    await tell("lock acquire night --ttl 10m --session agent-1");
    await tell("lock status night");
    await tell("lock list");
    await tell("lock release deploy --pid 1");
    await tell("lock release deploy --pid 1");
    await tell("lock release night --force");
  },
  async seed(tell) {
    await tell("project set retry.jitter 0");
    await tell('leader add-task "Create User model" -p 1');
    await tell('leader add-task "Create schema" -p 1');
    await tell('leader add-task "Create endpoints" -p 2 -d 0001 0002');
    await tell('leader add-task "General work"');
    await tell('leader add-task "Wrong" -p 7');
    await tell("worker claim terminal-2");
    await tell("worker start terminal-2 0001");
    await tell('worker complete terminal-2 0001 "Created User model" -c src/models/user.ts -m src/index.ts');
    await tell("worker claim terminal-3");
    await tell('worker fail terminal-3 0002 "Missing dependency: bcrypt"');
    await tell("leader cancel 0004");
    await tell("leader list");
    await tell("leader status");
    await tell("worker claim terminal-4");
  },
  async people(tell, { clock }) {
    const as = { env: { DIBS_SESSION: "agent-1" } };
    await tell("inbox");
    await tell("sessions");
    await tell("events");
    await tell("in-flight");
    await tell("list");
    await tell("ready");
    await tell("graph");
    await tell("project create docs");
    await tell('add "Write about it" --project docs -l docs');
    await tell("project set retry.jitter 0 maxRetries 1");
    await tell("plan plan.md --yes");
    await tell("claim 0001 --start --agent-type claude", as);
    await tell('progress 0001 "looking around"', as);
    clock.advance(60_000);
    await tell('fail 0001 "the disk is full"', as);
    await tell("explain 0001");
    await tell("list -s scheduled");
    clock.advance(60_000);
    await tell("claim 0001 --start", as);
    await tell(
      'fail 0001 "still full, and this is described at such a length that no line of a terminal has it"',
      as,
    );
    await tell("inbox");
    await tell("show 0001");
    await tell("show 0001 --attempts");
    await tell("show 0001 --log");
    await tell('add "Lone" --id lone');
    await tell("claim lone --session agent-2");
    clock.advance(3 * 3_600_000);
    await tell("in-flight");
    await tell("explain lone");
    await tell("explain 0002");
    await tell("inbox --all");
    await tell("sessions");
    await tell("sessions --ended");
    await tell("events --after 0 --limit 4");
    await tell("events --type task:failed,task:retry-scheduled");
    await tell("list --all --limit 3");
    await tell("list -s failed,cancelled --search disk");
    await tell("stats --all");
    await tell("stats --project docs");
  },
  async review(tell, { clock, database }) {
    const dibs = await openDibs({ path: database, clock, detached: true, actor: "user:ann" });
    await tell("review");
    await reviewedBy(dibs, "any");
    await waiting(dibs, "Turn the flag on");
    clock.advance(120_000);
    await tell("list -s submitted");
    await tell("review");
    await tell("inbox");
    await tell("review 0001");
    await tell("reject 0001");
    await tell("approve 0001 --submission 2");
    await tell('reject 0001 "Keep the old flag" --session author');
    await tell('reject 0001 "Keep the old flag"');
    await tell("approve 0001");
    await submit(dibs, "0001", { commit: commitOf(2) });
    await inspect(dibs, "0001", { submission: 2, reviewPaths: ["package.json"] });
    await dibs.sessions.register({ id: "critic" });
    await tell("approve 0001", { env: { DIBS_SESSION: "critic" } });
    await tell("review 0001");
    await tell("approve 0001 --submission 1");
    await tell('approve 0001 --own --comment "Read it twice"');
    await tell("reject 0001 too late");
    await tell("show 0001");
    await tell("review 0002");
    await dibs.close();
  },
  async tokens(tell, desk) {
    desk.clock.advance(60_000);
    await tell("token create --name ci --role worker --expires 30d");
    await tell("token create --role king");
    await tell("token list");
    const { tokens } = await desk.json(["token", "list"]);
    await tell(`token revoke ${tokens.find(({ name }: { name: string }) => name === "ci").id}`);
    await tell("token revoke none");
    await tell("token list");
  },
  async sync(tell, desk) {
    await tell("plan plan.md --yes");
    await tell("sync tasks.json --once");
    await tell("sync tasks.json --once");
    const file = join(desk.directory, "tasks.json");
    const [first, second, ...others] = JSON.parse(desk.read("tasks.json")).tasks;
    const edited = [{ ...first, title: "Set it all up" }, { ...second, dependsOn: ["nowhere"] }, ...others];
    writeFileSync(file, JSON.stringify({ tasks: [...edited, { title: "By hand" }] }));
    await tell("sync tasks.json --once");
    writeFileSync(file, "{ broken");
    await tell("sync tasks.json --once");
    await tell("sync tasks.json --once --watch");
    await tell("list");
  },
  async spool(tell, { directory }) {
    const at = (...names: string[]) => join(directory, "ai_comms/claude/tasks", ...names);
    await tell("spool --agent claude");
    await tell("spool --agent claude --dir ai_comms --once");
    await tell('add "Lay the table" --id table');
    await tell("spool --agent claude --dir ai_comms --once");
    mkdirSync(at("in_progress/table"), { recursive: true });
    renameSync(at("to_execute/table/table.md"), at("in_progress/table/table.1.md"));
    await tell("spool --agent claude --dir ai_comms --once");
    mkdirSync(at("completed/table"), { recursive: true });
    renameSync(at("in_progress/table/table.1.md"), at("completed/table/table.md"));
    await tell("spool --agent claude --dir ai_comms --once");
    await tell("show table");
  },
  async trouble(tell, desk) {
    await tell("doctor");
    await tell('add "One"');
    await tell("project pause");
    chmodSync(join(desk.directory, ".dibs"), 0o777);
    await tell("doctor");
    await tell("doctor --fix");
  },
  async care(tell) {
    await tell("init --yes");
    await tell("init");
    await tell("doctor");
    await tell("backup copy.db");
    await tell("backup copy.db");
    await tell("export out.jsonl");
    await tell("import missing.jsonl");
    await tell("init --remove");
  },
};

/** They begin without a store. */
const beginnings = ["care", "trouble"];

/** A server has files, a lock and a token of its own. */
const differ = ["care", "locks", "tokens", "trouble"];

beforeAll(() => {
  process.env.TZ = "UTC";
});

async function textOf(name: string, way: Way): Promise<string> {
  const desk = await (beginnings.includes(name) ? openDesk(way) : deskWithStore(way));
  writeFileSync(join(desk.directory, "plan.md"), plan);
  writeFileSync(join(desk.directory, "bad.md"), "- [ ] A (depends on: Nowhere)\n- [ ] A\n");
  const story = new Story(desk);
  await stories[name]!((line, calling) => story.tell(line, calling), desk);
  return story.text().replaceAll(desk.directory, "/shop");
}

describe.each(Object.keys(stories))("the story of %s", (name) => {
  let embedded: Promise<string> | null = null;

  test("embedded", async () => {
    embedded = textOf(name, "embedded");
    await expect(await embedded).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  test("through a server it reads the same", async () => {
    const text = await textOf(name, "server");
    if (differ.includes(name)) await expect(text).toMatchFileSnapshot(`golden/${name}-server.txt`);
    else expect(text).toBe(await (embedded ?? textOf(name, "embedded")));
  });
});
