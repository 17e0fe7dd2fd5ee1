// How reviews are said to people: the same words on the command line and in `dibs watch`.

import type { WireNotification } from "../../contract/shapes.js";
import type { WireSubmission } from "../brief/review-facts.js";
import { ago } from "./words.js";

/** Somebody is asked to review a submission. */
export const asksForReview = ({ type, taskId }: Pick<WireNotification, "type" | "taskId">): boolean =>
  type === "REVIEW_NEEDED" && taskId !== null;

/** The message without its command, for where the command is shown next to it. */
export const reviewMessage = ({ message }: Pick<WireNotification, "message">): string =>
  message.replace(/ Run: dibs review \S+$/, "");

/** `2 files, 10 lines added, 3 removed`. */
export function diffText({ diff }: Pick<WireSubmission, "diff">): string | null {
  if (!diff) return null;
  const { fileCount, insertions, deletions } = diff;
  const files = fileCount === 1 ? "1 file" : `${fileCount} files`;
  return `${files}, ${insertions} ${insertions === 1 ? "line" : "lines"} added, ${deletions} removed`;
}

const approvers: Record<WireSubmission["reviewNeeded"], string> = {
  none: "nobody's",
  human: "a person's",
  agent: "an agent's",
  any: "a person's or an agent's",
};

/** `a person's`: whose approval it needs. */
export const approverText = (need: WireSubmission["reviewNeeded"]) => approvers[need];

/** `needs a person's approval`; null: it needs none, or has ended. */
export function approvalText({ stage, reviewNeeded, approved }: WireSubmission): string | null {
  if (stage === null || reviewNeeded === "none") return null;
  return `${approved ? "has" : "needs"} ${approvers[reviewNeeded]} approval`;
}

const verdictWords = { approve: "approved", "request-changes": "changes requested" } as const;

export function reviewText(review: WireSubmission["reviews"][number], now: number): string {
  const { by, verdict, verdictAt, comment, own, inheritedFrom, live, claimedAt } = review;
  if (verdict === null)
    return live ? `${by} is reviewing it, since ${ago(claimedAt, now)}` : `${by} gave no verdict`;
  const how = [
    ...(own ? ["own work"] : []),
    ...(inheritedFrom === null ? [] : [`of submission ${inheritedFrom}, the same change`]),
  ];
  const more = how.length === 0 ? "" : ` (${how.join(", ")})`;
  return `${verdictWords[verdict]} by ${by}, ${ago(verdictAt, now)}${more}${comment ? `: ${comment}` : ""}`;
}
