// An agent as a process of its own: claims tasks, commits what they ask for on a branch from the target, and submits it.
//   agent.mjs <database> <repository> <session> <directory> [<remote>]

import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDibs } from "../../../dist/index.js";
import { keepCommit, pushCommit } from "../../../dist/runner/submission-ref.js";
import { submissionRef } from "../../../dist/runner/target.js";
import { hostId, processStart } from "../../../dist/runtime/liveness.js";

const [database, root, sessionId, directory, remote] = process.argv.slice(2);
const dibs = await openDibs({ path: database });
process.once("disconnect", () => process.exit(0));
await dibs.sessions.register({
  id: sessionId,
  pid: process.pid,
  host: hostId,
  processStartedAt: processStart(process.pid) ?? undefined,
});

const git = (cwd, ...args) => {
  const env = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: cwd };
  return execFileSync("git", ["-C", cwd, ...args], { env, encoding: "utf8", stdio: "pipe" }).trim();
};

/** Git gives up at once when another process has a lock. */
async function patiently(act) {
  for (let failures = 0; ; failures++) {
    try {
      return await act();
    } catch (error) {
      if (failures >= 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20 + 5 * failures));
    }
  }
}

for (;;) {
  const { task, claim } = await dibs.tasks.claimNext({ sessionId, waitMs: 5_000 });
  if (!task) continue;
  const { taskId, epoch } = { taskId: task.id, epoch: claim.epoch };
  await dibs.tasks.start({ taskId, sessionId, epoch });
  const { shared, red } = JSON.parse(task.prompt);
  const number = (task.submission?.number ?? 0) + 1;
  const path = join(directory, `${taskId}-${epoch}`);
  await patiently(() => {
    if (existsSync(path)) rmSync(path, { recursive: true, force: true });
    git(root, "worktree", "prune");
    if (remote) git(root, "fetch", "--quiet", remote, "main");
    git(root, "worktree", "add", "--quiet", "--detach", path, remote ? `${remote}/main` : "main");
  });
  writeFileSync(join(path, `task-${taskId}.txt`), `${taskId}\n`);
  if (shared !== null) appendFileSync(join(path, shared), `${taskId}\n`);
  if (red && task.returnCount === 0) writeFileSync(join(path, `red-${taskId}.txt`), "");
  git(path, "add", "-A");
  const who = ["-c", "user.name=Agent", "-c", "user.email=agent@example.com"];
  await patiently(() => git(path, ...who, "commit", "--quiet", "-m", `work on ${taskId}`));
  const commit = git(path, "rev-parse", "HEAD");
  const ref = submissionRef(task.project, taskId, number);
  await patiently(() => keepCommit(root, { ref, commit }));
  if (remote) await patiently(() => pushCommit(root, { ref, commit, remote, branch: `dibs/${taskId}` }, {}));
  const result = { output: `did ${taskId}` };
  await dibs.tasks
    .submit({
      taskId,
      sessionId,
      epoch,
      commit,
      ...(remote ? { branch: `dibs/${taskId}` } : {}),
      summary: `did ${taskId}`,
      result,
    })
    .catch(() => undefined);
  await patiently(() => git(root, "worktree", "remove", "--force", path));
}
