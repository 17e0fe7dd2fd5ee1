// Which words of a plan were lost on the way: neither in a task nor in a note or problem.

import { fieldNamed } from "../../src/bridges/plan/field-names.js";
import type { ReadResult } from "../../src/bridges/plan/index.js";

/** Names of fields, and words that are read as structure. */
const structure = new Set(
  "task tasks subtask subtasks step steps item priority after before depends depend blocked waits waiting needs requires once the and this that must run for only high medium low critical none normal yes todo todos content pending progress completed done highest everything else completion teststrategy can parallel with won json yaml markdown text prio".split(
    " ",
  ),
);
/** The same in other languages. */
const foreign = new Set(
  "hoch nach hängt tâche haute après dépend después baja alta depois tarefa после зависит задача étapes 在任务 依赖任务 タスク に依存".split(
    " ",
  ),
);

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{M}]{3,}/gu) ?? [];

export function lostWords(source: string, read: ReadResult): string[] {
  // A refused plan creates nothing; its author still has it.
  if (!read.ok) return [];
  const found = [...textsIn(read.plan.tasks), ...read.plan.notes];
  const all = new Set(wordsOf(found.join("\n")));
  const names = new Set(
    [...source.matchAll(/([\p{L}][\p{L} _-]{1,30})["*_`]{0,3}\s?(?:[:：|]|$)/gmu)]
      .filter(([, name]) => fieldNamed(name!) !== undefined)
      .flatMap(([, name]) => wordsOf(name!)),
  );
  return [...new Set(wordsOf(source))].filter(
    (word) => !all.has(word) && !structure.has(word) && !foreign.has(word) && !names.has(word),
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)]);
}
