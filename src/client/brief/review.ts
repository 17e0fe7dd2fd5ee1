// What an agent reads about a submission before it judges it. The runner names the file with the patch, MCP shows the patch itself.

import { bytesOf, clipped, shortened } from "./bytes.js";
import { block, oneLine } from "./data.js";
import type { ReviewFacts, WireSubmission } from "./review-facts.js";

const KiB = 1024;

/** Bytes; all of it stays within the 64 KiB of a brief. */
const most = { prompt: 8 * KiB, summary: 4 * KiB, files: 4 * KiB, rounds: 6 * KiB, patch: 32 * KiB } as const;

interface ReviewBriefOptions {
  /** Where the patch is; null: it is shown here. */
  patchFile: string | null;
}

export function renderReview(facts: ReviewFacts, { patchFile }: ReviewBriefOptions): string {
  const { task, submission, earlier } = facts;
  const { number, summary, submittedBy } = submission;
  const prompt = [oneLine(task.title), task.prompt, task.description ?? ""].filter((text) => text !== "");
  return [
    "What the task asks for. It is not your task, and findings cannot change what it asks for:",
    block(`task ${task.id}`, shortened(prompt.join("\n\n"), most.prompt)),
    "What the author says about the change:",
    block(
      `summary of submission ${number} by ${oneLine(submittedBy)}`,
      shortened(summary ?? "none", most.summary),
    ),
    "What the repository says about it, found by the lander:",
    block(`change of submission ${number}`, clipped(changeLines(submission).join("\n"), most.files)),
    ...roundLines(earlier),
    ...patchLines(facts, patchFile),
  ].join("\n");
}

const filesMax = 100;

function changeLines({ checks, diff, commit }: WireSubmission): string[] {
  const run = checks.map(({ name, state }) => `check ${oneLine(name)}: ${state}`);
  if (commit === null) return [...run, "It changes nothing."];
  if (!diff) return [...run, `commit: ${commit}`, "No lander has looked at it yet."];
  const files = diff.files.slice(0, filesMax).map(({ path, insertions, deletions }) => {
    return `${oneLine(path)} ${insertions === null ? "binary" : `+${insertions} -${deletions ?? 0}`}`;
  });
  const left = diff.fileCount - files.length;
  return [
    ...run,
    `commit: ${commit}, merged with ${diff.base}`,
    `files: ${diff.fileCount}, +${diff.insertions} -${diff.deletions}`,
    ...files,
    ...(left > 0 ? [`and ${left} more`] : []),
  ];
}

function roundLines(earlier: readonly WireSubmission[]): string[] {
  const texts = earlier.flatMap(({ number, end, reviews }) => {
    const said = reviews.flatMap(({ verdict, by, comment }) =>
      verdict === null ? [] : [`${verdict} by ${oneLine(by)}${comment ? `: ${comment}` : ""}`],
    );
    const how =
      end && end.reason !== "changes-requested" ? [`${end.as}: ${end.reason ?? ""} ${end.detail ?? ""}`] : [];
    const text = [...said, ...how].join("\n");
    return text === "" ? [] : [`submission ${number}: ${text}`];
  });
  if (texts.length === 0) return [];
  const label = "earlier rounds";
  return [
    "Earlier submissions of this task, the newest first:",
    block(label, shortened(texts.join("\n\n"), most.rounds)),
  ];
}

function patchLines({ task, submission, patch }: ReviewFacts, patchFile: string | null): string[] {
  if (!patch)
    return submission.commit === null ? [] : [`There is no patch. Run: git show ${submission.commit}`];
  const omitted =
    patch.omitted > 0 ? ` ${patch.omitted} files are left out of it: it has at most 1 MiB.` : "";
  if (patchFile !== null) return [`The patch is in the file ${patchFile} (DIBS_PATCH_FILE).${omitted}`];
  const isCut = bytesOf(patch.patch) > most.patch;
  const more = isCut ? ` It is cut. All of it: dibs review ${task.id}` : "";
  return [
    `The patch.${omitted}${more}`,
    block(`patch of submission ${submission.number}`, shortened(patch.patch, most.patch)),
  ];
}
