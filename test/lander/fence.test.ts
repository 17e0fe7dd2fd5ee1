// The fence: after a lander has taken over, the one before moves nothing, wherever it was.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Mover } from "../../src/lander/move.js";
import { checkoutsOf, repositoryAt } from "../../src/lander/repository.js";
import { clone, git, newRepository, tempDir, until } from "./support.js";

const place = { target: "main", remote: null };
const newCommit = (root: string) => git(root, "commit-tree", "main^{tree}", "-p", "main", "-m", "a change");

async function landers(root: string) {
  const repository = await repositoryAt(root);
  const mover = () => new Mover(repository, place, async () => undefined);
  return { repository, one: mover(), two: mover() };
}

test.each(["checked out", "not checked out"])(
  "a lander that was replaced moves nothing: %s",
  async (where) => {
    const root = newRepository();
    if (where === "not checked out") git(root, "switch", "--quiet", "--detach");
    const { repository, one, two } = await landers(root);
    await one.takeOver({ holder: "one", epoch: 1 });
    await two.takeOver({ holder: "two", epoch: 2 });
    const [from, to] = [git(root, "rev-parse", "main"), newCommit(root)];
    const checkout =
      (await checkoutsOf(repository)).find(({ branch }) => branch === "refs/heads/main") ?? null;
    await expect(one.move({ from, to, checkout }, { landing: "L1", epoch: 1 })).rejects.toThrow("taken over");
    expect(git(root, "rev-parse", "main")).toBe(from);
    await two.move({ from, to, checkout }, { landing: "L2", epoch: 2 });
    expect(git(root, "rev-parse", "main")).toBe(to);
  },
);

test("a lander that was replaced moves nothing on a remote, although the target is where it was", async () => {
  const seed = newRepository();
  const remote = join(tempDir(), "remote.git");
  git(seed, "clone", "--quiet", "--bare", seed, remote);
  // Each on a machine of its own.
  const [here, there] = [clone(remote), clone(remote)];
  const moverIn = async (root: string) =>
    new Mover(await repositoryAt(root), { target: "main", remote: "origin" }, async () => undefined);
  const [one, two] = [await moverIn(here), await moverIn(there)];
  await one.takeOver({ holder: "one", epoch: 1 });
  await two.takeOver({ holder: "two", epoch: 2 });
  const from = git(remote, "rev-parse", "main");
  const move = (root: string) => ({ from, to: newCommit(root), checkout: null });
  await expect(one.move(move(here), { landing: "L1", epoch: 1 })).rejects.toThrow("taken over");
  expect(git(remote, "rev-parse", "main")).toBe(from);
  const landed = move(there);
  await two.move(landed, { landing: "L2", epoch: 2 });
  expect(git(remote, "rev-parse", "main")).toBe(landed.to);
});

test("a take-over waits for a move that is under way, and then sees it", async () => {
  const root = newRepository();
  const { repository, one, two } = await landers(root);
  await one.takeOver({ holder: "one", epoch: 1 });
  const notes = tempDir();
  const hook = `#!/bin/sh
if [ "$1" = prepared ] && grep -q refs/heads/main; then
  touch ${notes}/there
  until [ -e ${notes}/go ]; do sleep 0.02; done
fi
`;
  mkdirSync(join(root, ".git", "hooks"), { recursive: true });
  writeFileSync(join(root, ".git", "hooks", "reference-transaction"), hook, { mode: 0o755 });
  const [from, to] = [git(root, "rev-parse", "main"), newCommit(root)];
  const [checkout] = await checkoutsOf(repository);
  const moving = one.move({ from, to, checkout: checkout! }, { landing: "L1", epoch: 1 });
  await until("the move is under way", () => existsSync(join(notes, "there")));
  const seen = two.takeOver({ holder: "two", epoch: 2 }).then(() => git(root, "rev-parse", "main"));
  writeFileSync(join(notes, "go"), "");
  await moving;
  expect(await seen).toBe(to);
  expect(git(root, "status", "--porcelain", "--untracked-files=no")).toBe("");
});
