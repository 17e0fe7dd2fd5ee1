// Tasks in the front matter of a Markdown document: `todos:` with `- id:`, `content:`, `status:`, `dependencies:`.

import { fieldNamed } from "./field-names.js";
import { addText, isPlausible, setField } from "./fields.js";
import type { Line } from "./lines.js";
import { newTask, type RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { unwrap } from "./words.js";

const opens = /^(?:todos|tasks|steps)\s?:\s*$/;
const entry = /^(\s{0,40}(?:-\s{1,4})?)([\w-]{1,40})\s?:\s*(.*)$/;
const value = /^\s{1,40}-\s{1,4}(.+)$/;

/** The tasks, if there are some; other lines are reported. */
export function frontTasks(lines: readonly Line[], report: Report): RawTask[] {
  const from = lines.findIndex(({ text }) => opens.test(text));
  if (from < 0) return [];
  const tasks: RawTask[] = [];
  let isInside = false;
  let name = "";
  for (const [index, line] of lines.entries()) {
    if (/^\S/.test(line.text)) isInside = index === from;
    if (!isInside || index === from) {
      if (index !== from && !/^---\s*$/.test(line.text)) report.stray(line);
      continue;
    }
    const named = entry.exec(line.text);
    if (named?.[1]?.includes("-")) tasks.push(newTask({ line: line.number, column: named[1].length + 1 }));
    const task = tasks.at(-1);
    const listed = named ? undefined : value.exec(line.text)?.[1];
    if (named) name = named[2]!;
    if (!task || (!named && listed === undefined)) report.stray(line);
    else set(task, name, unwrap(named?.[3] ?? listed ?? ""), line, report);
  }
  return tasks;
}

function set(task: RawTask, name: string, text: string, line: Line, report: Report): void {
  if (text === "") return;
  const field = name === "content" || name === "text" || name === "task" ? "title" : fieldNamed(name);
  const at = { line: line.number, column: line.text.length - text.length + 1 };
  const read = field && { field, name, value: text, start: at.column - 1 };
  if (read && isPlausible(read)) setField(task, read, at, report);
  else addText(task, `${name}: ${text}`);
}
