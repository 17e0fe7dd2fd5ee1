// The doctor through the built program: it names what the dead hold and what ended tasks left, changes nothing, and mends with --fix.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPlace, sh, waitFor } from "./run-place.js";

test("a holder that was killed is named, freed by --fix, and its task can be claimed", async () => {
  const place = await openPlace();
  await place.add({ title: "One", prompt: "x" }, { title: "Two", prompt: "x" });
  await place.says(["claim", "0002", "--session", "somebody", "--start"]);
  const runner = place.begin([
    "work",
    "--session",
    "agent-1",
    "--",
    ...sh(`: > "$NOTES/begun"; ${waitFor("go")}`),
  ]);
  await place.becomes("0001", "running");
  expect((await place.dibs(["doctor"])).out).toMatch(/ok +claims +2 in flight\n/);
  await runner.kill();

  const { code, out } = await place.dibs(["doctor"]);
  expect(out).toMatch(/warn +claims +2 in flight; no process runs for agent-1 \(0001\)\n/);
  expect(code).toBe(0);
  // A look changes nothing.
  expect(await place.task("0001")).toMatchObject({ state: "running", lostCount: 0 });
  expect((await place.json(["doctor"])).findings).toContainEqual(
    expect.objectContaining({ check: "claims", status: "warn" }),
  );

  const fixed = await place.dibs(["doctor", "--fix"]);
  expect(fixed.out).toMatch(
    /fixed +claims +1 returned to the queue, of dead processes: 0001\s+\(agent-1\)\n/,
  );
  expect(fixed.code).toBe(0);
  expect(await place.task("0001")).toMatchObject({ state: "queued", lostCount: 1, claim: null });
  expect((await place.task("0002")).state).toBe("running");
  expect((await place.dibs(["doctor"])).out).toMatch(/ok +claims +1 in flight\n/);
  expect((await place.dibs(["claim", "0001", "--session", "other"])).code).toBe(0);
});

test("worktrees of ended tasks are removed when they are merged and clean, and only those", async () => {
  const place = await openPlace();
  writeFileSync(join(place.cwd, ".git/info/exclude"), "report.md\n.dibs/\nnode_modules/\n");
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  await place.add(
    { title: "Merged and clean", prompt: "x" },
    { title: "Merged, with something not committed", prompt: "x" },
    { title: "Merged, with a file that git ignores", prompt: "x" },
    { title: "Not merged", prompt: "x" },
    { title: "Not ended", prompt: "x" },
    { title: "Cancelled with nothing done", prompt: "x" },
  );
  const script = `
    case $DIBS_TASK in
      0005 | 0006) echo '{"error": "no"}' > "$DIBS_RESULT_FILE"; exit 1 ;;
    esac
    echo "$DIBS_TASK" > "file-$DIBS_TASK"; git add .; git commit --quiet -m "$DIBS_TASK"
    case $DIBS_TASK in
      0001) mkdir node_modules; echo again > node_modules/package ;;
      0002) echo precious > notes.txt ;;
      0003) echo precious > report.md ;;
    esac`;
  await place.says(["work", "--worktree", "--until-idle", "-n", "2", "-q", "--", ...sh(script)]);
  await place.says(["cancel", "0006"]);
  const isThere = (id: string) => existsSync(join(place.cwd, ".dibs/worktrees", id));
  const all = ["0001", "0002", "0003", "0004", "0005", "0006"];
  expect(all.filter(isThere)).toEqual(all);
  expect((await place.dibs(["doctor"])).out).toMatch(
    /warn +worktrees +1 of ended tasks, merged and clean: 0006\n/,
  );

  place.git("merge", "--quiet", "--no-edit", "dibs/0001", "dibs/0002", "dibs/0003");
  const { code, out } = await place.dibs(["doctor"]);
  expect(code).toBe(0);
  expect(out).toMatch(/warn +worktrees +2 of ended tasks, merged and clean: 0001, 0006\n/);
  expect(all.filter(isThere)).toEqual(all);

  const fixed = (await place.json(["doctor", "--fix"])).findings as { check: string; message: string }[];
  const [removed, kept] = fixed.filter(({ check }) => check === "worktrees").map(({ message }) => message);
  expect(removed).toBe("2 removed of ended tasks, merged and clean: 0001, 0006");
  expect(kept).toBe(
    "3 kept of ended tasks: 0002 (it has changes that are not committed), 0003 (git ignores report.md in it), 0004 (its commits are not merged)",
  );
  expect(all.filter(isThere)).toEqual(["0002", "0003", "0004", "0005"]);
  expect(place.git("branch", "--list", "dibs/*", "--format=%(refname:short)").split("\n")).toEqual([
    "dibs/0002",
    "dibs/0003",
    "dibs/0004",
    "dibs/0005",
  ]);
  expect(place.git("show", "HEAD:file-0001")).toBe("0001");
});

test("the worktree of a task whose submission landed is removed, although the target has another commit", async () => {
  const place = await openPlace();
  writeFileSync(join(place.cwd, ".git/info/exclude"), "report.md\n.dibs/\n");
  place.git("commit", "--quiet", "--allow-empty", "-m", "first");
  const target = place.git("branch", "--show-current");
  await place.add({ title: "Landed", prompt: "x" });
  await place.says(["project", "set", "land.target", target]);
  const script = "echo b > b.txt; echo mine > report.md";
  await place.says(["work", "--until-idle", "--no-land", "-q", "--", ...sh(script)]);
  // What git ignores keeps it after the landing.
  await place.says(["land", "--once"]);
  const path = join(place.cwd, ".dibs/worktrees/0001");
  expect(existsSync(path)).toBe(true);
  rmSync(join(path, "report.md"));
  const { findings } = await place.json(["doctor", "--fix"]);
  expect(findings).toContainEqual({
    check: "worktrees",
    status: "fixed",
    message: "1 removed of ended tasks, merged and clean: 0001",
  });
  expect(existsSync(path)).toBe(false);
  expect(place.git("branch", "--list", "dibs/*")).toBe("");
  expect(place.git("show", `${target}:b.txt`)).toBe("b");
});
