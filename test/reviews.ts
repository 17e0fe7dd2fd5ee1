// Submissions that wait for a review, without git: what a lander would record is recorded by hand.

import type { Dibs } from "../src/client/client.js";

const target = "main";
const repository = "a".repeat(40);
export const commitOf = (number: number) => String(number).padStart(40, "c");

export const patchText = `diff --git a/flag.ts b/flag.ts
--- a/flag.ts
+++ b/flag.ts
@@ -1 +1 @@
-export const flag = false;
+export const flag = true;
`;

type Settings = NonNullable<NonNullable<Parameters<Dibs["projects"]["update"]>[0]>["settings"]>;
type Land = NonNullable<Settings["land"]>;

/** Whose approval submissions of the project need. */
export async function reviewedBy(dibs: Dibs, review: Land["review"], more: Land = {}): Promise<void> {
  await dibs.projects.update({ settings: { land: { target, repository, review, ...more } } });
}

interface Submitting {
  sessionId?: string;
  commit?: string;
  summary?: string;
}

export async function submit(dibs: Dibs, taskId: string, submitting: Submitting = {}): Promise<void> {
  const { sessionId = "author", commit = commitOf(1), summary = "Turned the flag on" } = submitting;
  await dibs.tasks.claim({ taskId, sessionId, register: true, start: true });
  await dibs.tasks.submit({ taskId, sessionId, commit, summary });
}

interface Inspecting {
  submission?: number;
  reviewPaths?: string[];
  patch?: string;
  omitted?: number;
  base?: string;
}

/** What the lander records after it has merged and checked a submission alone. */
export async function inspect(dibs: Dibs, taskId: string, inspecting: Inspecting = {}): Promise<void> {
  const { submission = 1, reviewPaths = [], patch = patchText, omitted = 0, base = commitOf(8) } = inspecting;
  const { project } = await dibs.projects.get({});
  const { repository: own } = project.settings.land;
  const place = { repository: own ?? repository, target };
  const { lease } = await dibs.landings.lease({ ...place, holder: "test" });
  const { epoch } = lease;
  const { landing } = await dibs.landings.open({ ...place, epoch, tasks: [] });
  const tree = commitOf(7);
  const check = { name: "test", state: "passed" as const, exitCode: 0, durationMs: 1_200 };
  await dibs.landings.checks({
    id: landing.id,
    epoch,
    tasks: [{ taskId, submission }],
    checks: [{ ...check, tree, ranBy: "test", logTail: "" }],
  });
  await dibs.landings.diff({
    id: landing.id,
    epoch,
    taskId,
    submission,
    diff: {
      base,
      files: [{ path: "flag.ts", insertions: 1, deletions: 1 }],
      fileCount: 1,
      insertions: 1,
      deletions: 1,
      reviewPaths,
      patchId: null,
    },
    patch: { text: patch, omitted },
  });
  await dibs.landings.dropped({ id: landing.id, epoch });
}

/** A task that waits for a review. */
export async function waiting(dibs: Dibs, title: string, inspecting: Inspecting & Submitting = {}) {
  const { task } = await dibs.tasks.create({ title, prompt: `${title}, everywhere.` });
  await submit(dibs, task.id, inspecting);
  await inspect(dibs, task.id, inspecting);
  return task.id;
}
