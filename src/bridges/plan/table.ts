// Tables whose rows are tasks: one column has the titles, the others are fields or text.

import { plain } from "../../common/text.js";
import { type Field, fieldNamed } from "./field-names.js";
import { addText, isPlausible, setField } from "./fields.js";
import type { Line } from "./lines.js";
import { newTask, type RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { readTitle } from "./titles.js";
import { withoutEmphasis } from "./words.js";

const titles =
  /^(?:tasks?|task (?:name|title)|title|name|item|step|work ?item|story|ticket|issue|feature|activity|deliverable|what|aufgabe|titel|schritt|tâche|titre|étape|tarea|título|paso|tarefa|任务|任務|标题|步骤|タスク|タイトル|作業)$/i;
const numbers = /^(?:#|no\.?|nr\.?|nº|num(?:ber)?|id|task id|key|编号|序号|番号|№)$/i;

type Column = { name: string } & ({ kind: "title" | "label" | "text" } | { kind: "field"; field: Field });

interface Cell {
  text: string;
  /** From 1. */
  column: number;
}

/** The columns, if rows of this table are tasks. */
export function taskColumns([head, , ...rows]: readonly Line[]): Column[] | undefined {
  const names = cellsOf(head!.text).map(({ text }) => withoutEmphasis(plain(text)));
  const title = names.findIndex((name) => titles.test(name));
  const columns = names.map((name, index): Column => {
    if (index === title) return { name, kind: "title" };
    if (numbers.test(name)) return { name, kind: "label" };
    const field = fieldNamed(name);
    return field && field !== "title" ? { name, kind: "field", field } : { name, kind: "text" };
  });
  // `| Task | Owner |` over `| 1 | ann |` is about tasks that are written elsewhere.
  const isTitle = (row: Line) => /\p{L}{2}/u.test(cellsOf(row.text)[title]?.text ?? "");
  if (title >= 0) return rows.length === 0 || rows.some(isTitle) ? columns : undefined;
  // `| ID | Description | Depends on |`: what is described is the task.
  const described = columns.findIndex((each) => each.kind === "field" && each.field === "description");
  if (described < 0 || !saysMore(columns)) return undefined;
  columns[described] = { name: names[described]!, kind: "title" };
  return columns;
}

/** Not only titles and remarks: a number, a dependency or another field. */
export const saysMore = (columns: Column[]) =>
  columns.some((each) => each.kind === "label" || (each.kind === "field" && each.field !== "description"));

export function rowTask(columns: Column[], line: Line, report: Report): RawTask | undefined {
  const cells = cellsOf(line.text);
  const task = newTask({ line: line.number, column: 1 });
  for (const [index, cell] of cells.entries()) {
    const column = columns[index];
    if (cell.text.trim() === "") continue;
    if (column) setCell(task, column, cell, line, report);
    else addText(task, cell.text);
  }
  return task.title === "" && task.description === "" ? undefined : task;
}

function setCell(task: RawTask, column: Column, cell: Cell, line: Line, report: Report): void {
  const at = { line: line.number, column: cell.column };
  const text = cell.text.replace(/<br\s*\/?>/gi, "\n");
  if (column.kind === "title") {
    task.at = at;
    readTitle(text, task, at, report);
  } else if (column.kind === "label") task.label = withoutEmphasis(plain(text)).replace(/[.)]$/, "");
  else if (column.kind === "field") {
    const field = { field: column.field, name: column.name, value: text, start: cell.column - 1 };
    if (isPlausible(field)) setField(task, field, at, report);
    else addText(task, `${column.name}: ${text}`);
  } else addText(task, column.name ? `${column.name}: ${text}` : text);
}

/** Between bars, except in code and behind a backslash. */
function cellsOf(line: string): Cell[] {
  const cells: Cell[] = [];
  const from = /^\s*\|/.exec(line)?.[0].length ?? 0;
  const to = /\|\s*$/.test(line) ? line.trimEnd().length - 1 : line.length;
  let isCode = false;
  for (let start = from, at = from; at <= to; at++) {
    if (line[at] === "`") isCode = !isCode;
    const isBar = line[at] === "|" && line[at - 1] !== "\\" && !isCode;
    if (at < to && !isBar) continue;
    const raw = line.slice(start, at);
    const lead = raw.length - raw.trimStart().length;
    cells.push({ text: raw.trim().replaceAll("\\|", "|"), column: start + lead + 1 });
    start = at + 1;
  }
  return cells;
}
