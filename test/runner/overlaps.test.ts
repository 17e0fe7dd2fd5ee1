// What worktrees have really changed: reported while the command runs, and compared with those of other tasks.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gitEnv, hasGit, repository } from "./repository.js";
import { stage, tempDir, until } from "./support.js";

/** Commits one file, edits another, adds a third, and waits. */
const agent = (go: string) => `
const { execFileSync } = require("node:child_process");
const { existsSync, writeFileSync } = require("node:fs");
const git = (...args) => execFileSync("git", args);
writeFileSync("shared.txt", process.env.DIBS_TASK);
git("add", "shared.txt");
git("commit", "--quiet", "-m", "work");
writeFileSync("file.txt", process.env.DIBS_TASK);
writeFileSync("own-" + process.env.DIBS_TASK + ".txt", "");
const timer = setInterval(() => existsSync(${JSON.stringify(go)}) && clearInterval(timer), 20);
`;

test.skipIf(!hasGit)(
  "two worktrees that change the same files are found while their commands run",
  async () => {
    const here = await stage();
    const root = repository();
    const tasks = [await here.add("one"), await here.add("two")];
    const go = join(tempDir(), "go");
    const file = join(tempDir(), "agent.cjs");
    writeFileSync(file, agent(go));
    const runner = here.work({
      command: [process.execPath, file],
      concurrency: 2,
      untilIdle: true,
      worktree: { root },
      env: { ...process.env, ...gitEnv },
      timings: { changedEveryMs: 100 },
    });
    const conflicts = async () => (await here.dibs.tasks.conflicts({})).conflicts;
    await until("all files are reported", async () => {
      const events = await here.dibs.events.list({ limit: 1000 });
      return events.events.some(({ type }) => type === "task:overlap");
    });
    const [conflict, ...others] = await conflicts();
    expect(others).toEqual([]);
    expect(conflict!.tasks.map(({ taskId }) => taskId).sort()).toEqual(tasks.map(({ id }) => id).sort());
    expect(["file.txt", "shared.txt"]).toEqual(expect.arrayContaining(conflict!.paths));
    const { reasons } = await here.dibs.tasks.explain({ taskId: tasks[0]!.id });
    expect(reasons).toContainEqual(expect.objectContaining({ code: "OVERLAPS", taskIds: [tasks[1]!.id] }));
    const { notifications } = await here.dibs.notifications.list({ unread: true, limit: 100 });
    expect(notifications.filter(({ type }) => type === "TASKS_OVERLAP")).toHaveLength(1);
    expect(existsSync(go)).toBe(false);
    writeFileSync(go, "");
    expect(await runner.done).toMatchObject({ completed: 2 });
    expect(await conflicts()).toEqual([]);
  },
);
