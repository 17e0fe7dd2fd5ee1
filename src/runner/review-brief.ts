// The brief for a reviewer's command: what was submitted, and how to give a verdict.

import { dataRule } from "../client/brief/data.js";
import { renderReview } from "../client/brief/review.js";
import type { ReviewFacts } from "../client/brief/review-facts.js";

interface ReviewPlace {
  resultFile: string;
  /** Null: no lander has recorded the patch. */
  patchFile: string | null;
  /** Whether the command runs in a worktree at the submission's commit. */
  isCheckedOut: boolean;
}

export function reviewBrief(
  facts: ReviewFacts,
  { resultFile, patchFile, isCheckedOut }: ReviewPlace,
): string {
  const { task, submission } = facts;
  const where = isCheckedOut
    ? "This directory is a checkout of the submission. It is removed afterwards: change nothing in it, commit nothing."
    : "This directory is not a checkout of the submission. Change nothing in it.";
  return [
    `You review submission ${submission.number} of Dibs task ${task.id}, which another agent worked on. Judge whether the change does what the task asks for, and only that.`,
    dataRule,
    where,
    "",
    renderReview(facts, { patchFile }),
    "",
    `The only way to give a verdict is the file ${resultFile} (DIBS_RESULT_FILE), as JSON, before you exit with code 0:`,
    '{"verdict": "approve", "findings": "what you looked at"}',
    '{"verdict": "request-changes", "findings": "what must change, for the next attempt"}',
    "Without it nothing is decided, whatever you print: another reviewer gets the submission, and after three a person.",
    "",
  ].join("\n");
}
