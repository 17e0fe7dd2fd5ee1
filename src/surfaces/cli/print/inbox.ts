import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Look } from "./look.js";
import { plain, wrap } from "./text.js";
import { ago } from "./time.js";

type Inbox = OutputOf<OperationNamed<"notifications.inbox">>;

export function inboxPage({ questions, notifications }: Inbox, look: Look): string {
  const asked = questions.flatMap(({ id: taskId, title, question }) => [
    `${look.paint("?", "yellow")} ${look.paint(plain(taskId), "bold")}  ${plain(title)}  ${look.paint(ago(question!.askedAt, look.now), "dim")}`,
    ...wrap(question!.text, look.columns - 4).map((line) => `    ${line}`),
    ...(question?.options ? [`    options: ${question.options.map(plain).join(" | ")}`] : []),
    `    ${look.paint(`dibs answer ${plain(taskId)} "…"`, "dim")}`,
  ]);
  const asking = new Set(questions.map(({ project, id }) => `${project}/${id}`));
  // A question stands above already.
  const others = notifications.filter(
    ({ type, project, taskId }) => type !== "TASK_AWAITING_RESPONSE" || !asking.has(`${project}/${taskId}`),
  );
  const told = others.flatMap((each) => {
    const mark = each.severity === "error" ? look.paint("!", "red") : look.paint("·", "dim");
    const task = each.taskId === null ? "" : `${look.paint(plain(each.taskId), "bold")}  `;
    return [
      `${mark} ${task}${plain(each.title)}  ${look.paint(ago(each.createdAt, look.now), "dim")}`,
      ...wrap(plain(each.message), look.columns - 4).map((line) => `    ${line}`),
    ];
  });
  const lines = [...asked, ...told];
  return lines.length === 0 ? "Nothing needs you." : lines.join("\n");
}
