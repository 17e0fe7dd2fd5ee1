// One task in full: what it is, who holds it, what came of it, and what the agent is told.

import { usesText } from "../../../client/view/resources.js";
import { priorityText, stateAndStage, usageText } from "../../../client/view/words.js";
import type { WireTask } from "../../../contract/shapes.js";
import type { Display } from "./display.js";
import { type Field, fieldLines } from "./fields.js";
import { submissionFields, type WireSubmission } from "./submission.js";
import { phaseText, styleOf } from "./task.js";
import { furtherText, plain, plainLines, wrap } from "./text.js";
import { ago, span } from "./time.js";

const resultLinesMax = 40;

export function taskPage(task: WireTask, display: Display, submission?: WireSubmission): string {
  const title = wrap(`${plain(task.id)}  ${plain(task.title)}`, display.columns);
  const head = title.map((line) => `${display.paint(line, "bold")}\n`).join("");
  const texts = [textBelow(task.prompt, task.title), plainLines(furtherText(task))]
    .filter((lines) => lines.join("") !== "")
    .map((lines) => `\n${lines.map((line) => `${line}\n`).join("")}`);
  return `${head}${fieldLines(fieldsOf(task, submission, display), display)}${texts.join("")}`;
}

/** A prompt of one line is the title already. */
function textBelow(prompt: string, title: string): string[] {
  return plain(prompt) === plain(title) ? [] : plainLines(prompt);
}

function fieldsOf(task: WireTask, submission: WireSubmission | undefined, display: Display): Field[] {
  const { now } = display;
  const { claim, question, result } = task;
  return [
    ["state", `${stateAndStage(task, now)}${phaseText(task.phase)}`, styleOf(task)],
    ["priority", priorityText(task.priority)],
    ["project", task.project],
    ["parent", task.parentId],
    ["depends on", task.dependsOn.join(", ")],
    ["open subtasks", task.openChildren > 0 ? String(task.openChildren) : null],
    ["labels", task.labels.join(", ")],
    ["files", task.files.join(", ")],
    ["assignee", task.assignee],
    ["agent type", task.agentType],
    ["requires", task.requires.join(", ")],
    ["uses", usesText(task.uses)],
    ["not before", task.notBefore && `${task.notBefore} (${ago(task.notBefore, now)})`],
    ["timeout", task.timeoutMs === null ? null : span(task.timeoutMs)],
    [
      "held by",
      claim &&
        `${claim.sessionId}, epoch ${claim.epoch}, ${claim.healthStatus}, ${span(claim.remainingMs)} left`,
    ],
    ["progress", claim?.progress && progressText(claim.progress, now)],
    ["question", question?.text, "yellow"],
    ["options", question?.options?.join(" | ")],
    ["default", question?.default],
    ["answer", task.response],
    [
      "retries",
      task.retryCount > 0 || task.lostCount > 0
        ? `${task.retryCount} of ${task.maxRetries}, lost ${task.lostCount}`
        : null,
    ],
    ["added", `${ago(task.createdAt, now)} by ${task.createdBy}`],
    ["ended", task.endedAt && ago(task.endedAt, now)],
    ["cost", task.usage && usageText(task.usage)],
    ["result", result && shortened(result.output)],
    ["created", result?.filesCreated.join(", ")],
    ["changed", result?.filesModified.join(", ")],
    ...(submission
      ? submissionFields(task, submission, display)
      : ([
          ["branch", result?.branch],
          ["commit", result?.commit],
        ] as const)),
    ["error", task.error && shortened(task.error), "red"],
    ["metadata", task.metadata && JSON.stringify(task.metadata)],
  ];
}

type Progress = NonNullable<NonNullable<WireTask["claim"]>["progress"]>;

function progressText({ percent, note, at }: Progress, now: number): string {
  return `${percent === null ? "" : `${percent} % `}${note ?? ""} (${ago(at, now)})`.trim();
}

function shortened(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= resultLinesMax) return text;
  const left = lines.length - resultLinesMax;
  return [...lines.slice(0, resultLinesMax), `… ${left} more lines; --json has all`].join("\n");
}
