// Submissions that wait for a review, and one of them with all that a reviewer needs.

import type { ReviewFacts, WirePatch, WireSubmission } from "../../../client/brief/review-facts.js";
import { approvalText, diffText, reviewText } from "../../../client/view/reviews.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display, Style } from "./display.js";
import { type Field, fieldLines } from "./fields.js";
import { checkText, shortCommit } from "./submission.js";
import { table } from "./table.js";
import { plain, visibleLines, wrap } from "./text.js";
import { ago } from "./time.js";

type Queue = OutputOf<OperationNamed<"landings.list">>;

export function reviewTable({ queue, queueCount }: Queue, display: Display): string {
  const [first] = queue;
  if (!first) return "No submission waits for a review.\n";
  const projects = new Set(queue.map(({ project }) => project));
  const rows = table(
    queue,
    [
      { head: "PROJECT", of: ({ project }) => (projects.size > 1 ? plain(project) : ""), max: 16 },
      { head: "ID", of: ({ taskId }) => plain(taskId), whole: true },
      { head: "TASK", of: ({ title }) => plain(title), grows: true },
      { head: "SUBMISSION", of: ({ number }) => String(number), right: true },
      { head: "NEEDS", of: ({ reviewNeeded }) => needWords[reviewNeeded], whole: true },
      { head: "SUBMITTED", of: ({ submittedAt }) => ago(submittedAt, display.now) },
      { head: "REVIEWED BY", of: ({ reviewing }) => (reviewing ? plain(reviewing) : ""), max: 20 },
    ],
    display,
  );
  const left = queueCount - queue.length;
  const more = left > 0 ? `… ${left} more. Run: dibs review --limit ${queueCount}\n` : "";
  return `${rows}${display.paint(`${more}Run: dibs review ${plain(first.taskId)}\n`, "dim")}`;
}

const needWords: Record<WireSubmission["reviewNeeded"], string> = {
  none: "nobody",
  human: "a person",
  agent: "an agent",
  any: "anybody",
};

const filesMax = 40;

export function reviewPage(facts: ReviewFacts, display: Display): string {
  const { task, submission } = facts;
  const title = wrap(`${plain(task.id)}  ${plain(task.title)}`, display.columns);
  const head = title.map((line) => `${display.paint(line, "bold")}\n`).join("");
  return [
    `${head}${fieldLines(fieldsOf(facts, display), display)}`,
    commandLines(facts, display),
    patchText(facts.patch, submission, display),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

function fieldsOf({ task, submission, earlier }: ReviewFacts, { now }: Display): Field[] {
  const { number, commit, branch, summary, submittedAt, submittedBy, stage } = submission;
  return [
    ["submission", `${number}, ${ago(submittedAt, now)} by ${submittedBy}`],
    ["state", stage === null ? `${submission.end?.as ?? "ended"}` : `submitted, ${stage}`],
    ["review", approvalText(submission)],
    ["commit", commit === null ? "none: nothing was changed" : shortCommit(commit)],
    ["branch", branch],
    ["prompt", plain(task.prompt) === plain(task.title) ? null : task.prompt],
    ["summary", summary],
    ["checks", submission.checks.map(checkText).join("\n")],
    ["change", diffText(submission)],
    ["files", fileLines(submission)],
    ["needs a person", submission.diff?.reviewPaths.join(", "), "yellow"],
    ["reviews", submission.reviews.map((review) => reviewText(review, now)).join("\n")],
    ...earlier.map((each): Field => [`round ${each.number}`, roundText(each, now)]),
  ];
}

function fileLines({ diff }: WireSubmission): string | null {
  if (!diff) return null;
  const lines = diff.files.slice(0, filesMax).map(({ path, insertions, deletions }) => {
    const size = insertions === null ? "binary" : `+${insertions} -${deletions ?? 0}`;
    return `${plain(path)}  ${size}`;
  });
  const left = diff.fileCount - lines.length;
  return [...lines, ...(left > 0 ? [`… ${left} more`] : [])].join("\n");
}

/** What became of an earlier submission, and why. */
function roundText({ end, reviews }: WireSubmission, now: number): string {
  if (!end) return "";
  const { as, reason, detail, at } = end;
  const asked = reviews.findLast(({ verdict }) => verdict === "request-changes");
  if (asked) return reviewText(asked, now);
  const [said = ""] = (detail ?? "").trim().split("\n", 1);
  return `${as} ${ago(at, now)}${reason ? `: ${reason}` : ""}${said ? `, ${said}` : ""}`;
}

/** Only while a verdict is possible. */
function commandLines({ task, submission }: ReviewFacts, display: Display): string {
  const { stage, number } = submission;
  if (stage === null || stage === "landing") return "";
  const on = `${plain(task.id)} --submission ${number}`;
  const lines = [`Run: dibs approve ${on}`, ` or: dibs reject ${on} "<what to change>"`];
  return lines.map((line) => `${display.paint(line, "dim")}\n`).join("");
}

function patchText(patch: WirePatch | null, { commit, base }: WireSubmission, display: Display): string {
  if (!patch) {
    if (commit === null) return "";
    const range = base === null ? shortCommit(commit) : `${shortCommit(base)}...${shortCommit(commit)}`;
    return `No lander has recorded the patch. Run: git ${base === null ? "show" : "diff"} ${range}\n`;
  }
  const { omitted } = patch;
  const lines = visibleLines(patch.patch.replace(/\n$/, "")).map((line) =>
    display.paint(line, patchStyle(line)),
  );
  const files = omitted === 1 ? "1 file is" : `${omitted} files are`;
  const left = omitted > 0 ? [`… ${files} left out: the patch is longer than 1 MiB`] : [];
  return [...lines, ...left].map((line) => `${line}\n`).join("");
}

function patchStyle(line: string): Style | undefined {
  if (line.startsWith("+")) return line.startsWith("+++ ") ? "bold" : "green";
  if (line.startsWith("-")) return line.startsWith("--- ") ? "bold" : "red";
  if (line.startsWith("@@")) return "cyan";
  return line.startsWith("diff --git ") ? "bold" : undefined;
}
