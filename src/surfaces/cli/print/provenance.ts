// Where a landed commit came from: the attempt and its agent, what a human was asked, and who reviewed it. The task's own page has
// the rest, checks included.

import type { Answered } from "../../../client/brief/facts.js";
import type { WireAttempt } from "../../../contract/shapes.js";
import type { Display } from "./display.js";
import { type Field, fieldLines } from "./fields.js";
import { shortCommit, type WireSubmission } from "./submission.js";
import { plain, wrap } from "./text.js";
import { ago, runTime } from "./time.js";

export interface Provenance {
  commit: string;
  project: string;
  taskId: string;
  /** Its number. */
  attempt: number;
  /** Null: it was archived. */
  madeBy: Pick<WireAttempt, "sessionId" | "agentType" | "claimedAt" | "releasedAt"> | null;
  /** Newest first. */
  questions: Answered[];
  reviews: WireSubmission["reviews"];
}

export function provenanceLines(from: Provenance, display: Display): string {
  const { commit, project, taskId, attempt, madeBy, questions, reviews } = from;
  const head = `Commit ${shortCommit(commit)} is from attempt ${attempt} at task ${plain(taskId)} of project ${plain(project)}.`;
  const fields: Field[] = [
    ["agent", madeBy && agentText(madeBy, display.now)],
    ...questions.flatMap(({ question, answer }): Field[] => [
      ["question", question],
      ["answer", answer],
    ]),
    ["reviews", reviews.flatMap((review) => reviewText(review, display.now)).join("\n")],
  ];
  return `${wrap(head, display.columns).join("\n")}\n${fieldLines(fields, display)}`;
}

function agentText(
  { sessionId, agentType, claimedAt, releasedAt }: NonNullable<Provenance["madeBy"]>,
  now: number,
): string {
  const type = agentType === null ? "" : ` (${agentType})`;
  const endedAt = releasedAt ?? claimedAt;
  const worked = runTime(Date.parse(endedAt) - Date.parse(claimedAt));
  return `${sessionId}${type}, worked ${worked}, ended ${ago(endedAt, now)}`;
}

/** Reviews without a verdict say nothing about the code. */
function reviewText(
  { by, kind, verdict, comment, verdictAt, own, inheritedFrom }: WireSubmission["reviews"][number],
  now: number,
): string[] {
  if (verdict === null) return [];
  const what = verdict === "approve" ? "approved" : "requested changes";
  const more = [
    ...(own ? ["own work"] : []),
    ...(inheritedFrom === null ? [] : [`of submission ${inheritedFrom}, with the same changes`]),
  ];
  const when = verdictAt === null ? "" : `, ${ago(verdictAt, now)}`;
  const note = more.length === 0 ? "" : ` (${more.join("; ")})`;
  return [`${what} by ${by}, ${kind}${when}${note}${comment ? `: ${comment}` : ""}`];
}
