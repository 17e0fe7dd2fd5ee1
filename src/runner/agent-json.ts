// What well-known agents print as JSON, if their command asks for it: what an attempt has cost, and why it failed. Anything else that a
// command prints is text.

import type { Reported } from "./usage.js";
import { largest, usageIn } from "./usage.js";

/** Longer lines are not read: they are what an agent has written, not how it ended. */
const lineLengthMax = 4 * 1024 * 1024;
/** A document of several lines is read at the end. */
const documentLengthMax = 4 * 1024 * 1024;

export interface AgentError {
  message: string;
  /** Epoch milliseconds, where the agent says by itself when the limit ends. */
  resetAt: number | null;
}

type Fields = Record<string, unknown>;

export class AgentJson {
  private readonly streams = new Map<string, Stream>();
  private rejectedUntil: number | null = null;
  private failure: string | null = null;
  usage: Reported | null = null;

  add(stream: string, text: string): void {
    let lines = this.streams.get(stream);
    if (!lines) {
      lines = new Stream((line) => this.readLine(line));
      this.streams.set(stream, lines);
    }
    lines.add(text);
  }

  end(): void {
    for (const stream of this.streams.values()) {
      stream.end();
      const whole = parsed(stream.document);
      for (const each of Array.isArray(whole) ? whole : [whole]) this.read(each);
    }
  }

  /** Why the agent failed, in its own words. */
  get error(): AgentError | null {
    return this.failure === null ? null : { message: this.failure, resetAt: this.rejectedUntil };
  }

  /** Whether the line was an event. */
  private readLine(line: string): boolean {
    const value = parsed(line);
    const events = Array.isArray(value) ? value : [value];
    if (!events.some((event) => isFields(event) && typeof event.type === "string")) return false;
    for (const event of events) this.read(event);
    return true;
  }

  private read(value: unknown): void {
    if (!isFields(value)) return;
    const usage = usageIn(value);
    if (usage) this.usage = largest(this.usage, usage);
    this.readLimit(value);
    const failure = failureIn(value);
    // The first reason names the cause; a later one can be that the process has ended.
    if (failure !== null) this.failure ??= failure;
    else if (isSuccess(value)) this.failure = null;
  }

  private readLimit({ type, rate_limit_info: info }: Fields): void {
    if (type !== "rate_limit_event" || !isFields(info)) return;
    const isRejected = info.status === "rejected" && info.isUsingOverage !== true;
    this.rejectedUntil = isRejected && typeof info.resetsAt === "number" ? info.resetsAt * 1_000 : null;
  }
}

function isSuccess({ type, is_error: isError, status }: Fields): boolean {
  return type === "turn.completed" || (type === "result" && (isError === false || status === "success"));
}

/** The known fields: `result` of claude, qwen and cursor-agent, `error` and `turn.failed` of codex, `error` of gemini and opencode. */
function failureIn(event: Fields): string | null {
  const { type, is_error: isError, error } = event;
  if (type === "result" && isError === true) return textOf(event.result) ?? textOf(error) ?? "";
  if (type === "error" && typeof event.message === "string") {
    return event.severity === "warning" ? null : event.message;
  }
  return type === undefined || endings.has(type) ? textOf(error) : null;
}

const endings = new Set<unknown>(["turn.failed", "error", "result"]);

function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!isFields(value)) return null;
  const { message, data } = value;
  return textOf(message) ?? textOf(data);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  const trimmed = text.trim();
  if (!/^[{[]/.test(trimmed) || !/[}\]]$/.test(trimmed)) return null;
  try {
    return JSON.parse(trimmed);
  } catch {
    return null;
  }
}

/** Lines that are events, and the rest of the text. */
class Stream {
  private rest = "";
  private isTooLong = false;
  private kept = "";

  constructor(private readonly read: (line: string) => boolean) {}

  get document(): string {
    const start = /^[{[]/m.exec(this.kept);
    if (!start) return "";
    const end = Math.max(this.kept.lastIndexOf("\n}"), this.kept.lastIndexOf("\n]"));
    return this.kept.slice(start.index, end === -1 ? undefined : end + 2);
  }

  add(text: string): void {
    const lines = text.split("\n");
    const last = lines.pop()!;
    for (const line of lines) {
      this.take(line);
      this.finish();
    }
    this.take(last);
  }

  end(): void {
    this.finish();
  }

  private take(text: string): void {
    if (this.isTooLong) return;
    this.rest += text;
    if (this.rest.length <= lineLengthMax) return;
    this.isTooLong = true;
    this.rest = "";
  }

  private finish(): void {
    const line = this.rest;
    this.rest = "";
    this.isTooLong = false;
    if (line === "" || this.read(line)) return;
    this.kept = `${this.kept}${line}\n`;
    if (this.kept.length > documentLengthMax) this.kept = "";
  }
}
