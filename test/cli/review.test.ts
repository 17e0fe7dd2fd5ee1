// Reviews by people: `dibs review`, `approve` and `reject`, in process and at a real terminal.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Dibs } from "../../src/client/client.js";
import { openDibs } from "../../src/compose.js";
import { commitOf, inspect, patchText, reviewedBy, submit, waiting } from "../reviews.js";
import { afterwards } from "../support.js";
import { type Desk, deskWithStore, ways } from "./desk.js";
import { keys, type } from "./pty.js";
import { type Place, placeWithStore } from "./run-place.js";

const open = async (path: string): Promise<Dibs> => {
  const dibs = await openDibs({ path, detached: true });
  afterwards(() => dibs.close());
  return dibs;
};

const hostile = `diff --git a/x b/x
+\u001b[2J\u001b]0;title\u0007 \u009b31m red
+if (admin\u202e \u2066) {\u2069 grant
+tab\there\rover
+${"x".repeat(1_000_000)}end
`;

/** Nothing that a terminal obeys or hides. */
const isHarmless = (text: string) => !/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(text);

describe.each(ways)("%s", (way) => {
  const prepare = async (): Promise<{ desk: Desk; dibs: Dibs }> => {
    const desk = await deskWithStore(way);
    return { desk, dibs: await open(desk.database) };
  };

  test("a verdict is for the submission that was the last one when the command was called", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "human");
    const id = await waiting(dibs, "Turn the flag on");
    expect((await desk.dibs(["approve", id, "--submission", "7"])).err).toContain("INVALID_STATE");
    await desk.says(["reject", id, "again"]);
    await submit(dibs, id, { commit: commitOf(2) });
    const stale = await desk.dibs(["approve", id, "--submission", "1"]);
    expect(stale).toMatchObject({ code: 1, err: expect.stringContaining("STALE_SUBMISSION") });
    await inspect(dibs, id, { submission: 2 });
    expect(await desk.says(["approve", id])).toContain("approved submission 2 of 0001; it lands next");
  });

  test("with DIBS_SESSION it is the verdict of an agent, and --own is of no use to it", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "any");
    const id = await waiting(dibs, "Turn the flag on");
    const author = { env: { DIBS_SESSION: "author" } };
    for (const args of [
      ["approve", id],
      ["approve", id, "--own"],
      ["reject", id, "no"],
    ]) {
      const refused = await desk.dibs(args, author);
      expect(refused).toMatchObject({ code: 4, err: expect.stringContaining("SELF_REVIEW") });
    }
    await dibs.sessions.register({ id: "critic" });
    const { submission } = await desk.json(["approve", id], { env: { DIBS_SESSION: "critic" } });
    expect(submission.reviews).toMatchObject([{ kind: "agent", sessionId: "critic", verdict: "approve" }]);
  });

  test("where a person decides, an agent is refused", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "human");
    const id = await waiting(dibs, "Turn the flag on");
    await dibs.sessions.register({ id: "critic" });
    const refused = await desk.dibs(["approve", id], { env: { DIBS_SESSION: "critic" } });
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining("A person decides.") });
  });

  test("--json has the task, the submission, the rounds before it and the patch", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "human");
    const id = await waiting(dibs, "Turn the flag on");
    await desk.says(["reject", id, "-"], { input: "Keep the\nold flag\n" });
    await submit(dibs, id, { commit: commitOf(2) });
    expect(await desk.json(["review", id])).toMatchObject({ submission: { number: 2 }, patch: null });
    await inspect(dibs, id, { submission: 2 });
    expect(await desk.json(["review", id])).toMatchObject({
      task: { id },
      submission: { number: 2, reviewNeeded: "human" },
      earlier: [{ number: 1, end: { reason: "changes-requested", detail: "Keep the\nold flag\n" } }],
      patch: { patch: patchText, omitted: 0 },
    });
    expect(await desk.json(["review"])).toMatchObject({ queue: [{ taskId: id, reviewNeeded: "human" }] });
  });

  test("hostile text of a patch, a summary and a path is shown as text", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "human");
    const id = await waiting(dibs, "Turn\u001b[2J it\u202e on", {
      patch: hostile,
      summary: "did\u001b[31m it\u202e",
      reviewPaths: ["a\u001b[2Jb"],
    });
    const out = await desk.says(["review", id]);
    expect(isHarmless(out)).toBe(true);
    expect(out).toContain("+<U+001B>[2J<U+001B>]0;title<U+0007> <U+009B>31m red");
    expect(out).toContain("+if (admin<U+202E> <U+2066>) {<U+2069> grant");
    expect(out).toContain("+tab    here<U+000D>over");
    expect(out).toContain("xxxend\n");
    for (const args of [["review"], ["show", id], ["inbox"]])
      expect(isHarmless(await desk.says(args)), args.join(" ")).toBe(true);
  });

  test("a review has no effect on a server's shared token: people and agents of one machine review each other", async () => {
    const { desk, dibs } = await prepare();
    await reviewedBy(dibs, "any");
    await dibs.tasks.create({ prompt: "Turn the flag on" });
    await desk.says(["claim", "0001", "--session", "author", "--start"]);
    await desk.says(["done", "0001", "did it", "--session", "author"]);
    await inspect(dibs, "0001");
    expect(await desk.says(["approve", "0001"])).toContain("it lands next");
  });
});

describe("at a terminal", () => {
  const prepare = async (patch?: string): Promise<Place> => {
    const place = await placeWithStore();
    const dibs = await open(join(place.cwd, ".dibs/dibs.db"));
    await reviewedBy(dibs, "human");
    await waiting(dibs, "Turn the flag on", patch === undefined ? {} : { patch });
    return place;
  };

  test("$PAGER gets the page, with its arguments", async () => {
    const place = await prepare();
    place.program("my-pager", 'cat > "$NOTES/paged"; echo "paged with $1"');
    const terminal = type(place, ["review", "0001"], { env: { PAGER: "my-pager --fast" } });
    await terminal.shows("paged with --fast");
    expect(await terminal.ended).toBe(0);
    const paged = place.note("paged");
    expect(paged).toContain("0001  Turn the flag on");
    expect(paged).toContain("\u001b[32m+export const flag = true;\u001b[0m");
  });

  test("Ctrl-C belongs to the pager, and the terminal comes back after it", async () => {
    const place = await prepare();
    place.program(
      "my-pager",
      `trap 'echo interrupted; exit 0' INT; cat > /dev/null; echo ready; while :; do sleep 0.05; done`,
    );
    const terminal = type(place, ["review", "0001"], { env: { PAGER: "my-pager" } });
    await terminal.shows("ready");
    terminal.press(keys.ctrlC);
    await terminal.shows("interrupted");
    expect(await terminal.ended).toBe(0);
  });

  test.each([["cat"], [""], ["no-such-pager"]])("with PAGER=%j it is printed", async (pager) => {
    const place = await prepare(hostile);
    const terminal = type(place, ["review", "0001"], { env: { PAGER: pager }, rows: 40 });
    expect(await terminal.ended).toBe(0);
    expect(terminal.raw).toContain("+if (admin<U+202E> <U+2066>) {<U+2069> grant");
    expect(terminal.raw).not.toContain("\u001b[2J");
    expect(terminal.title).not.toBe("title");
  });

  test("a pager that ends early ends the command", async () => {
    const place = await prepare(hostile);
    const terminal = type(place, ["review", "0001"], { env: { PAGER: "head -n 1" } });
    await terminal.shows("0001  Turn the flag on");
    expect(await terminal.ended).toBe(0);
  });
});
