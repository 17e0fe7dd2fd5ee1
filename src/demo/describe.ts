// Events as sentences, for the log under the table and for output that is not a terminal.

import { plain } from "../common/text.js";
import type { DibsEvent } from "../index.js";
import { messageOf, type Style, seconds } from "./text.js";

type Titles = ReadonlyMap<string, string>;

export function describe(event: DibsEvent, titles: Titles): string {
  const who = plain(event.sessionId ?? event.actor.replace(/^\w+:/, ""));
  const id = plain(event.taskId);
  const task = `${id} ${plain(titles.get(event.taskId ?? ""))}`;
  const { data } = event;
  switch (event.type) {
    case "task:created":
      return `${who} plans ${task}`;
    case "task:queued":
      return `${task} is queued`;
    case "task:claimed":
      return `${who} claims ${task}${event.epoch === 1 ? "" : ` (attempt ${event.epoch})`}`;
    case "task:started":
      return `${who} starts ${task}`;
    case "task:progress":
      return `${who} is at ${data.percent} % of ${task}: ${plain(data.note)}`;
    case "task:awaiting-response":
      return `${who} asks about ${task}: ${plain(data.question)}`;
    case "task:response-received":
      return `${plain(event.actor.replace(/^\w+:/, ""))} answers ${task}: ${plain(data.response)}`;
    case "task:completed":
      return event.sessionId === null ? `${task} is completed with its subtasks` : `${who} completes ${task}`;
    case "task:failed":
      return `${task} failed: ${messageOf(data.error)}`;
    case "task:retry-scheduled": {
      const wait = seconds(Date.parse(String(data.retryAt)) - Date.parse(event.at));
      return `${who} failed at ${task}, retry in ${wait}: ${messageOf(data.error)}`;
    }
    case "task:claim-orphaned":
    case "task:claim-expired":
      return `${task} is taken back from ${who} (${plain(data.cause ?? data.reason)})`;
    case "task:unblocked":
      return `${task} is ready`;
    case "notification:created":
      return `a human is notified about ${task}`;
    case "notification:read":
      return `the notification about ${task} is read`;
    case "project:updated":
      return `${who} sets up the project`;
    case "session:registered":
      return `${who} reports for work`;
    case "session:ended":
      return data.reason === "process_gone" ? `${who} is found dead` : `${who} leaves`;
    default:
      return `${event.type} ${event.taskId === null ? "" : task}`.trimEnd();
  }
}

export function styleOf({ type }: DibsEvent): Style | undefined {
  switch (type) {
    case "task:awaiting-response":
    case "task:response-received":
    case "task:retry-scheduled":
      return "yellow";
    case "task:failed":
    case "task:claim-orphaned":
    case "task:claim-expired":
      return "red";
    case "task:completed":
      return "green";
    default:
      return undefined;
  }
}

/** What the table shows anyway, or another event says too. */
export function isMinor({ type }: DibsEvent): boolean {
  return (
    type === "task:created" ||
    type === "task:queued" ||
    type === "task:started" ||
    type === "task:progress" ||
    type.startsWith("notification:") ||
    type === "project:updated"
  );
}
