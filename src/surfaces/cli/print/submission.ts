// What was handed in for a task, and what became of it.

import type { WireSubmission } from "../../../client/brief/review-facts.js";
import { approvalText, diffText, reviewText } from "../../../client/view/reviews.js";
import type { WireTask } from "../../../contract/shapes.js";
import type { Display, Style } from "./display.js";
import type { Field } from "./fields.js";
import { ago, runTime } from "./time.js";

export type { WireSubmission };

export const shortCommit = (commit: string) => commit.slice(0, 12);

const stages: Record<NonNullable<WireSubmission["stage"]>, string> = {
  checking: "waits to land",
  review: "waits for a review",
  landing: "lands next",
  held: "held",
};

export function submissionFields(task: WireTask, submission: WireSubmission, { now }: Display): Field[] {
  const { number, commit, branch, summary, submittedAt, submittedBy, end } = submission;
  const [said = ""] = (summary ?? "").split("\n", 1);
  return [
    ["submission", `${number}, ${ago(submittedAt, now)} by ${submittedBy}`],
    ["landing", ...landingText(task, submission, now)],
    ["detail", end?.detail && end.as !== "landed" ? lastLines(end.detail) : null],
    ["commit", commit ?? "none: nothing was changed"],
    ["branch", branch],
    ["summary", task.result?.output.startsWith(said) ? null : said],
    ["checks", submission.checks.map(checkText).join("\n")],
    ["change", diffText(submission)],
    ["needs a person", submission.diff?.reviewPaths.join(", "), "yellow"],
    ["review", approvalText(submission)],
    ["reviews", submission.reviews.map((review) => reviewText(review, now)).join("\n")],
    ["returns", task.returnCount > 0 ? String(task.returnCount) : null],
  ];
}

function landingText(
  { landed, noChange }: WireTask,
  { stage, end, heldReason }: WireSubmission,
  now: number,
): [text: string, style?: Style] {
  if (end === null || stage !== null) {
    if (stage === "held") return [`held: ${heldReason ?? "no reason is known"}`, "yellow"];
    return [stages[stage ?? "checking"]];
  }
  const when = ago(end.at, now);
  if (end.as === "landed" && landed)
    return [`landed as ${shortCommit(landed.commit)} on ${landed.target}, ${when}`, "green"];
  if (end.as === "landed") return [`completed${noChange ? " without a change" : ""}, ${when}`, "green"];
  return [`${end.as} ${when}${end.reason === null ? "" : `: ${end.reason}`}`, "yellow"];
}

export function checkText({ name, state, exitCode, durationMs }: WireSubmission["checks"][number]): string {
  const code = state === "failed" && exitCode !== null ? `, exit code ${exitCode}` : "";
  return `${name} ${state} in ${runTime(durationMs)}${code}`;
}

const linesMax = 20;

/** Of the output of a check, what counts is at the end. */
function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= linesMax) return lines.join("\n");
  return [`… ${lines.length - linesMax} lines before; --json has all`, ...lines.slice(-linesMax)].join("\n");
}
