import type { WireEvent } from "../../../contract/shapes.js";
import type { Look, Style } from "./look.js";
import { cut, padTo, plain } from "./text.js";

const styles: Partial<Record<string, Style>> = {
  "task:completed": "green",
  "task:failed": "red",
  "task:claim-expired": "red",
  "task:claim-orphaned": "red",
  "task:awaiting-response": "yellow",
  "task:claimed": "cyan",
};

export function eventLine({ seq, at, type, taskId, sessionId, actor, data }: WireEvent, look: Look): string {
  const time = at.slice(11, 19);
  const who = plain(sessionId ?? actor);
  const detail = plain(
    data.title ?? data.reason ?? data.error ?? data.note ?? data.question ?? data.response ?? "",
  );
  const left = `${String(seq).padStart(6)}  ${time}  ${look.paint(padTo(type.replace(/^task:/, ""), 18), styles[type])}  ${padTo(plain(taskId ?? ""), 12)}  ${padTo(who, 14)}`;
  const room = Math.max(0, look.columns - 64);
  return `${left}  ${cut(detail, room)}`.trimEnd();
}
