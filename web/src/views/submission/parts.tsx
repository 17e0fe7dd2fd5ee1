// What a submission consists of, for the task page and the inbox: its stage, its checks, its reviews, the size of its change.

import { useState } from "react";
import { duration, type Stage, stageWord } from "../../../../src/client/view/words.js";
import { Badge } from "../../components/parts.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { linesOf } from "../task/log-text.js";
import { Folded } from "../task/texts.js";
import type { Check, Review, Submission } from "./use-submission.js";

const stageTones: Record<Stage, string> = { checking: "link", review: "wait", landing: "good", held: "bad" };

export function StageBadge({ stage }: { stage: Stage }) {
  return <Badge tone={stageTones[stage]}>{stageWord(stage)}</Badge>;
}

/** The beginning of a commit's id; all of it on demand. */
export function Commit({ id }: { id: string }) {
  return (
    <span className="mono" title={id}>
      {id.slice(0, 12)}
    </span>
  );
}

const reasonWords: Record<string, string> = {
  conflict: "merge conflict",
  "check-failed": "check failed",
  "changes-requested": "changes requested",
};

/** Why a submission came back, or what was typed when it was withdrawn. */
export const reasonWord = (reason: string) => withUnseen(reasonWords[reason] ?? reason);

/** `returned: merge conflict`. */
function endWords({ as, reason }: NonNullable<Submission["end"]>): string {
  return reason === null ? as : `${as}: ${reasonWord(reason)}`;
}

export function EndBadge({ end }: { end: NonNullable<Submission["end"]> }) {
  const tone = end.as === "landed" ? "good" : end.as === "returned" ? "bad" : "";
  return <Badge tone={tone}>{endWords(end)}</Badge>;
}

const checkTones: Record<Check["state"], string> = {
  passed: "good",
  flaky: "wait",
  failed: "bad",
  "timed-out": "bad",
};
const checkWords: Record<Check["state"], string> = {
  passed: "passed",
  flaky: "flaky",
  failed: "failed",
  "timed-out": "timed out",
};

/** For a line among others. */
export function CheckBadges({ checks }: { checks: readonly Check[] }) {
  return latestOf(checks).map(({ name, state }) => (
    <Badge key={name} tone={checkTones[state]}>
      {withUnseen(name)} {checkWords[state]}
    </Badge>
  ));
}

/** A check runs again on another tree; the last result counts. */
function latestOf(checks: readonly Check[]): Check[] {
  return [...new Map(checks.map((check) => [check.name, check])).values()];
}

export function Checks({ checks }: { checks: readonly Check[] }) {
  if (checks.length === 0) return <p className="quiet small">No check has run.</p>;
  return (
    <ul className="submission-list">
      {checks.toReversed().map((check) => (
        <li key={`${check.name} ${check.tree}`}>
          <CheckLine check={check} />
        </li>
      ))}
    </ul>
  );
}

function CheckLine({ check: { name, state, exitCode, durationMs, tree, ranBy, logTail } }: { check: Check }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <p className="row wrapping">
        <Badge tone={checkTones[state]}>{checkWords[state]}</Badge>
        <span className="mono wraps">{withUnseen(name)}</span>
        <span className="quiet small">
          {durationMs < 1_000 ? `${durationMs}ms` : duration(durationMs)}
          {exitCode !== null && exitCode !== 0 && ` · exit code ${exitCode}`} · tree{" "}
          <span className="mono" title={tree}>
            {tree.slice(0, 8)}
          </span>{" "}
          · {withUnseen(ranBy)}
        </span>
      </p>
      {logTail !== "" && (
        <details className="small" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="quiet">End of the log of {withUnseen(name)}</summary>
          {isOpen && <pre className="submission-log">{logText(logTail)}</pre>}
        </details>
      )}
    </>
  );
}

const logText = (tail: string) => withUnseen(linesOf(tail).join("\n"));

const needs: Record<Submission["reviewNeeded"], string> = {
  none: "No review is needed.",
  human: "A person must approve it.",
  agent: "An agent must approve it.",
  any: "A person or an agent must approve it.",
};

export function Reviews({ submission, now }: { submission: Submission; now: number }) {
  const { reviewNeeded, approved, stage, diff, reviews } = submission;
  const paths = diff?.reviewPaths ?? [];
  return (
    <>
      <p className="wraps">
        {approved && reviewNeeded !== "none" ? "It has the approval that it needs." : needs[reviewNeeded]}
        {!approved && stage === "checking" && " It is checked first."}
        {paths.length > 0 && (
          <>
            {" "}
            It changes <Paths paths={paths} />, which needs a person's approval.
          </>
        )}
      </p>
      {reviews.length > 0 && (
        <ul className="submission-list">
          {reviews.toReversed().map((review) => (
            <li key={review.epoch}>
              <ReviewLine review={review} now={now} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const pathsShown = 5;

function Paths({ paths }: { paths: readonly string[] }) {
  const shown = paths.slice(0, pathsShown).map(withUnseen).join(", ");
  const more = paths.length - pathsShown;
  return (
    <>
      <span className="mono">{shown}</span>
      {more > 0 && ` and ${more} more`}
    </>
  );
}

function verdictOf({ verdict, live }: Review): [string, string] {
  if (verdict === "approve") return ["approved", "good"];
  if (verdict === "request-changes") return ["changes requested", "bad"];
  return live ? ["in review", "link"] : ["ended without a verdict", ""];
}

function ReviewLine({ review, now }: { review: Review; now: number }) {
  const [word, tone] = verdictOf(review);
  const { by, kind, comment, verdictAt, claimedAt, own, inheritedFrom } = review;
  return (
    <>
      <p className="row wrapping">
        <Badge tone={tone}>{word}</Badge>
        <span className="wraps">{withUnseen(by)}</span>
        <span className="quiet small">
          {kind === "human" ? "person" : "agent"} · <When at={verdictAt ?? claimedAt} now={now} />
          {own && " · own work"}
          {inheritedFrom !== null &&
            ` · taken over from submission ${inheritedFrom}, which has the same changes`}
        </span>
      </p>
      {comment && <Folded text={withUnseen(comment)} name="the comment" linesMax={6} />}
    </>
  );
}

/** `3 files +10 −2`. */
export function Diffstat({ diff }: { diff: NonNullable<Submission["diff"]> }) {
  const { fileCount, insertions, deletions } = diff;
  return (
    <span>
      {fileCount} {fileCount === 1 ? "file" : "files"}{" "}
      <Changed insertions={insertions} deletions={deletions} />
    </span>
  );
}

export function Changed({ insertions, deletions }: { insertions: number; deletions: number }) {
  return (
    <span className="mono small submission-changed">
      <span className="good">+{insertions}</span> <span className="bad">−{deletions}</span>
    </span>
  );
}
