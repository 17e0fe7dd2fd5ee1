// The brief: what an agent reads about a task before it starts. The runner and MCP's claim answer use the same one.

import type { WireAttempt, WireTask } from "../../contract/shapes.js";
import { bytesOf, clipped, shortened } from "./bytes.js";
import { asData, block, oneLine } from "./data.js";
import type { Answered, BriefFacts } from "./facts.js";
import { blockPart, section } from "./parts.js";
import { type Part, shareBytes } from "./share.js";
import { attemptTexts, listed, ownDescription, ownTitle, resultFields } from "./texts.js";

const KiB = 1024;

/** Bytes. The caller adds a head and a closing of its own: together they stay within `all`. */
export const briefLimits = {
  all: 64 * KiB,
  body: 58 * KiB,
  prompt: 32 * KiB,
  description: 16 * KiB,
  fields: 2 * KiB,
  question: 2 * KiB,
  answer: 16 * KiB,
  attempt: 2 * KiB,
  dependency: 2 * KiB,
} as const;

/** How the reader gets all of a task, as a sentence: `Run: dibs show 0001 --json`. */
export type Show = (taskId: string) => string;

export const showByCommand: Show = (taskId) => `Run: dibs show ${taskId} --json`;

export function renderBrief(facts: BriefFacts, show: Show): string {
  const [task, answers, attempts, dependencies] = shareBytes(
    [
      taskPart(facts.task, show),
      answersPart(facts, show),
      facts.handover === null ? attemptsPart(facts, show) : handoverPart(facts.handover),
      dependenciesPart(facts, show),
    ],
    briefLimits.body,
  );
  const texts = [task!, answers!, dependencies!, attempts!].map(({ text }) => text);
  return texts.filter((text) => text !== "").join("\n");
}

const kib = (bytes: number) => `${Math.ceil(bytes / KiB)} KiB`;

function taskPart(task: WireTask, show: Show): Part {
  const { id, labels, files } = task;
  const label = `task ${id}`;
  const title = ownTitle(task);
  const prompt = asData(task.prompt);
  const description = asData(ownDescription(task) ?? "");
  const shownPrompt = clipped(prompt, briefLimits.prompt);
  const head = [...(title === null ? [] : [`title: ${title}`]), shownPrompt];
  const fields = [...listed("files", files), ...listed("labels", labels)];
  const tail = fields.map((line) => clipped(line, briefLimits.fields / fields.length));
  const frame = bytesOf(block(label, [...head, "description: ", ...tail].join("\n"))) + 300;
  return {
    least: 0,
    most: frame + briefLimits.description,
    render(bytesMax) {
      const shown = shortened(description, Math.min(bytesMax - frame, briefLimits.description));
      const cut = [
        ...(shownPrompt === prompt
          ? []
          : [`the first ${kib(briefLimits.prompt)} of ${kib(bytesOf(prompt))} of the prompt`]),
        ...(shown === description ? [] : ["a part of the description"]),
      ];
      const lines = [...head, ...(shown === "" ? [] : [`description: ${shown}`]), ...tail];
      const note = cut.length > 0 ? [`Shown above: only ${cut.join(" and ")}. ${show(id)}`] : [];
      return { text: [block(label, lines.join("\n")), ...note].join("\n"), isCut: cut.length > 0 };
    },
  };
}

const titleMax = 150;
const fieldMax = 300;

function dependenciesPart({ task, dependencies }: BriefFacts, show: Show): Part {
  return section({
    least: 5 * KiB,
    most: briefLimits.body,
    head: "Results of the dependencies that this task builds on:",
    parts: dependencies.map(dependencyPart),
    missing: task.dependsOn.length - dependencies.length,
    more: (missing) =>
      [
        `Results over ${kib(briefLimits.dependency)} are cut.`,
        ...(missing > 0 ? [`${missing} more dependencies are not shown.`] : []),
        show("<id>"),
      ].join(" "),
  });
}

function dependencyPart({ id, state, title, result }: WireTask): Part {
  const fields = result ? resultFields(result) : [];
  return blockPart({
    label: `dependency ${id}, ${state}`,
    head: [clipped(oneLine(title), titleMax), ...fields.map((line) => clipped(line, fieldMax))],
    text: result?.output ?? "",
    textMax: briefLimits.dependency,
  });
}

/** It has bounds of its own. */
function handoverPart(text: string): Part {
  const most = bytesOf(text) + 1;
  return { least: most, most, render: (bytesMax) => (bytesMax + 1 < most ? null : { text, isCut: false }) };
}

function attemptsPart({ task, attempts }: BriefFacts, show: Show): Part {
  return section({
    least: 4 * KiB,
    most: 12 * KiB,
    head: "Earlier attempts, newest first; do not repeat their mistakes:",
    parts: attempts.map(attemptPart),
    more: () => `Texts of earlier attempts are cut. ${show(task.id)}`,
  });
}

function attemptPart(attempt: WireAttempt): Part {
  const [ended, ...texts] = attemptTexts(attempt);
  const each = Math.floor(briefLimits.attempt / Math.max(1, texts.length));
  const shown = texts.map(([label, text]) => [label, shortened(text, each)] as const);
  return blockPart({
    label: `attempt ${attempt.epoch} by ${attempt.sessionId}`,
    head: ended ? [`${ended[0]}: ${clipped(ended[1], titleMax)}`] : [],
    text: shown.map(([label, text]) => `${label}: ${text}`).join("\n"),
    textMax: briefLimits.attempt + 100,
    isCut: shown.some(([, text], at) => text !== texts[at]![1]),
  });
}

function answersPart({ task, answers, handover }: BriefFacts, show: Show): Part {
  const { id, question } = task;
  const said = new Set(handover?.split("\n"));
  const isSaid = (label: string, text: string | null) =>
    text === null || said.has(`${label}: ${oneLine(text)}`);
  return section({
    least: 6 * KiB,
    most: 24 * KiB,
    head: "Questions about this task and a human's answers, newest first:",
    parts: [
      ...(question ? [openQuestionPart(id, question)] : []),
      ...answers
        .filter(
          ({ question, answer }) => !isSaid("question", question) || !isSaid("a human's answer", answer),
        )
        .map((answered) => answeredPart(id, answered)),
    ],
    more: () => `Questions or answers are cut. ${show(id)}`,
  });
}

function openQuestionPart(id: string, question: NonNullable<WireTask["question"]>): Part {
  const { text, options, default: usual, askedAt } = question;
  return blockPart({
    label: `question of ${id}, open since ${askedAt}`,
    head: [
      ...(options ? [clipped(`options: ${options.map(oneLine).join(" | ")}`, 2 * fieldMax)] : []),
      ...(usual === undefined ? [] : [clipped(`default: ${oneLine(usual)}`, fieldMax)]),
    ],
    text,
    textMax: briefLimits.question,
  });
}

export const answerLabel = (taskId: string) => `human's answer for ${taskId}`;

function answeredPart(id: string, { question, answer }: Answered): Part {
  const { question: questionMax, answer: answerMax } = briefLimits;
  const answered = blockPart({ label: answerLabel(id), head: [], text: answer, textMax: answerMax });
  if (question === null) return answered;
  const asked = blockPart({ label: `question of ${id}`, head: [], text: question, textMax: questionMax });
  return {
    least: answered.least + asked.least,
    most: answered.most + asked.most + 1,
    render(bytesMax) {
      // The answer is more important, but the question is read first.
      const [second, first] = shareBytes([answered, asked], bytesMax + 1);
      if (!first?.text || !second?.text) return null;
      return { text: `${first.text}\n${second.text}`, isCut: first.isCut || second.isCut };
    },
  };
}
