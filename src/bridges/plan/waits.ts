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
  "depende del?(?: la)?",
  "bloquead[oa] por",
  "dipende da(?:l|lla)?",
  "depende d[aeo]s?",
  "зависит от",
];
/** These are dependencies if what follows is a task. */
const open = [
  "(?:only )?(?:(?:should|must|can|will|has to|needs to)(?: only)? )?(?:to )?(?:be (?:done|started|run|implemented) |comes? |starts? |begins? |runs? )?after(?: (?:completing|finishing|merging))?",
  "blocked until",
  "once",
  "when",
  "as soon as",
  "needs",
  "requires",
  "(?:(?:should|must|has to|needs to) )?wait(?:s|ing)? (?:for|on|until)",
  "(?:cannot|can't|can not|do not|don't|must not|should not|shouldn't) (?:be )?(?:start|started|begin|run|done|merge|merged)(?: this| it)? (?:before|until)",
  "builds? (?:up)?on",
  "relies on",
  "follows",
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
  "depois d[aeo]s?",
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
  /** What follows it, if that is about something else: ` Use Playwright.` */
  rest: string;
}

/** What a phrase waits for, if it is such a phrase. */
export function waitsIn(phrase: string): Waits | undefined {
  const text = phrase.trimEnd();
  const found = begins.exec(text.slice(0, 80));
  if (found) {
    const start = found[0].length + (article.exec(text.slice(found[0].length))?.[0].length ?? 0);
    return { ...cut(text.slice(start)), start, isFirm: found[1] !== undefined };
  }
  const bare = text.replace(/[.。]$/, "");
  for (const pattern of around) {
    const value = pattern.exec(bare.slice(0, 320))?.[1];
    if (value !== undefined) return { value, start: bare.indexOf(value), isFirm: false, rest: "" };
  }
  return undefined;
}

/** `1 is done` → `1`. */
const ending =
  /\s(?:(?:is|are|has been|have been|gets?)\s)?(?:done|completed?|finished|merged|ready|landed|lands|in place)(?=[.!,;]|$)[.!]?/i;
const kinds =
  "tasks?|steps?|items?|phases?|milestones?|stages?|tickets?|issues?|aufgaben?|schritte?|tâches?|étapes?|sections?|waves?|tareas?|pasos?|tarefas?|passos?|задач[аиуе]?й?|шаг[аи]?";
const numbered = `(?:(?:the )?(?:${kinds})\\s)?#?(?:[A-Z]{1,10}-?)?\\d{1,6}(?:\\.\\d{1,6}){0,8}[a-c]?(?![\\p{L}\\d])`;
const numbers = new RegExp(
  `^${numbered}(?:\\s?(?:[,;&+/–-]|and|or|to|through|und|bis|et|à|y|e|и)\\s?(?:and\\s)?${numbered}){0,100}`,
  "iu",
);
const clearly = new RegExp(`^(?:the )?(?:${kinds})\\s|^#|^[A-Z]{1,10}-?\\d`, "iu");
/** After a bare number, which may count something: `3 retries`. */
const boundary = /^(?:[.,;:!?)\]]|\s*(?:$|[([–—-]|(?:is|are|has|have|was|were|and|then|before|done)\b))/i;

/** Up to where the words name tasks: numbers, or a title up to the end of its clause. */
function cut(text: string): Pick<Waits, "value" | "rest"> {
  const list = numbers.exec(text.slice(0, 2000))?.[0];
  const after = list === undefined ? "" : text.slice(list.length);
  if (list !== undefined && (boundary.test(after) || clearly.test(list))) {
    const end = ending.exec(after);
    return { value: list, rest: words(end?.index === 0 ? after.slice(end[0].length) : after) };
  }
  const end = ending.exec(text);
  if (end) return { value: text.slice(0, end.index), rest: words(text.slice(end.index + end[0].length)) };
  const stop = /[.;!]\s+(?=\S)/.exec(text);
  return stop
    ? { value: text.slice(0, stop.index), rest: words(text.slice(stop.index)) }
    : { value: text, rest: "" };
}

const words = (text: string) => (/[\p{L}\p{N}]/u.test(text) ? text : "");
/** `the task 1` → `task 1`. */
const article =
  /^(?:(?:the|la|el|le|der|die|das|dem|del)\s|l['’])(?=(?:task|step|item|tarea|paso|tâche|étape|aufgabe|tarefa)s?\s)/iu;

const sentence = new RegExp(
  `^(?:(?:this|it|the task|this task) )?(?=(?:${[...firm, ...open, joined].join("|")}))`,
  "iu",
);
/** In the middle of a sentence only numbers count that say they are of tasks. */
const within = new RegExp(
  `(?<!\\bnot|n't|no longer)[\\s(](?:${[...firm, ...open].join("|")}) (?:the |l['’])?((?=(?:${kinds})\\s|#|[A-Z]{1,10}-?\\d)${numbers.source.slice(1)})`,
  "iu",
);

/** What a line of a task's text waits for: sentences that say nothing else, or `… depends on task 2` within one. */
export function waitsInLine(line: string): (Waits & { isWhole: boolean })[] {
  if (line.length > lineMax) return [];
  return sentencesOf(line).flatMap(({ text, start }) => {
    const found = waitsInSentence(text);
    return found ? [{ ...found, start: found.start + start }] : [];
  });
}

const lineMax = 4000;

function sentencesOf(line: string): { text: string; start: number }[] {
  const sentences: { text: string; start: number }[] = [];
  let start = 0;
  for (const { 0: end, index } of line.matchAll(/[.;!?。；]\s*(?=[\p{Lu}\p{Lo}])/gu)) {
    sentences.push({ text: line.slice(start, index), start });
    start = index + end.length;
  }
  sentences.push({ text: line.slice(start), start });
  return sentences;
}

function waitsInSentence(text: string): (Waits & { isWhole: boolean }) | undefined {
  const lead = sentence.exec(text.slice(0, 40))?.[0].length;
  const whole = waitsIn(text.slice(lead ?? 0));
  if (whole)
    return {
      ...whole,
      start: whole.start + (lead ?? 0),
      value: whole.value.replace(/[.。]$/, ""),
      isWhole: true,
    };
  const found = within.exec(text);
  if (!found) return undefined;
  const value = found[1]!;
  const start = found.index + found[0].length - value.length;
  return { value, start, isFirm: false, rest: "", isWhole: false };
}
