// Words that say what a task waits for, without a colon: `depends on 1`, `after "Alpha"`, `hängt ab von 2`, `任务 1 之后`.

/** Nothing else is meant by these. */
const firm = [
  "depends? (?:up)?on",
  "dependent on",
  "blocked by",
  "hängt ab von",
  "abhängig von",
  "blockiert (?:durch|von)",
  "dépend(?:ant)? (?:de la|des|de|du|d')",
  "bloquée? par",
  "depende del?",
  "bloquead[oa] por",
  "dipende da(?:l|lla)?",
  "зависит от",
];
/** These are dependencies if what follows is a task. */
const open = [
  "(?:only |starts? |runs? |comes? |must (?:come|run|start) |to be done )?after",
  "once",
  "needs",
  "requires",
  "waits (?:for|on)",
  "waiting (?:for|on)",
  "(?:erst )?nach",
  "braucht",
  "benötigt",
  "erfordert",
  "wartet auf",
  "après",
  "nécessite",
  "requiert",
  "attend",
  "después de",
  "tras",
  "requiere",
  "necesita",
  "espera a",
  "após",
  "depois de",
  "precisa de",
  "dopo",
  "richiede",
  "после",
];
/** Written without blanks. */
const joined = "依赖于?|依賴於?|取决于|依存(?:先)?|前置(?:任务)?|需要";

const begins = new RegExp(
  `^(?:(${firm.join("|")}) +|(${open.join("|")}) +|(?:${joined})\\s*)(?=[^\\s:：])`,
  "iu",
);
const around = [
  /^hängt von (.{1,300}) ab$/iu,
  /^在?\s*(.{1,300}?)\s*(?:之后|以后|完成后|之後|完成後)$/u,
  /^(.{1,300}?)\s*(?:の後に?|の完了後|完了後|に依存(?:する)?|待ち)$/u,
];

export interface Waits {
  /** What the task waits for. */
  value: string;
  /** Where that begins in the text. */
  start: number;
  isFirm: boolean;
}

/** What a phrase waits for, if it is such a phrase. */
export function waitsIn(phrase: string): Waits | undefined {
  const text = phrase.trimEnd();
  const found = begins.exec(text.slice(0, 80));
  if (found) {
    const start = found[0].length + (article.exec(text.slice(found[0].length))?.[0].length ?? 0);
    return { value: text.slice(start).replace(ending, ""), start, isFirm: found[1] !== undefined };
  }
  const bare = text.replace(/[.。]$/, "");
  for (const pattern of around) {
    const value = pattern.exec(bare.slice(0, 320))?.[1];
    if (value !== undefined) return { value, start: bare.indexOf(value), isFirm: false };
  }
  return undefined;
}

/** `1 is done` → `1`. */
const ending = /\s(?:(?:is|are|has been|have been)\s)?(?:done|completed?|finished|merged|ready)[.!]?$/i;
/** `the task 1` → `task 1`. */
const article = /^(?:the|la|el|le|der|die|das|dem)\s(?=(?:task|step|item|tarea|paso|tâche|aufgabe)\b)/iu;

const sentence = new RegExp(
  `^(?:(?:this|it|the task|this task) )?(?=(?:${[...firm, ...open, joined].join("|")}))`,
  "iu",
);
const within = new RegExp(
  `(?:^|\\s)(${firm.slice(0, 3).join("|")}) ((?:tasks?|steps?|items?|#)\\s?.{1,200}?)(?:[.;]\\s|[.;]?$)`,
  "iu",
);

/** What a line of a task's text waits for: all of the line, or `… depends on task 2` within it. */
export function waitsInLine(line: string): (Waits & { isWhole: boolean }) | undefined {
  const lead = sentence.exec(line.slice(0, 40))?.[0].length;
  const whole = lead === undefined ? waitsIn(line) : waitsIn(line.slice(lead));
  if (whole)
    return {
      ...whole,
      start: whole.start + (lead ?? 0),
      value: whole.value.replace(/[.。]$/, ""),
      isWhole: true,
    };
  const found = line.length < 2000 ? within.exec(line) : null;
  if (!found) return undefined;
  return {
    value: found[2]!,
    start: found.index + found[0].indexOf(found[2]!),
    isFirm: false,
    isWhole: false,
  };
}
