// One task in full, as lines: what it is, why it does not run, what happened to it, what came of it.

import { usesText } from "../client/view/resources.js";
import { approvalText, diffText, reviewText } from "../client/view/reviews.js";
import {
  ago,
  duration,
  overlapText,
  percent,
  phaseTag,
  priorityText,
  stateAndStage,
  usageText,
} from "../client/view/words.js";
import { plain, plainLines, wrap } from "../common/text.js";
import type { WireAttempt, WireEvent, WireTask } from "../contract/shapes.js";
import type { Detail } from "./detail.js";
import type { Line, Part, Tone } from "./parts.js";

const logLines = 12;
const labelWidth = 13;

export function taskLines(detail: Detail, columns: number, now: number): Line[] {
  const { task } = detail;
  if (!task) return [];
  const width = Math.max(20, columns - 4);
  return [
    ...titleLines(task, width),
    ...fieldLines(task, width, now),
    ...promptLines(task, width),
    ...submissionLines(detail, width, now),
    ...explainLines(detail, width, now),
    ...attemptLines(detail.attempts, width, now),
    ...logTail(detail, now),
    ...timeline(detail.events, now),
  ];
}

function titleLines(task: WireTask, width: number): Line[] {
  const title = `${task.id}  ${plain(task.title)} ${phaseTag(plain(task.phase))}`.trimEnd();
  return wrap(title, width).map((text) => [{ text, bold: true }]);
}

const heading = (text: string): Line[] => [[], [{ text, tone: "cyan", bold: true }]];

type Field = readonly [name: string, text: string | null | undefined, tone?: Tone | undefined];

function fieldLines(task: WireTask, width: number, now: number): Line[] {
  return fieldsOf(task, now).flatMap(([name, text, tone]) => {
    if (!text) return [];
    const [first = "", ...rest] = wrap(text.trimEnd(), width - labelWidth);
    const label: Part = { text: name.padEnd(labelWidth), tone: "dim" };
    const below: Part = { text: " ".repeat(labelWidth) };
    return [[label, { text: first, tone }], ...rest.map((line): Line => [below, { text: line, tone }])];
  });
}

function fieldsOf(task: WireTask, now: number): Field[] {
  const { claim, question, result } = task;
  return [
    ["state", stateAndStage(task, now), stateTone(task)],
    ["priority", priorityText(task.priority)],
    ["project", task.project],
    ["held by", claim && holderText(claim, now), claim?.healthStatus === "stale" ? "red" : undefined],
    [
      "progress",
      claim?.progress && `${percent(claim.progress.percent)} ${plain(claim.progress.note)}`.trim(),
    ],
    ["question", question?.text, "yellow"],
    ["options", question?.options?.map(plain).join(" | ")],
    ["default", question?.default],
    ["answer", task.response],
    ["parent", task.parentId],
    ["open subtasks", task.openChildren > 0 ? String(task.openChildren) : null],
    ["depends on", task.dependsOn.join(", ")],
    ["labels", task.labels.map(plain).join(", ")],
    ["assignee", task.assignee],
    ["agent type", task.agentType],
    ["requires", task.requires.map(plain).join(", ")],
    ["uses", plain(usesText(task.uses))],
    ["cost", task.usage && usageText(task.usage)],
    ["not before", task.notBefore && ago(task.notBefore, now)],
    ["retries", task.retryCount > 0 || task.lostCount > 0 ? retriesText(task) : null],
    ["added", `${ago(task.createdAt, now)} by ${plain(task.createdBy)}`],
    ["ended", task.endedAt && ago(task.endedAt, now)],
    ["error", task.error, "red"],
    ["result", result?.output],
    ["created", result?.filesCreated.map(plain).join(", ")],
    ["changed", result?.filesModified.map(plain).join(", ")],
    ["branch", result?.branch],
    ["commit", result?.commit],
  ];
}

const retriesText = ({ retryCount, maxRetries, lostCount }: WireTask) =>
  `${retryCount} of ${maxRetries}, lost ${lostCount}`;

function holderText(claim: NonNullable<WireTask["claim"]>, now: number): string {
  const { sessionId, epoch, healthStatus, claimedAt, remainingMs } = claim;
  const lease = healthStatus === "paused" ? "lease paused" : `${duration(remainingMs)} of lease left`;
  return `${plain(sessionId)}, epoch ${epoch}, ${healthStatus}, ${lease}, since ${ago(claimedAt, now)}`;
}

function stateTone({ state }: WireTask): Tone | undefined {
  const tones: Partial<Record<WireTask["state"], Tone>> = {
    running: "green",
    claimed: "green",
    awaiting_response: "yellow",
    submitted: "green",
    failed: "red",
    completed: "green",
    cancelled: "dim",
  };
  return tones[state];
}

function promptLines({ prompt, title, description }: WireTask, width: number): Line[] {
  // A prompt of one line is the title already.
  const texts = [plain(prompt) === plain(title) ? "" : prompt, description ?? ""].filter(
    (each) => each !== "",
  );
  if (texts.length === 0) return [];
  return [
    ...heading("Prompt"),
    ...texts.flatMap((text) => wrap(text.trimEnd(), width)).map((text): Line => [{ text }]),
  ];
}

/** What a reviewer needs, then the patch; the commands are those of the command line. */
function submissionLines({ task, submission, patch }: Detail, width: number, now: number): Line[] {
  if (!task || !submission) return [];
  const { number, submittedBy, submittedAt, summary, checks, reviews, diff } = submission;
  const texts: (string | null)[] = [
    `by ${plain(submittedBy)}, ${ago(submittedAt, now)}`,
    approvalText(submission),
    summary,
    ...checks.map(({ name, state }) => `check ${plain(name)}: ${state}`),
    diffText(submission),
    ...(diff?.reviewPaths.length ? [`needs a person: ${diff.reviewPaths.map(plain).join(", ")}`] : []),
    ...reviews.map((review) => reviewText(review, now)),
  ];
  const isOpen = submission.stage === "review" || submission.stage === "checking";
  return [
    ...heading(`Submission ${number}`),
    ...texts.flatMap((text) => (text ? wrap(text.trimEnd(), width) : [])).map((text): Line => [{ text }]),
    ...(isOpen ? [[{ text: "a approve · r request changes", tone: "dim" as const }]] : []),
    ...(patch ? patchLines(patch, task.id) : []),
  ];
}

function patchLines({ lines, isCut }: NonNullable<Detail["patch"]>, taskId: string): Line[] {
  return [
    ...heading("Patch"),
    ...lines.map((text): Line => [{ text, tone: patchTone(text) }]),
    ...(isCut ? [[{ text: `… cut. All of it: dibs review ${taskId}`, tone: "dim" as const }]] : []),
  ];
}

function patchTone(line: string): Tone | undefined {
  if (line.startsWith("+")) return "green";
  if (line.startsWith("-")) return "red";
  return line.startsWith("@@") ? "cyan" : undefined;
}

function explainLines({ explanation, task }: Detail, width: number, now: number): Line[] {
  // Who holds it is said above.
  if (!explanation || !task || task.endedAt !== null || ["claimed", "running"].includes(task.state))
    return [];
  const { claimable, reasons } = explanation;
  const fixes = [...new Set(reasons.flatMap(({ fix }) => (fix ? [plain(fix)] : [])))];
  // The question stands above.
  const unsaid = reasons.filter(({ code }) => code !== "AWAITING_RESPONSE");
  const said = unsaid.flatMap(({ message, until }) =>
    wrap(`${message}${until ? ` (${ago(until, now)})` : ""}`, width).map((text): Line => [{ text }]),
  );
  const verdict = claimable ? "It can be claimed now." : null;
  return [
    ...heading(task.state === "awaiting_response" ? "What would help" : "Why is it not running?"),
    ...(verdict ? [[{ text: verdict }]] : []),
    ...said,
    ...fixes.map(
      (fix): Line => [
        { text: "$ ", tone: "dim" },
        { text: fix, bold: true },
      ],
    ),
  ];
}

function attemptLines(attempts: readonly WireAttempt[], width: number, now: number): Line[] {
  if (attempts.length === 0) return [];
  const lines = attempts.flatMap((attempt): Line[] => {
    const { epoch, sessionId, claimedAt, releasedAt, releaseReason, error, lateResult } = attempt;
    const took = releasedAt ? `, took ${duration(Date.parse(releasedAt) - Date.parse(claimedAt))}` : "";
    const late = lateResult ? `late: ${lateResult.error ?? lateResult.result?.output ?? ""}` : null;
    return [
      [
        { text: `${String(epoch).padStart(3)}  `, tone: "dim" },
        { text: plain(sessionId) },
        { text: `  ${plain(releaseReason ?? "in flight")}`, tone: error ? "red" : undefined },
        { text: `  ${ago(claimedAt, now)}${took}`, tone: "dim" },
      ],
      ...[error, late]
        .filter((text) => text !== null)
        .flatMap((text) => wrap(text.trimEnd(), width - 5).slice(0, 3))
        .map((text): Line => [{ text: `     ${text}`, tone: "red" }]),
    ];
  });
  return [...heading("Attempts"), ...lines];
}

function logTail({ log }: Detail, now: number): Line[] {
  if (!log || log.epoch === null || log.text === "") return [];
  const lines = plainLines(log.text.replace(/\n$/, "")).slice(-logLines);
  const when = log.updatedAt ? `, ${ago(log.updatedAt, now)}` : "";
  return [
    ...heading(`Log of attempt ${log.epoch}${when}`),
    ...lines.map((text): Line => [{ text: "│ ", tone: "dim" }, { text }]),
  ];
}

const eventTones: Partial<Record<WireEvent["type"], Tone>> = {
  "task:completed": "green",
  "task:failed": "red",
  "task:claim-expired": "red",
  "task:claim-orphaned": "red",
  "task:awaiting-response": "yellow",
  "task:claimed": "cyan",
};

/** Newest first: what happens now is seen without scrolling on. */
function timeline(events: readonly WireEvent[], now: number): Line[] {
  const shown = events.filter(({ type }) => type.startsWith("task:"));
  if (shown.length === 0) return [];
  const lines = shown.toReversed().map((event): Line => {
    const { type, at, sessionId, actor, data } = event;
    const { error, note, percent: done, question, response, reason } = data;
    const overlap = type === "task:overlap" ? overlapText(event) : undefined;
    const detail = plain(error ?? note ?? question ?? response ?? reason ?? overlap);
    const part = typeof done === "number" ? `${percent(done)} ` : "";
    return [
      { text: ago(at, now).padStart(8), tone: "dim" },
      { text: `  ${type.replace(/^task:/, "").padEnd(18)}`, tone: eventTones[type] },
      { text: `  ${plain(sessionId ?? actor)}`, tone: "dim" },
      { text: detail || part ? `  ${part}${detail}` : "" },
    ];
  });
  return [...heading("Timeline"), ...lines];
}
