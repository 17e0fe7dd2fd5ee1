// Numbers that authors give to their tasks: `1.`, `Task 3:`, `T001`, `**Step 2** –`, `AUTH-12:`, `任务 1：`.

const words =
  "sub-?tasks?|tasks?|steps?|items?|to-?do|tickets?|aufgaben?|schritte?|tâches?|taches?|étapes?|etapes?|tareas?|pasos?|tarefas?|passos?|задач[аиуе]|задачей|шага?|任务|任務|步骤|步驟|タスク|ステップ|手順|작업|단계";
const word = `(?:${words})\\s{0,2}[#-]?\\s{0,2}`;
const number = "\\d{1,6}(?:\\.\\d{1,6}){0,8}";

/** `Task 3: …`, `Step 2 – …`; a letter only before a colon. */
const named = `${word}([A-Za-z]{0,2}${number}[a-z]?|(?<=\\s)[A-Z](?=\\s{0,2}[:：]))\\s{0,2}[:：.)–—-]\\s{0,4}`;
const coded = `(T-?\\d{1,6}|#?\\d{1,6}(?:\\.\\d{1,6}){1,8})[:：.)]?\\s{1,4}`;
const counted = "(?:#?(\\d{1,6})[.):：]|#(\\d{1,6}))\\s{1,4}";
const labelled = new RegExp(`^(?:${named}|${coded}|${counted})(?=\\S)`, "iu");
const ticket = /^([A-Z]{2,10}-\d{1,6})(?:[:：]|\s[–—-])\s{1,4}(?=\S)/;
/** `**Task 1:** …`, `**1.** …`, `` `T1` … ``. */
const marked = new RegExp(
  `^(\\*\\*|__|\`)(?:${word}|#)?(T?-?${number}|[A-Z]{2,10}-\\d{1,6})\\s{0,2}[:：.)–—-]?\\1\\s{0,3}[:：.)–—-]?\\s{1,4}(?=\\S)`,
  "iu",
);
const alone = new RegExp(`^${word}(${number}|(?<=\\s)[A-Z])$`, "iu");
const says = new RegExp(`^(?:\\*\\*|__|\`)?(?:${word}(?:\\d|(?<=\\s)[A-Z]|[A-Z]{1,2}\\d)|T-?\\d)`, "iu");
const saysTicket = /^(?:(?:\*\*|__|`)[A-Z]{2,10}-\d{1,6}\b|[A-Z]{2,10}-\d{1,6}[:：]\s)/;
const leading = new RegExp(`^(?:${words}|number|no\\.?|nr\\.?|t)[\\s_#:-]{0,4}(?=[a-z]{0,2}\\d)`, "u");

export interface Label {
  label?: string;
  /** The text without it. Emphasis around both stays with the rest. */
  rest: string;
  /** How many characters were taken off. */
  length: number;
}

export function splitLabel(text: string): Label {
  const head = text.slice(0, 80);
  const apart = marked.exec(head);
  if (apart) return { label: apart[2]!, rest: text.slice(apart[0].length), length: apart[0].length };
  const bold = /^(?:\*\*|__)/.exec(head)?.[0] ?? "";
  const inner = head.slice(bold.length);
  const found = labelled.exec(inner) ?? ticket.exec(inner);
  const label = found?.slice(1).find((each) => each !== undefined);
  if (label !== undefined) {
    const { length } = found![0];
    return { label: label.replace(/^#/, ""), rest: bold + text.slice(bold.length + length), length };
  }
  const whole = alone.exec(inner.replace(/[*_:：\s]+$/, ""))?.[1];
  return { ...(whole !== undefined && text.length < 40 && { label: whole }), rest: text, length: 0 };
}

/** Whether a heading or a line says by itself that it is a task: `Task 3: …`, `Step 2`, `T001 …`. */
export function saysTask(text: string): boolean {
  return (
    (says.test(text.slice(0, 40)) || saysTicket.test(text.slice(0, 40))) &&
    splitLabel(text).label !== undefined
  );
}

/** `Task 01`, `#1`, `T001`, `1.` → `1`. */
export function reduceLabel(label: string): string {
  return label
    .toLowerCase()
    .trim()
    .replace(/^#\s?/, "")
    .replace(leading, "")
    .replace(/[.):：]+$/, "")
    .replace(/^([a-z]{0,3})0+(?=\d)/, "$1");
}
