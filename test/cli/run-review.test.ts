// `dibs work --review`: real processes that judge what another agent submitted, with real git.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Dibs } from "../../src/client/client.js";
import { openDibs } from "../../src/compose.js";
import { databaseFor } from "../../src/runtime/locate.js";
import { inspect, reviewedBy } from "../reviews.js";
import { afterwards } from "../support.js";
import { ways } from "./desk.js";
import { type Place, placeWithStore, sh, until, waitFor } from "./run-place.js";

const settingOf = { agent: "agent", human: "human" } as const;

async function repository(place: Place): Promise<{ place: Place; dibs: Dibs }> {
  writeFileSync(join(place.cwd, "flag.ts"), "export const flag = false;\n");
  place.git("add", "flag.ts");
  place.git("commit", "--quiet", "--message=Begin");
  await place.says(["init", "--land", "main", "--yes", "--no-agents"]);
  const dibs = await openDibs({ path: databaseFor(place.cwd), detached: true });
  afterwards(() => dibs.close());
  const { project } = await dibs.projects.get({});
  const { repository } = project.settings.land;
  await reviewedBy(dibs, settingOf.agent, { repository });
  return { place, dibs };
}

/** An agent submits a change, and a lander has looked at it. */
async function submitted(place: Place, dibs: Dibs, title = "Turn the flag on"): Promise<string> {
  const { task } = await dibs.tasks.create({ title, prompt: `${title}.` });
  const script = 'echo "export const flag = true;" > flag.ts; echo "Did it" > $DIBS_RESULT_FILE';
  await place.says(["work", "--once", "--no-land", "--", ...sh(script)]);
  await inspect(dibs, task.id, { base: place.git("rev-parse", "main") });
  return task.id;
}

const reviewer = (script: string, ...flags: string[]) => [
  "work",
  "--review",
  "--no-land",
  ...flags,
  "--",
  ...sh(script),
];
const verdict = (word: string, findings: string) =>
  `printf '%s' '${JSON.stringify({ verdict: word, findings })}' > "$DIBS_RESULT_FILE"`;

const reviewsOf = async (dibs: Dibs, taskId: string) =>
  (await dibs.tasks.submission({ taskId })).submission.reviews;

describe.each(ways)("%s", (way) => {
  test("a reviewer gets the brief, the patch and a checkout, and its approval counts", async () => {
    const { place, dibs } = await repository(await placeWithStore(way));
    const id = await submitted(place, dibs);
    const script = `
      cat > "$NOTES/brief"
      cat "$DIBS_PATCH_FILE" > "$NOTES/patch"
      cp flag.ts "$NOTES/flag.ts"; pwd > "$NOTES/pwd"; git rev-parse HEAD > "$NOTES/head"
      env | grep '^DIBS_' > "$NOTES/env"
      ${verdict("approve", "Read all of it")}`;
    const { code, out, err } = await place.dibs(reviewer(script, "--until-empty"));
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(out).toMatch(/0001 +approved/);
    const brief = place.note("brief");
    expect(brief).toContain("You review submission 1 of Dibs task 0001");
    expect(brief).toMatch(/<task-data of="task 0001">\nTurn the flag on/);
    expect(brief).toContain("Did it");
    expect(brief).toContain("check test: passed");
    expect(brief).toContain("flag.ts +1 -1");
    expect(brief).toContain('{"verdict": "approve"');
    expect(place.note("patch")).toContain("+export const flag = true;");
    expect(place.note("flag.ts")).toBe("export const flag = true;\n");
    const { task } = await dibs.tasks.get({ taskId: id });
    expect(place.note("head").trim()).toBe(task.submission?.commit);
    expect(place.note("env")).toMatch(/^DIBS_REVIEW=1$/m);
    expect(place.note("env")).toMatch(/^DIBS_SUBMISSION=1$/m);
    expect(await reviewsOf(dibs, id)).toMatchObject([
      { kind: "agent", verdict: "approve", comment: "Read all of it", live: false },
    ]);
    expect(task.submission?.stage).toBe("landing");
    // The checkout is gone, for git as well.
    expect(existsSync(place.note("pwd").trim())).toBe(false);
    expect(place.git("worktree", "list")).not.toContain("reviews");
  });

  test("requested changes queue the task again, with the findings", async () => {
    const { place, dibs } = await repository(await placeWithStore(way));
    const id = await submitted(place, dibs);
    const script = verdict("request-changes", "Keep the old flag");
    const { code, out } = await place.dibs(reviewer(script, "--once", "--json"));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      taskId: id,
      submission: 1,
      outcome: "completed",
      reason: "changes requested",
    });
    const { task } = await dibs.tasks.get({ taskId: id });
    expect(task).toMatchObject({ state: "queued", returnCount: 1, retryCount: 0 });
    expect(await reviewsOf(dibs, id)).toMatchObject([{ comment: "Keep the old flag" }]);
    expect(await place.says(["review", id])).toContain("changes requested by agent:");
  });
});

test("exit 0 without a verdict says nothing: the review is released, and after three a person is asked", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  for (let count = 0; count < 3; count++) {
    // Each runner has a session of its own: who gave a review back does not get it again.
    const { code, out, err } = await place.dibs(reviewer("echo looks good", "--until-empty"));
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining("looks good") });
    expect(out).toMatch(/0001 released: no verdict in the result file/);
  }
  const reviews = await reviewsOf(dibs, id);
  expect(reviews.map(({ verdict: given }) => given)).toEqual([null, null, null]);
  expect(await place.says(["inbox"])).toContain(`dibs review ${id}`);
  const { code: nothing, err: why } = await place.dibs(reviewer("true", "--once"));
  expect({ nothing, why }).toEqual({
    nothing: 5,
    why: "No submission waits for a review by this agent. Run: dibs review\n",
  });
  expect((await dibs.tasks.get({ taskId: id })).task.state).toBe("submitted");
});

test.each([
  [
    "a verdict with another exit code",
    `${verdict("approve", "x")}; exit 3`,
    "the command exited with code 3",
  ],
  ["a verdict that is none", `echo '{"verdict": "maybe"}' > $DIBS_RESULT_FILE`, "the result file is not"],
  ["changes without findings", verdict("request-changes", " "), "changes requested without findings"],
])("%s does not count", async (_what, script, reason) => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  const { out } = await place.dibs(reviewer(script, "--once"));
  expect(out).toContain(`${id} released: ${reason}`);
  expect(await reviewsOf(dibs, id)).toMatchObject([{ verdict: null, live: false }]);
});

test("a reviewer that is killed frees its review, and another one gets it", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  const first = place.begin(reviewer(`echo $$ > "$NOTES/first"; exec sleep 600`));
  await place.noted("first");
  expect(await reviewsOf(dibs, id)).toMatchObject([{ live: true }]);
  expect(await place.says(["review"])).toMatch(/an agent .* run-\d+/);
  await first.kill();
  const { code, out } = await place.dibs(reviewer(verdict("approve", "Fine"), "--once"));
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("approved") });
  expect(await reviewsOf(dibs, id)).toMatchObject([
    { epoch: 1, verdict: null },
    { epoch: 2, verdict: "approve" },
  ]);
  // What the first one left behind is removed by the next.
  expect(readdirSync(join(place.cwd, ".dibs/reviews"))).toEqual([".gitignore"]);
});

test("a stop releases the review", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  const running = place.begin(reviewer(`echo on > "$NOTES/on"; exec sleep 600`));
  await place.noted("on");
  await running.signalTwice("SIGTERM");
  expect((await running.ended).out).toContain(`${id} released: stopped`);
  expect(await reviewsOf(dibs, id)).toMatchObject([{ verdict: null, live: false }]);
});

test("two reviewers at once: the first verdict counts, and the other one is told", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  const agent = place.begin(
    reviewer(
      `echo on > "$NOTES/on"; trap '' TERM; ${waitFor("go")}; ${verdict("approve", "Fine")}`,
      "--once",
    ),
  );
  await place.noted("on");
  await place.says(["reject", id, "I", "was", "first"]);
  place.leave("go");
  const { code, out } = await agent.ended;
  expect(code).toBe(1);
  expect(out).toMatch(/0001 lost: Submission 1 of task 0001 was sent back by user:/);
  expect(await reviewsOf(dibs, id)).toMatchObject([{ verdict: null }, { verdict: "request-changes" }]);
});

test("the author's session cannot review, nor another one of its token", async () => {
  const { place, dibs } = await repository(await placeWithStore("server"));
  const { token } = await place.json(["token", "create", "--name", "one", "--role", "worker"]);
  const { token: other } = await place.json(["token", "create", "--name", "two", "--role", "worker"]);
  const { task } = await dibs.tasks.create({ title: "Turn the flag on", prompt: "x" });
  await place.says(["claim", task.id, "--session", "author", "--start", "--token", token]);
  await place.says(["submit", task.id, "done", "--session", "author", "--token", token]);
  await inspect(dibs, task.id);
  const approve = (by: string) => place.dibs(reviewer(verdict("approve", "Fine"), "--once", "--token", by));
  expect((await approve(token)).code).toBe(5);
  await place.dibs(["claim", "--session", "second", "--token", token]);
  const second = { env: { DIBS_SESSION: "second" } };
  expect(await place.dibs(["approve", task.id, "--token", token], second)).toMatchObject({
    code: 4,
    err: expect.stringContaining("SELF_REVIEW"),
  });
  expect(await approve(other)).toMatchObject({ code: 0 });
  await until(
    "it is approved",
    async () => (await dibs.tasks.submission({ taskId: task.id })).submission.approved,
  );
});

test("a paused project gives no reviews, and says so, although a lander is alive", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const id = await submitted(place, dibs);
  const { task } = await dibs.tasks.create({ title: "Not looked at yet", prompt: "x" });
  await place.says(["work", "--once", "--no-land", "--", ...sh("echo new > new.ts")]);
  await place.says(["project", "pause"]);
  expect((await dibs.tasks.submission({ taskId: task.id })).submission.stage).toBe("checking");
  const asked = await place.dibs(reviewer(verdict("approve", "Fine"), "--once"));
  expect([asked.code, asked.err]).toEqual([
    5,
    expect.stringContaining("project paused. Run: dibs project resume"),
  ]);
  await place.dibs(reviewer(verdict("approve", "Fine"), "--until-empty"));
  expect(await reviewsOf(dibs, id)).toEqual([]);
  await place.says(["project", "resume"]);
  expect((await place.dibs(reviewer(verdict("approve", "Fine"), "--once"))).code).toBe(0);
});

test("a relative command is the reviewer's own, not the submission's", async () => {
  const { place, dibs } = await repository(await placeWithStore());
  const { task } = await dibs.tasks.create({ title: "Replace the reviewer", prompt: "x" });
  const evil = `printf '#!/bin/sh\ntouch "$NOTES/evil"\n' > judge.sh; chmod +x judge.sh`;
  await place.says(["work", "--once", "--no-land", "--", ...sh(evil)]);
  await inspect(dibs, task.id);
  writeFileSync(join(place.cwd, "judge.sh"), `#!/bin/sh\n${verdict("request-changes", "No")}\n`, {
    mode: 0o755,
  });
  const { out } = await place.dibs(["work", "--review", "--no-land", "--once", "--", "./judge.sh"]);
  expect(out).toContain("changes requested");
  expect(place.has("evil")).toBe(false);
});
