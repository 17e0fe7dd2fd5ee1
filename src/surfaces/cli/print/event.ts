import { overlapText } from "../../../client/view/words.js";
import type { WireEvent } from "../../../contract/shapes.js";
import type { Display, Style } from "./display.js";
import { cut, padTo, plain, widthOf } from "./text.js";

const styles: Partial<Record<string, Style>> = {
  "task:completed": "green",
  "task:failed": "red",
  "task:claim-expired": "red",
  "task:claim-orphaned": "red",
  "task:awaiting-response": "yellow",
  "task:claimed": "cyan",
};

/** By the clock on the wall; with the day where that is another. */
function timeText(at: string, now: number): string {
  const [then, today] = [new Date(at), new Date(now)];
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = [then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(":");
  const isToday = then.toDateString() === today.toDateString();
  return isToday ? clock : `${two(then.getMonth() + 1)}-${two(then.getDate())} ${clock}`;
}

/** Who did it. What happens to a session, or by itself, is told with the session that it happens to. */
function whoOf({ type, sessionId, actor }: WireEvent): string {
  const isOwn = actor === "system" || type.startsWith("session:");
  return plain(isOwn && sessionId !== null ? sessionId : actor.replace(/^agent:/, ""));
}

export function eventLine(event: WireEvent, display: Display): string {
  const { seq, at, type, taskId, data } = event;
  const time = timeText(at, display.now);
  const who = whoOf(event);
  const { title, error, note, question, response, reason, archived } = data;
  const overlap = type === "task:overlap" ? overlapText(event) : undefined;
  const text = title ?? error ?? note ?? question ?? response ?? reason ?? overlap;
  const detail = plain(archived === true ? "archived" : text);
  const lead = `${String(seq).padStart(6)}  ${time}  `;
  const kind = padTo(type.replace(/^task:/, ""), Math.min(20, display.columns - lead.length));
  const rest = `  ${padTo(plain(taskId ?? ""), 10)}  ${padTo(who, 12)}  ${detail}`.trimEnd();
  const room = Math.max(0, display.columns - lead.length - widthOf(kind));
  return `${lead}${display.paint(kind, styles[type])}${cut(rest, room)}`.trimEnd();
}
