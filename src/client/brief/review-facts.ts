// All that the store knows and a reviewer needs: the task, its submission, what came of earlier ones, and the patch.

import { DibsError } from "../../contract/error.js";
import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireTask } from "../../contract/shapes.js";
import type { Dibs } from "../client.js";

export type WireSubmission = OutputOf<OperationNamed<"tasks.submission">>["submission"];
export type WirePatch = Pick<OutputOf<OperationNamed<"tasks.patch">>, "patch" | "omitted">;

export interface ReviewFacts {
  task: WireTask;
  submission: WireSubmission;
  /** Submissions before this one, the newest first. */
  earlier: WireSubmission[];
  /** Null: no lander has recorded one of this submission. */
  patch: WirePatch | null;
}

const earlierMax = 5;

/** Of the last submission, unless one is given. */
export async function gatherReview(
  dibs: Dibs,
  on: { project?: string; taskId: string },
  given?: WireSubmission,
): Promise<ReviewFacts> {
  const { task } = await dibs.tasks.get(on);
  const submission = given ?? (await dibs.tasks.submission(on)).submission;
  const [patch, earlier] = await Promise.all([
    patchOf(dibs, on, submission.number),
    earlierThan(dibs, on, submission.number),
  ]);
  return { task, submission, earlier, patch };
}

type On = { project?: string; taskId: string };

async function patchOf(dibs: Dibs, on: On, number: number): Promise<WirePatch | null> {
  const found = await dibs.tasks.patch(on).catch(nullIfMissing);
  if (found?.submission !== number) return null;
  const { patch, omitted } = found;
  return { patch, omitted };
}

async function earlierThan(dibs: Dibs, on: On, number: number): Promise<WireSubmission[]> {
  const numbers = Array.from({ length: Math.min(earlierMax, number - 1) }, (_, at) => number - 1 - at);
  const found = await Promise.all(
    numbers.map((each) => dibs.tasks.submission({ ...on, number: each }).catch(nullIfMissing)),
  );
  return found.flatMap((each) => (each ? [each.submission] : []));
}

function nullIfMissing(error: unknown): null {
  if (error instanceof DibsError && error.code === "NOT_FOUND") return null;
  throw error;
}
