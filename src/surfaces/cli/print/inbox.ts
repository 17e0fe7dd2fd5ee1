import { asksForReview, reviewMessage } from "../../../client/view/reviews.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display } from "./display.js";
import { cut, plain, widthOf, wrap } from "./text.js";
import { ago } from "./time.js";

type Inbox = OutputOf<OperationNamed<"notifications.inbox">>;

/** In one line: a title is cut rather than the time. */
function headLine(mark: string, taskId: string | null, title: string, at: string, display: Display): string {
  const left = `${mark} ${taskId === null ? "" : `${display.paint(plain(taskId), "bold")}  `}`;
  const time = ago(at, display.now);
  const room = display.columns - widthOf(left) - widthOf(time) - 2;
  return `${left}${cut(plain(title), Math.max(8, room))}  ${display.paint(time, "dim")}`;
}

type Notification = Inbox["notifications"][number];

function commandsFor(notification: Notification): string[] {
  if (!asksForReview(notification)) return [];
  const id = plain(notification.taskId);
  return [`dibs review ${id}`, `dibs approve ${id}`, `dibs reject ${id} "<what to change>"`];
}

export function inboxPage({ questions, notifications }: Inbox, display: Display): string {
  const asked = questions.flatMap(({ id: taskId, title, question }) => [
    headLine(display.paint("?", "yellow"), taskId, title, question!.askedAt, display),
    ...wrap(question!.text, display.columns - 4).map((line) => `    ${line}`),
    ...(question?.options
      ? wrap(`options: ${question.options.map(plain).join(" | ")}`, display.columns - 4).map(
          (line) => `    ${line}`,
        )
      : []),
    `    ${display.paint(`dibs answer ${plain(taskId)} "<your answer>"`, "dim")}`,
  ]);
  const asking = new Set(questions.map(({ project, id }) => `${project}/${id}`));
  // A question stands above already.
  const others = notifications.filter(
    ({ type, project, taskId }) => type !== "TASK_AWAITING_RESPONSE" || !asking.has(`${project}/${taskId}`),
  );
  const told = others.flatMap((each) => {
    const mark = each.severity === "error" ? display.paint("!", "red") : display.paint("·", "dim");
    return [
      headLine(mark, each.taskId, each.title, each.createdAt, display),
      ...wrap(plain(asksForReview(each) ? reviewMessage(each) : each.message), display.columns - 4).map(
        (line) => `    ${line}`,
      ),
      ...commandsFor(each).map((command) => `    ${display.paint(command, "dim")}`),
    ];
  });
  const lines = [...asked, ...told];
  return lines.length === 0 ? "Nothing needs you." : lines.join("\n");
}
