// `(after login)` is a dependency if a task is called so. If none is, the words stay where they were, and a note says so.

import type { RawTask, Reference } from "./plan.js";
import type { Resolver } from "./references.js";
import type { Report } from "./report.js";
import { quote } from "./words.js";

/** True when a title changed, so that titles have to be looked up again. */
export function settleGuesses(tasks: readonly RawTask[], resolver: Resolver, report: Report): boolean {
  let isChanged = false;
  for (const task of tasks) {
    if (task.references.every(({ guess }) => !guess)) continue;
    task.references = task.references.flatMap((reference) => {
      if (!reference.guess) return [reference];
      const { guess, ...certain } = reference;
      const { isAll, parts, others } = resolver.understood(task, reference);
      // `depends on 1, can take a while`: what is found counts. With nothing found it is a problem.
      const likely = guess.isFirm
        ? others.filter(({ text }) => resolver.index.loose(text, task).kind === "task")
        : [];
      if (guess.isFirm && parts.length + likely.length === 0) return [certain];
      const missing = others.filter((each) => !likely.includes(each)).map(({ text }) => text);
      if (!isAll && likely.length < others.length)
        isChanged = putBack(task, reference, missing, report) || isChanged;
      const isSoft = guess.phrase === undefined;
      return isSoft ? parts.map((part) => ({ ...part, isSoft })) : [...parts, ...likely];
    });
  }
  return isChanged;
}

function putBack(task: RawTask, { text, at, guess }: Reference, missing: string[], report: Report): boolean {
  const phrase = guess?.phrase;
  if (!guess?.isSilent) {
    const where = phrase === undefined ? "the text" : "the title";
    report.note(
      `Line ${at.line}: ${quote(missing.join(", ") || text)} is no task of this plan, so ${quote(task.title)} does not wait for it; it stays in ${where}.`,
    );
  }
  if (phrase === undefined) return false;
  task.title = `${task.title}${/^[,;]/.test(phrase) ? "" : " "}${phrase}`;
  return true;
}
