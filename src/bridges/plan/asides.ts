// What a plan says about its tasks outside of them: `T2 depends on T1` in a section of its own, and a table that lists
// what headings describe.

import { skipMarks } from "./fields.js";
import type { Line } from "./lines.js";
import type { At, RawTask } from "./plan.js";
import type { Resolver } from "./references.js";
import { bareLine } from "./remarks.js";
import type { Report } from "./report.js";
import { quote } from "./words.js";

/** A line outside of all tasks that names a task and what it waits for. */
export interface Relation {
  subject: string;
  value: string;
  at: At;
}

export class Asides {
  readonly relations: Relation[] = [];
  /** Rows of tables, read as if they were tasks. */
  readonly rows: RawTask[] = [];

  /** A line that belongs to no task. */
  line({ text, number }: Line): void {
    if (text.length > 2000 || this.relations.length > 10_000) return;
    const from = skipMarks(text);
    for (const sentence of bareLine(text.slice(from)).split(
      /[.;]\s|,\s(?=\S{1,12}\s(?:needs|depends|requires|waits))/,
    )) {
      const found = relation.exec(sentence.trim());
      if (found)
        this.relations.push({ subject: found[1]!, value: found[2]!, at: { line: number, column: from + 1 } });
    }
  }

  /** Adds what was found to the tasks that are meant. */
  settle(resolver: Resolver, report: Report): void {
    for (const { subject, value, at } of this.relations) {
      const subjects = resolver.meant(subject);
      const others = resolver.meant(
        value.replace(/\s(?:phase )?(?:completion|being done|is done|are done)\b.*$/i, ""),
      );
      if (!subjects.isAll || others.tasks.length === 0) continue;
      for (const task of subjects.tasks) {
        for (const other of others.tasks)
          if (other !== task)
            task.references.push({ text: "", at, isList: false, isSoft: true, task: other });
      }
      if (others.isAll) report.found(at.line);
      const names = (tasks: RawTask[]) => tasks.map(({ title }) => quote(title)).join(", ");
      const verb = subjects.tasks.length === 1 ? "waits" : "wait";
      report.note(`Line ${at.line}: ${names(subjects.tasks)} ${verb} for ${names(others.tasks)}.`);
    }
    for (const row of this.rows) {
      const [task, another] = resolver.meant(row.label ?? row.title).tasks;
      if (!task || another) continue;
      for (const reference of row.references)
        task.references.push({ ...reference, guess: { isSilent: false } });
      task.details = { ...row.details, ...task.details };
      if (row.done && !task.done) task.done = true;
      report.found(row.at.line);
    }
  }
}

const relation =
  /^(.{1,120}?)\s?[:：–—]?\s(?:(?:all|both|each) )?(?:depends? (?:up)?on|requires?|needs?|must wait for|waits? for|(?:is|are) blocked by|(?:comes?|starts?|runs?) after)\s(.{1,300}?)[.]?$/i;
