import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Look } from "./look.js";
import { plain, wrap } from "./text.js";
import { ago } from "./time.js";

type Inbox = OutputOf<OperationNamed<"notifications.inbox">>;

export function inboxPage({ questions, notifications }: Inbox, look: Look): string {
  if (questions.length === 0 && notifications.length === 0) return "Nothing needs you.";
  const asked = questions.flatMap(({ id: taskId, title, question }) => [
    `${look.paint("?", "yellow")} ${look.paint(plain(taskId), "bold")}  ${plain(title)}  ${look.paint(ago(question!.askedAt, look.now), "dim")}`,
    ...wrap(question!.text, look.columns - 4).map((line) => `    ${line}`),
    ...(question?.options ? [`    options: ${question.options.map(plain).join(" | ")}`] : []),
    `    ${look.paint(`dibs answer ${plain(taskId)} "…"`, "dim")}`,
  ]);
  const told = notifications.map((each) => {
    const mark = each.severity === "error" ? look.paint("!", "red") : look.paint("·", "dim");
    return `${mark} ${plain(each.title)}: ${plain(each.message)}  ${look.paint(ago(each.createdAt, look.now), "dim")}`;
  });
  return [...asked, ...told].join("\n");
}
