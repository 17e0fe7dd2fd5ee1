// What tasks, results and attempts say about themselves, as labelled lines. The brief cuts them to bytes, other answers to tokens.

import type { WireAttempt, WireTask } from "../../contract/shapes.js";
import { oneLine } from "./data.js";

const listedMax = 50;

/** One line, or none for an empty list. */
export function listed(title: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  const more = items.length > listedMax ? ` and ${items.length - listedMax} more` : "";
  return [`${title}: ${items.slice(0, listedMax).map(oneLine).join(", ")}${more}`];
}

/** Null where the prompt begins with it. */
export function ownTitle({ title, prompt }: WireTask): string | null {
  return prompt.startsWith(title.replace(/\.\.\.$/, "")) ? null : oneLine(title);
}

/** Null where the prompt contains it. */
export function ownDescription({ prompt, description }: WireTask): string | null {
  return description === null || description === "" || prompt.includes(description) ? null : description;
}

type Result = NonNullable<WireTask["result"]>;

/** What was made, apart from the output. */
export function resultFields({ branch, commit, filesCreated, filesModified }: Result): string[] {
  return [
    ...(branch ? [`branch: ${oneLine(branch)}`] : []),
    ...(commit ? [`commit: ${oneLine(commit)}`] : []),
    ...listed("files created", filesCreated),
    ...listed("files modified", filesModified),
  ];
}

/** Label and text of all that an attempt left, the reason of its end first. */
export function attemptTexts(attempt: WireAttempt): [label: string, text: string][] {
  const { releaseReason, error, progress, lateResult, result } = attempt;
  const late = lateResult ? (lateResult.error ?? lateResult.result?.output) : undefined;
  const texts: [string, string | null | undefined][] = [
    ["ended", oneLine(releaseReason ?? "")],
    ["error", error],
    ["last note", progress?.note],
    ["came too late, not applied", late],
    ["result", result?.output],
  ];
  return texts.filter((entry): entry is [string, string] => Boolean(entry[1]));
}

export const hasEnded = ({ releasedAt }: WireAttempt): boolean => releasedAt !== null;
