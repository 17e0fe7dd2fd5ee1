// Runs before each test file. Every file has a home directory of its own: servers keep tokens there, and nobody's settings are read.
// Every test has a temporary directory of its own, which os.tmpdir() returns, here and in the processes that it starts. It is removed
// after a test that passed. After one that failed it is kept, with the error and whatever `onFailure` adds, and its path is printed.

import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeEach, expect, type TestContext } from "vitest";
import { cleanUp, saveEvidence, tempPrefix } from "./support.js";

const root = tmpdir();
const failures = process.env.TEST_FAILURES_DIRECTORY ?? join(root, "dibs-failures");

const { testPath = "" } = expect.getState();
const file = basename(testPath).replace(/\.test\.ts$/, "");
const directory = mkdtempSync(join(root, `${file}-`));
// PostgreSQL refuses to run as root: servers of root's tests run as another user, who must get to their files.
chmodSync(directory, 0o755);
const home = join(directory, "home");
mkdirSync(home);
process.env.HOME = home;
process.env.TMPDIR = directory;

// A store that closes collects garbage (ADR 22). The heap of a process that runs hundreds of test files is large: a third of its
// time went into that. So here it happens only now and then, except where a test says that it matters.
const closingsPerCollection = 25;
if (!globalThis.gc) {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  let closings = 0;
  globalThis.gc = (() => {
    if (process.env.TEST_COLLECT_ALWAYS || ++closings % closingsPerCollection === 0) collect();
  }) as NonNullable<typeof globalThis.gc>;
}

let count = 0;

beforeEach(({ onTestFinished, task }) => {
  const own = join(directory, String(++count));
  mkdirSync(own);
  process.env.TMPDIR = own;
  // Registered first, so it runs last: by then every process of the test has ended.
  onTestFinished(async () => {
    process.env.TMPDIR = directory;
    if (task.result?.state === "fail") await keep(own, task);
    rmSync(own, { recursive: true, force: true, maxRetries: 5 });
  });
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await saveEvidence(process.env.TMPDIR!);
  await cleanUp();
});

afterAll(() => {
  const left = readdirSync(directory).filter((name) => name !== "home" && !name.startsWith(tempPrefix));
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  // The next file runs in the same process.
  process.env.TMPDIR = root;
  expect(left, `${testPath} leaves files in the temporary directory`).toEqual([]);
});

async function keep(own: string, { name, suite, result }: TestContext["task"]): Promise<void> {
  const title = [file, suite?.name, name].filter(Boolean).join(" ");
  const slug = title.replaceAll(/[^\w.-]+/g, "-").slice(0, 100);
  const place = join(failures, `${slug}-${process.pid}-${count}`);
  mkdirSync(place, { recursive: true });
  for (const [from, to] of [
    [own, place],
    [home, join(place, "home")],
  ] as const) {
    try {
      cpSync(from, to, { recursive: true });
    } catch (error) {
      // Such as a socket, which cannot be copied.
      console.error(String(error));
    }
  }
  const errors = result?.errors ?? [];
  const text = errors.map(({ message, stack, diff }) => [message, diff, stack].filter(Boolean).join("\n\n"));
  await writeFile(join(place, "error.txt"), `${title}\n\n${text.join("\n\n")}\n`);
  console.error(`The files of the failed test are in ${place}`);
}
