// `dibs work` as people start it: what becomes of tasks, what is shown, and how it ends.

import { describe, expect, test } from "vitest";
import { ways } from "./desk.js";
import { gone, isRunning, openPlace, type Place, placeWithStore, sh, until, waitFor } from "./run-place.js";

const work = (place: Place, flags: string[], script: string) =>
  place.dibs(["work", ...flags, "--", ...sh(script)]);

describe.each(ways)("%s", (way) => {
  test("every task is run once and reported: the result file, the output's end, a failure's last words", async () => {
    const place = await openPlace(way);
    await place.add(
      { title: "First", prompt: "say it" },
      { title: "Second", prompt: "leave a file" },
      { title: "Third", prompt: "fail", maxRetries: 0 },
      { title: "Fourth", prompt: "leave JSON" },
    );
    const { code, out, err } = await work(
      place,
      ["--until-empty", "-n", "2", "--bare-prompt"],
      `echo $DIBS_TASK >> "$NOTES/ran"; read -r prompt; echo "told: $prompt"
       case $DIBS_TASK in
         0002) echo "from the file" > "$DIBS_RESULT_FILE";;
         0003) echo "it broke" >&2; exit 3;;
         0004) echo '{"output": "both", "filesCreated": ["a.ts"]}' > "$DIBS_RESULT_FILE";;
       esac`,
    );
    // Something failed.
    expect(code).toBe(1);
    const [ends, summary] = out.split("\n\n");
    expect(summary).toMatch(/^TASK +RESULT +ATTEMPTS +TITLE +REASON\n/);
    expect(summary).toMatch(/^0003 +failed +1 +Third +exited with code 3$/m);
    expect(summary).toMatch(
      /\n3 completed, 1 failed; 4 attempts in \d+\w\n$|\n1 failed, 3 completed; 4 attempts/,
    );
    expect(ends!.trimEnd().split("\n").sort()).toEqual([
      "0001 completed",
      "0002 completed",
      "0003 failed: exited with code 3",
      "0004 completed",
    ]);
    for (const line of ["0001 First", "0001 │ told: say it", "0003 │ it broke"]) expect(err).toContain(line);
    expect(place.note("ran").trim().split("\n").sort()).toEqual(["0001", "0002", "0003", "0004"]);
    expect((await place.task("0001")).result.output).toBe("told: say it");
    expect((await place.task("0002")).result.output.trim()).toBe("from the file");
    expect(await place.task("0003")).toMatchObject({
      state: "failed",
      error: expect.stringMatching(/code 3[\s\S]*it broke/),
    });
    expect((await place.task("0004")).result).toMatchObject({ output: "both", filesCreated: ["a.ts"] });
    expect(await place.says(["show", "0002", "--log"])).toBe("told: leave a file\n");
    expect((await place.json(["show", "0003", "--log"])).text).toContain("it broke");
    expect(
      (await place.json(["sessions"])).sessions.filter((each: { endedAt: string | null }) => !each.endedAt),
    ).toEqual([]);
  });

  test("--once runs one: 0 for a success, 1 for a failure, 5 when there is none", async () => {
    const place = await openPlace(way);
    await place.add({ title: "One", prompt: "x" }, { title: "Two", prompt: "x", maxRetries: 0 });
    expect((await work(place, ["--once", "-q"], "true")).code).toBe(0);
    expect((await place.task("0002")).state).toBe("queued");
    const failed = await work(place, ["--once", "--json"], "exit 7");
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.out)).toMatchObject({ taskId: "0002", outcome: "failed", exitCode: 7 });
    expect(await work(place, ["--once"], "true")).toEqual({
      code: 5,
      out: "",
      err: "Nothing to claim: 1 failed. Run: dibs retry 0002\n",
    });
  });

  test("only tasks with its labels; quiet; and lines of JSON", async () => {
    const place = await openPlace(way);
    await place.add(
      { title: "Docs", prompt: "x", labels: ["docs"] },
      { title: "Code", prompt: "x", labels: ["code"] },
      { title: "Both", prompt: "x", labels: ["docs", "other"] },
    );
    const { code, out, err } = await work(
      place,
      ["--until-empty", "-l", "docs", "--quiet", "--json"],
      "echo loud",
    );
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.pop().tasks.map((task: { attempts: number }) => task.attempts)).toEqual([1, 1]);
    expect(lines.map(({ taskId, outcome, exitCode }) => [taskId, outcome, exitCode])).toEqual([
      ["0001", "completed", 0],
      ["0003", "completed", 0],
    ]);
    expect(err).not.toContain("loud");
    expect((await place.task("0002")).state).toBe("queued");
    expect((await place.task("0003")).result.output).toBe("loud");
  });

  test("the command can speak for itself: progress, a question and its answer, parts, done", async () => {
    const place = await openPlace(way);
    await place.add({ title: "Whole", prompt: "x" });
    const running = place.begin([
      "work",
      "--until-idle",
      "--",
      ...sh(
        `if [ $DIBS_TASK = 0001_t1 ]; then dibs done "by itself" -c part.ts; exit; fi
         if [ $DIBS_EPOCH = 1 ]; then
           dibs progress "half way" --percent 50
           answer=$(dibs ask --wait "Teal or orange?" --option teal) || exit 1
           echo "answered $answer" | tee "$NOTES/answer"
           dibs add "A part" --parent $DIBS_TASK --title Part
         else
           echo "again, knowing $DIBS_RESPONSE"
         fi`,
      ),
    ]);
    await until("it asks", async () => (await place.json(["inbox"])).questions?.length === 1);
    expect((await place.task("0001")).state).toBe("awaiting_response");
    expect((await place.task("0001")).claim.progress).toMatchObject({ note: "half way", percent: 50 });
    await place.says(["answer", "0001", "teal"]);
    expect(await place.noted("answer")).toBe("answered teal");
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toEqual([
      "0001 released: waits for its subtasks",
      "0001_t1 reported",
      "0001 completed",
    ]);
    expect((await place.task("0001_t1")).result).toMatchObject({
      output: "by itself",
      filesCreated: ["part.ts"],
    });
    expect((await place.task("0001")).result.output).toBe("again, knowing teal");
  });

  test("a task that is cancelled is ended, with all that the command has started", async () => {
    const place = await openPlace(way);
    await place.add({ title: "One", prompt: "x" });
    const running = place.begin(["work", "--once", "--", ...sh('sleep 1000 & echo $! > "$NOTES/pid"; wait')]);
    const pid = Number(await place.noted("pid"));
    await place.says(["cancel", "0001", "--reason", "not wanted"]);
    await gone(pid);
    expect(await running.ended).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^0001 lost: .*cancelled.*\n$/),
    });
    expect((await place.task("0001")).state).toBe("cancelled");
  });

  test("told to stop it lets what runs finish, claims no more, and ends well", async () => {
    const place = await openPlace(way);
    await place.add({ title: "One", prompt: "x" }, { title: "Two", prompt: "x" });
    const running = place.begin([
      "work",
      "--",
      ...sh(`echo $$ > "$NOTES/pid"; ${waitFor("go")}; echo finished`),
    ]);
    await place.noted("pid");
    running.signal("SIGTERM");
    place.leave("go");
    expect(await running.ended).toMatchObject({ code: 0, out: "0001 completed\n" });
    expect((await place.task("0001")).result.output).toBe("finished");
    expect(await place.task("0002")).toMatchObject({ state: "queued", epoch: 0 });
  });

  test("told twice it ends at once, and gives back what it had", async () => {
    const place = await openPlace(way);
    await place.add({ title: "One", prompt: "x" });
    const running = place.begin([
      "work",
      "--",
      ...sh(`trap '' TERM; echo $$ > "$NOTES/pid"; ${waitFor("never")}`),
    ]);
    const pid = Number(await place.noted("pid"));
    await running.signalTwice("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0, out: "0001 released: stopped\n" });
    expect(isRunning(pid)).toBe(false);
    expect(await place.task("0001")).toMatchObject({ state: "queued", lostCount: 0, claim: null });
  });

  test("told to stop while a question is open it does not wait for the answer, which the next attempt gets", async () => {
    const place = await openPlace(way);
    await place.add({ title: "One", prompt: "x" });
    const asking = `[ -z "$DIBS_RESPONSE" ] || { echo "told $DIBS_RESPONSE"; exit; }
      echo $$ > "$NOTES/pid"; dibs ask --wait "Which?"`;
    const running = place.begin(["work", "--", ...sh(asking)]);
    await until("it asks", async () => (await place.json(["inbox"])).questions?.length === 1);
    const pid = Number(await place.noted("pid"));
    running.signal("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0, out: "0001 awaiting: stopped\n" });
    expect(isRunning(pid)).toBe(false);
    await place.says(["answer", "0001", "this one"]);
    expect((await work(place, ["--once", "-q"], asking)).code).toBe(0);
    expect((await place.task("0001")).result.output).toBe("told this one");
  });

  test("a worker without work waits, and is told to stop", async () => {
    const place = await placeWithStore(way);
    const running = place.begin(["work", "--", "cat"]);
    await until("it is there", async () => (await place.json(["sessions"])).sessions.length === 1);
    await place.says(["add", "Late work"]);
    await running.says("0001 completed");
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(0);
  });

  test("a runner inside a task is another session: the outer one keeps its claim", async () => {
    const place = await openPlace(way);
    await place.add({ title: "Outer", prompt: "x" });
    const inner = `dibs run --prompt inner -- sh -c 'echo inner $DIBS_SESSION' && echo "outer $DIBS_SESSION"`;
    const { code, out } = await work(place, ["--once"], inner);
    expect([code, out]).toEqual([0, "0001 completed\n"]);
    const [of, by] = [await place.task("0002"), await place.task("0001")];
    expect([of.state, by.state]).toEqual(["completed", "completed"]);
    expect(by.result.output).toMatch(/outer run-/);
    expect(by.lostCount).toBe(0);
  });
});

test("a command that cannot be started gives its task back and says so", async () => {
  const place = await openPlace();
  await place.add({ title: "One", prompt: "x" });
  const { code, err } = await place.dibs(["work", "--", "./no-such-program"]);
  expect(code).toBe(2);
  expect(err).toContain("Cannot start the command");
  expect(await place.task("0001")).toMatchObject({ state: "queued", claim: null });
});

test("an agent that is not installed is reported at once, before anything is claimed or added", async () => {
  const place = await placeWithStore();
  const env = { PATH: "/nowhere" };
  const said =
    "dibs: Cannot start the command: claude is not on the PATH. (VALIDATION_FAILED)\nInstall it, or name another program: dibs work -- /path/to/claude\n";
  for (const argv of [
    ["work", "--agent", "claude"],
    ["run", "--agent", "claude", "--prompt", "x"],
    ["work", "--", "claude", "--print"],
  ]) {
    expect(await place.dibs(argv, { env })).toEqual({ code: 2, out: "", err: said });
  }
  expect((await place.json(["list"])).tasks).toEqual([]);
  expect((await place.json(["sessions"])).sessions).toEqual([]);
});

test("what is missing or wrong is a matter of usage", async () => {
  const place = await placeWithStore();
  for (const args of [
    ["work"],
    ["work", "-n", "0", "--", "true"],
    ["work", "-n", "x", "--", "true"],
    ["work", "--agent", "nobody"],
  ]) {
    expect((await place.dibs(args)).code, args.join(" ")).toBe(2);
  }
});

test("the store that was named is the one the command uses, from whichever directory", async () => {
  const place = await openPlace();
  const db = ["--db", "../other.db"];
  await place.says(["add", "Elsewhere", ...db]);
  const script = 'cd / && dibs progress "from here" && dibs show --json > "$NOTES/shown"';
  expect((await place.dibs(["work", "--once", ...db, "--", ...sh(script)])).code).toBe(0);
  expect(JSON.parse(place.note("shown")).task.claim.progress.note).toBe("from here");
});
