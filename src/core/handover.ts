// The hand-over: a summary of the earlier attempts for the next one, in at most 800 tokens. It begins with the end of the last
// attempt, whose last output is never omitted; the other parts share the remaining tokens. All of it is text of others, so it is one
// block of data, which it cannot close.

import { asData, block, oneLine } from "../common/task-data.js";
import { beginningWithin, endWithin, tokensAtMost } from "../common/tokens.js";
import type { Attempt, AttemptEnd } from "./claim.js";
import type { Submission } from "./landing.js";
import type { Review } from "./review.js";

export const handoverTokensMax = 800;
/** Reserved for why the last attempt ended, and for the newest failure if that was an earlier one. */
const tailTokensMin = 300;
const failureTokensMin = 150;

export interface Answered {
  /** Null: its event was archived. */
  question: string | null;
  answer: string;
}

export interface History {
  /** All attempts that ended. */
  attemptCount: number;
  /** The last of them, newest first; at least one. */
  attempts: readonly Attempt[];
  /** The last ones, newest first. */
  submissions: readonly Submission[];
  /** What the program of the newest attempt printed last. */
  log: string | null;
  /** Newest first. */
  answers: readonly Answered[];
  /** Tasks that landed on the target, newest first, with the paths that they changed. */
  landed: readonly { taskId: string; paths: readonly string[] }[];
}

/** Each is one line of the hand-over, or several. */
interface HandoverPart {
  label: string;
  text: string;
  /** Tokens, label included. */
  max: number;
}

interface HandoverParts {
  /** How the newest attempt ended. */
  ended: HandoverPart;
  /**
   * Why it ended, and the newest failure: error, failed check, conflict, requested changes, output. Of these the end is kept, `max` is
   * reserved for each, and what the rest leaves is theirs.
   */
  tail: HandoverPart[];
  /** The more important ones first. */
  rest: HandoverPart[];
}

export function handoverText(history: History): string {
  const { attemptCount } = history;
  const many = attemptCount === 1 ? "1 earlier attempt" : `${attemptCount} earlier attempts`;
  const head = `This task had ${many}. Use what is left; avoid the same mistakes:`;
  const frame = tokensAtMost(`${head}\n${block(blockLabel, "")}`);
  return `${head}\n${block(blockLabel, linesWithin(handoverParts(history), handoverTokensMax - frame))}`;
}

const blockLabel = "hand-over";

function linesWithin({ ended, tail, rest }: HandoverParts, tokensMax: number): string {
  const first = lineOf(ended, ended.max, beginningWithin);
  let left = tokensMax - sizeOf(first);
  const kept = tail.map((part) => Math.min(part.max, needOf(part)) + 1);
  let reserved = kept.reduce((sum, size) => sum + size, 0);
  const others = rest.map((part) => {
    const line = lineOf(part, Math.min(part.max, left - reserved - 1), beginningWithin);
    left -= sizeOf(line);
    return line;
  });
  const last = tail.map((part, at) => {
    reserved -= kept[at]!;
    const line = lineOf(part, left - reserved - 1, endWithin);
    left -= sizeOf(line);
    return line;
  });
  return [first, ...last, ...others].filter((line) => line !== "").join("\n");
}

/** With its line break. */
const sizeOf = (line: string) => (line === "" ? 0 : tokensAtMost(line) + 1);

/** Of the whole part; its line can have less, where label and text share a token. */
const needOf = ({ label, text }: HandoverPart) => tokensAtMost(`${label}: `) + tokensAtMost(text);

function lineOf({ label, text }: HandoverPart, tokensMax: number, cut: typeof endWithin): string {
  const start = `${label}: `;
  const shown = cut(text, tokensMax - tokensAtMost(start));
  return shown === "" ? "" : `${start}${shown}`;
}

function handoverParts(history: History): HandoverParts {
  const { attempts, submissions } = history;
  const newest = attempts[0]!;
  const failed = attempts.find((attempt) => failureTexts(attempt, history).length > 0) ?? null;
  const returned = submissions.find(({ end }) => end?.as === "returned") ?? null;
  const isTold = returned !== null && returned.epoch === failed?.epoch;
  return {
    ended: { label: `attempt ${newest.epoch}`, text: endOf(newest, submissions), max: 100 },
    tail: [
      ...lastWords(newest, history),
      ...(failed === null || failed === newest ? [] : failurePart(failed, history)),
    ],
    rest: [
      ...(returned && !isTold ? [returnPart(returned)] : []),
      ...conflictParts(returned, history),
      ...answerParts(history),
      ...branchParts(history),
      ...noteParts(history),
      ...attempts
        .slice(1, 1 + earlierMax)
        .map((attempt) => earlierPart(attempt, history, attempt === failed)),
    ],
  };
}

/** Of the newest attempt: why it failed, then what it printed, as far as that is not the same. */
function lastWords(attempt: Attempt, history: History): HandoverPart[] {
  const said = failureTexts(attempt, history);
  const output = cleanedEnd(history.log ?? "");
  const isSaid = said.some(([, text]) => text.includes(output.split("\n").at(-1)!));
  let left = tailTokensMin;
  return [...said, ...(isSaid ? [] : [["output", output] as const])]
    .filter(([, text]) => text !== "")
    .map(([label, text]) => {
      const part = { label, text, max: left };
      left -= Math.min(left, needOf(part));
      return part;
    });
}

/** Of an earlier attempt, where the newest one did not fail. */
function failurePart(attempt: Attempt, history: History): HandoverPart[] {
  return failureTexts(attempt, history)
    .slice(0, 1)
    .map(([label, text]) => ({ label: `attempt ${attempt.epoch}, ${label}`, text, max: failureTokensMin }));
}

const earlierMax = 3;
const nameTokensMax = 30;

const by = (sessionId: string) => `by ${beginningWithin(oneLine(sessionId), nameTokensMax)}`;

const endWords: Record<AttemptEnd, string> = {
  complete: "completed",
  submit: "submitted",
  fail: "failed",
  release: "released",
  expire: "lease expired",
  orphan: "process ended",
  cancel: "cancelled",
  abandon: "lost while a question was open",
};
/** These say nothing that the words do not say. */
const usualReasons = new Set(["completed", "submitted", "failed", "error", "released", "cancelled"]);

function endOf(attempt: Attempt, submissions: readonly Submission[]): string {
  const { sessionId, end, releaseReason, epoch } = attempt;
  const submission = submissions.find((each) => each.epoch === epoch);
  if (end === "submit" && submission?.end) {
    const { as, reason } = submission.end;
    return `${by(sessionId)}, submitted, then ${as}${reason === null ? "" : `: ${oneLine(reason)}`}`;
  }
  const reason = oneLine(releaseReason);
  const why = reason === "" || usualReasons.has(reason) ? "" : `: ${reason}`;
  return `${by(sessionId)}, ${endWords[end]}${why}`;
}

/** What is read of a text before it is cut to tokens. */
const charactersMax = 4_000;

/** Readable, without the colours of terminals and lines without text. */
function cleaned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
  const bare = text.replace(/\u001b\[[\d;?]*[ -/]*[@-~]/g, "");
  return asData(bare.toWellFormed())
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .join("\n");
}

const cleanedEnd = (text: string) => cleaned(text.slice(-charactersMax));
const cleanedBeginning = (text: string) => cleaned(text.slice(0, charactersMax));
const brief = (text: string) => oneLine(cleanedBeginning(text));

/** Label and text of all that says why an attempt did not succeed. */
function failureTexts(attempt: Attempt, { submissions }: Pick<History, "submissions">): [string, string][] {
  const submission = submissions.find(({ epoch }) => epoch === attempt.epoch) ?? null;
  const { error, lateResult } = attempt;
  const texts: [string, string | null | undefined][] = [
    [submission ? returnLabel(submission) : "", submission && returnText(submission)],
    ["error", error],
    ["error that came too late", lateResult?.error],
  ];
  return texts
    .map(([label, text]): [string, string] => [label, cleanedEnd(text ?? "")])
    .filter(([, text]) => text !== "");
}

export const hasFailed = (attempt: Attempt, submissions: readonly Submission[]): boolean =>
  failureTexts(attempt, { submissions }).length > 0;

function returnLabel({ end, reviews }: Submission): string {
  if (end?.reason !== "changes-requested") return oneLine(end?.reason ?? "returned");
  const review = requestOf(reviews);
  return review ? `changes requested ${by(review.by)}` : "changes requested";
}

const requestOf = (reviews: readonly Review[]) =>
  reviews.findLast(({ verdict }) => verdict === "request-changes");

function returnText({ end, checks, reviews }: Submission): string | null {
  if (end?.as !== "returned") return null;
  const red = checks.findLast(({ state }) => state === "failed" || state === "timed-out");
  const check =
    end.reason === "check-failed" && red ? `Check ${red.name} ${red.state}.\n${red.logTail}` : null;
  return end.detail ?? requestOf(reviews)?.comment ?? check;
}

function returnPart(submission: Submission): HandoverPart {
  const text = brief(returnText(submission) ?? "");
  return { label: `submission ${submission.number}, ${returnLabel(submission)}`, text, max: 150 };
}

const conflictsMax = 20;

/** Which tasks changed the paths that are in conflict. */
function conflictParts(returned: Submission | null, { landed }: History): HandoverPart[] {
  const { reason, detail } = returned?.end ?? { reason: null, detail: null };
  if (reason !== "conflict" || !detail) return [];
  const tasks = new Map<string, string[]>();
  for (const { taskId, paths } of landed)
    for (const path of paths)
      if (isNamed(path, detail)) tasks.set(path, [...(tasks.get(path) ?? []), taskId]);
  const named = [...tasks].slice(0, conflictsMax).map(([path, ids]) => `${brief(path)} (${ids.join(", ")})`);
  return named.length === 0
    ? []
    : [{ label: "paths in conflict, with the tasks that changed them", text: named.join(", "), max: 150 }];
}

/** As one of a list of paths. */
function isNamed(path: string, detail: string): boolean {
  if (path === "") return false;
  for (let at = detail.indexOf(path); at >= 0; at = detail.indexOf(path, at + 1)) {
    const rest = detail.slice(at + path.length);
    const before = detail.slice(0, at);
    if (/(?:^|[\s,])$/.test(before) && /^(?:$|[\s,]|\.(?:$|\s))/.test(rest)) return true;
  }
  return false;
}

const answersMax = 3;

function answerParts({ answers }: History): HandoverPart[] {
  return answers.slice(0, answersMax).flatMap(({ question, answer }, at) => {
    const [questionMax, answerMax] = at === 0 ? [60, 120] : [40, 60];
    return [
      ...(question === null ? [] : [{ label: "question", text: brief(question), max: questionMax }]),
      { label: "a human's answer", text: brief(answer), max: answerMax },
    ];
  });
}

const filesMax = 20;

/** What is there to continue from. */
function branchParts({ attempts, submissions }: History): HandoverPart[] {
  const submission = submissions[0];
  const result = attempts.find((attempt) => attempt.result?.branch || attempt.result?.commit)?.result;
  const branch = submission?.branch ?? result?.branch ?? null;
  const commit = submission?.commit ?? result?.commit ?? null;
  const at = [branch, commit?.slice(0, 12)].filter((each) => each != null).map((each) => oneLine(each));
  const { diff = null } = submission ?? {};
  const files = (diff?.files ?? []).slice(0, filesMax).map(({ path, insertions, deletions }) => {
    return `${brief(path)} +${insertions ?? "?"} -${deletions ?? "?"}`;
  });
  const many = diff?.fileCount === 1 ? "1 file" : `${diff?.fileCount} files`;
  const stat = diff ? `${many}, +${diff.insertions} -${diff.deletions}: ${files.join(", ")}` : "";
  return [
    ...(at.length > 0 ? [{ label: "branch", text: at.join(" at "), max: 80 }] : []),
    ...(stat === "" ? [] : [{ label: "changed", text: stat, max: 120 }]),
  ];
}

function noteParts({ attempts, submissions }: History): HandoverPart[] {
  const note = attempts.find(({ progress }) => progress?.note)?.progress?.note ?? "";
  const summary = submissions.find((each) => each.summary !== null)?.summary ?? "";
  const late = attempts.find(({ lateResult }) => lateResult?.result)?.lateResult?.result?.output ?? "";
  return [
    ...(note === "" ? [] : [{ label: "last note", text: brief(note), max: 100 }]),
    ...(summary === "" ? [] : [{ label: "handed in", text: brief(summary), max: 100 }]),
    ...(late === "" ? [] : [{ label: "result that came too late, not applied", text: brief(late), max: 80 }]),
  ].filter(({ text }) => text !== "");
}

function earlierPart(attempt: Attempt, history: History, isTold: boolean): HandoverPart {
  const [said = ""] = isTold ? [] : failureTexts(attempt, history).map(([, text]) => brief(text));
  const text = `${endOf(attempt, history.submissions)}${said === "" ? "" : `; ${said}`}`;
  return { label: `attempt ${attempt.epoch}`, text, max: 60 };
}
