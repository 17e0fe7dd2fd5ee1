// What people see, at 80 columns without colour. The stories are told on both ways to a store and must read the same.
// `npx vitest run test/cli/golden.test.ts -u` writes the files anew: look at what changed.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Calling, type Desk, openDesk, type Way } from "./desk.js";

const plan = `# Shop

- [ ] 1. **Set up the project** (high)
- [ ] 2. Create the database schema (depends on: Set up the project)
- [ ] 3. Implement the user model (depends on 1)
- [ ] 4. API
  - [ ] 4.1 Endpoints for users (depends on 2, 3)
  - [ ] 4.2 Endpoints for carts, with a title that goes on and on so that it cannot fit into eighty columns
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
    await tell("blocked-by 0001");
    await tell("explain 0004_t1");
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
    await tell('done 0001 "It stands." -c src/main.ts README.md -m package.json', as);
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
      'add "Write the docs" -p high -l docs,urgent --phase implementation --files "docs/**" --id docs',
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

beforeAll(() => {
  process.env.TZ = "UTC";
});

async function textOf(name: string, way: Way): Promise<string> {
  const desk = await openDesk(way);
  writeFileSync(join(desk.directory, "plan.md"), plan);
  writeFileSync(join(desk.directory, "bad.md"), "- [ ] A (depends on: Nowhere)\n- [ ] A\n");
  const story = new Story(desk);
  await stories[name]!((line, calling) => story.tell(line, calling), desk);
  return story.text();
}

describe.each(Object.keys(stories))("the story of %s", (name) => {
  let embedded: Promise<string> | null = null;

  test("embedded", async () => {
    embedded = textOf(name, "embedded");
    await expect(await embedded).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  test("through a server it reads the same", async () => {
    const text = await textOf(name, "server");
    if (name === "care") await expect(text).toMatchFileSnapshot("golden/care-server.txt");
    else expect(text).toBe(await (embedded ?? textOf(name, "embedded")));
  });
});
