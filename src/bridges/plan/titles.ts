// What an author writes as a task's title: its number, whether it is done or dropped, metadata, and the text behind it.

import { addText, skipTask } from "./fields.js";
import { readInline, splitBold } from "./inline.js";
import { splitLabel } from "./labels.js";
import type { At, RawTask } from "./plan.js";
import { describe } from "./remarks.js";
import type { Report } from "./report.js";

const doneSign = /^(?:☑|✅|✔|✓)\ufe0f?\s{1,4}/u;
const openSign = /^(?:☐|⬜|🔲|◻|▢|□|🚧|⏳|🔄|❌)\ufe0f?\s{1,4}/u;
const doneEnd = /\s{0,4}(?:(?:☑|✅|✔|✓)\ufe0f?|[[(](?:done|completed?|finished|☑|✅|✔|✓)[\])])$/iu;
const dropped =
  "dropped|cancell?ed|won['’]t (?:do|fix)|wontfix|skipped|obsolete|postponed|deferred|descoped|out of scope";
const droppedEnd = new RegExp(`\\s{0,4}[[(](?:${dropped})[\\])]$`, "iu");
const droppedWord = new RegExp(`^[\\s–—:(-]{0,6}(?:${dropped})\\b`, "iu");
const struck = /^~~(.{1,500}?)~~\s{0,4}(.{0,500})$/;
const orgPriority = /^\[#([ABC])\]\s{1,4}/;
const link = /\[([^[\]]{1,300})\]\([^()\s]{1,1000}\)/g;

export interface TitleOptions {
  /** Prose behind a number, such as `Step 1: Add a table. It has two columns.`: the first sentence is the title. */
  isParagraph?: boolean;
}

/** Sets title, label, references and details; `at` is where the text begins. */
export function readTitle(
  text: string,
  task: RawTask,
  at: At,
  report: Report,
  options: TitleOptions = {},
): void {
  const sign = doneSign.exec(text.slice(0, 12)) ?? openSign.exec(text.slice(0, 12));
  if (sign && doneSign.test(sign[0])) task.done = true;
  let taken = sign?.[0].length ?? 0;
  const { label, rest, length } = splitLabel(text.slice(taken));
  if (label !== undefined) task.label ??= label;
  taken += length;
  const priority = orgPriority.exec(rest);
  if (priority) task.details.priority = { A: 80, B: 50, C: 20 }[priority[1] as "A" | "B" | "C"];
  const bare = withoutMarks(rest.slice(priority?.[0].length ?? 0), task);
  const place = { line: at.line, column: at.column + taken + (priority?.[0].length ?? 0) };
  const { title, description } = splitBold(withoutLinks(readInline(bare, task, place, report), task));
  task.title = title.length > 1 ? title.replace(/(?:[:：]|(?<![.\s])\.)$/, "") : title;
  if (description) say(task, description, at);
  splitSentences(task, at, options);
}

function withoutMarks(text: string, task: RawTask): string {
  let bare = text.trimEnd();
  if (doneEnd.test(bare)) {
    task.done = true;
    bare = bare.replace(doneEnd, "");
  } else if (droppedEnd.test(bare)) skipTask(task);
  const found = struck.exec(bare);
  if (!found) return bare;
  if (found[2] === "" && !task.isSkipped) task.done = true;
  else if (task.isSkipped || droppedWord.test(found[2]!)) skipTask(task);
  else return bare;
  if (found[2]) addText(task, found[2]);
  return found[1]!;
}

/** `[App.tsx](src/App.tsx)` → `App.tsx`; the text keeps the address. */
function withoutLinks(text: string, task: RawTask): string {
  const shown = text.replace(link, "$1");
  if (shown !== text) addText(task, text);
  return shown;
}

const sentenceEnd = /[.!?。！？](?:\s+|(?<=[。！？]))(?=[\p{Lu}\p{Lo}`"“])/u;
const longTitle = 80;

function splitSentences(task: RawTask, at: At, { isParagraph = false }: TitleOptions): void {
  const end = sentenceEnd.exec(task.title.slice(0, 400));
  if (!end || end.index < 3 || (!isParagraph && task.title.length <= longTitle)) return;
  const rest = task.title.slice(end.index + 1).trim();
  task.title = task.title.slice(0, end.index + 1).replace(/[.。]$/, "");
  say(task, rest, at);
}

/** Text behind a title can say what the task waits for, too. */
function say(task: RawTask, text: string, { line }: At): void {
  describe(task, { number: line, text, indent: 0, isBlank: false });
}
