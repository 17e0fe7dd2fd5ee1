// What an author says to the reader of a plan, not to the agents.

import { addText, skipMarks } from "./fields.js";
import type { Line } from "./lines.js";
import type { RawTask } from "./plan.js";
import { waitsInLine } from "./waits.js";

const closing =
  /^[*_]{0,3}(?:let me know|hope (?:this|that|it)|shall i|should i|would you like|do you want|feel free|happy to|i hope|i can also|if you(?:'d| would)? (?:like|want|need)|that (?:should|is all|'s all|'s it)|anything else|thanks|thank you|good luck|bye|cheers|i assumed|want me to|ready to|does this|do these|is this|look(?:s)? good|sounds? good|any questions|what do you think|please (?:review|confirm)|sag bescheid|soll ich|n'hésite|dis-moi|avísame|si quieres|如果|需要我|ご質問|何か)/iu;

/** The numbers of the lines of a last paragraph such as "Let me know if …". */
export function closingRemark(lines: readonly Line[]): Set<number> {
  let end = lines.length - 1;
  while (end >= 0 && lines[end]!.isBlank) end--;
  let start = end;
  while (start > 0 && !lines[start - 1]!.isBlank && end - start < 10) start--;
  const first = lines[start];
  const isApart = first !== undefined && start > 0 && lines[start - 1]!.isBlank && first.indent === 0;
  if (!isApart || !closing.test(first.text)) return new Set();
  return new Set(lines.slice(start, end + 1).map(({ number }) => number));
}

/** Without emphasis, code marks and brackets around it. */
export const bareLine = (text: string) =>
  text
    .replace(/[*`]|__/g, "")
    .replace(/^(?:\s|\p{Extended_Pictographic}|\ufe0f)+/u, "")
    .trim()
    .replace(/^\((.*)\)\.?$/, "$1");

/** A line of a task's description; it can also say what the task waits for. */
export function describe(task: RawTask, line: Line): void {
  addText(task, line.text);
  const from = skipMarks(line.text);
  for (const waits of waitsInLine(bareLine(line.text.slice(from)))) {
    task.references.push({
      text: waits.value,
      at: { line: line.number, column: from + waits.start + 1 },
      isList: true,
      guess: { isSilent: !(waits.isWhole && waits.isFirm) },
    });
  }
}
