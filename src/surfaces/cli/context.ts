// One call of a command: its flags with their types, the connection it means, and how it answers.

import type { Dibs } from "../../client/client.js";
import { connectionFor } from "./connection.js";
import { durationMs } from "./durations.js";
import type { Parts } from "./parts.js";
import { type Look, lookOf } from "./print/look.js";
import { type Parsed, usageError } from "./spec.js";

export class Context {
  private opened: Promise<Dibs> | null = null;

  constructor(
    readonly parts: Parts,
    private readonly parsed: Parsed,
  ) {}

  get args(): readonly string[] {
    return this.parsed.args;
  }

  on(flag: string): boolean {
    return this.parsed.on.has(flag);
  }

  text(flag: string): string | undefined {
    return this.parsed.values.get(flag)?.at(-1);
  }

  /** Given several times, or separated by commas. */
  list(flag: string): string[] | undefined {
    return this.parsed.values
      .get(flag)
      ?.flatMap((each) => each.split(",").map((word) => word.trim()))
      .filter((word) => word !== "");
  }

  number(flag: string): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value))
      throw usageError(`--${flag} ${text}: must be a number.`);
    return value;
  }

  duration(flag: string): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : durationMs(text);
  }

  get isJson(): boolean {
    return this.on("json");
  }

  /** Who acts. Nobody is assumed: two agents that share a name would share their tasks. */
  get sessionId(): string {
    const id = this.text("session") ?? this.parts.env.DIBS_SESSION;
    if (id) return id;
    throw usageError(
      "Who acts? The session is missing.",
      "Give --session <name> or set DIBS_SESSION; one name per agent.",
    );
  }

  get epoch(): number | undefined {
    const text = this.text("epoch") ?? (this.parts.env.DIBS_EPOCH || undefined);
    if (text === undefined) return undefined;
    if (/^\d+$/.test(text)) return Number(text);
    throw usageError(`--epoch ${text}: must be a number.`);
  }

  /** The task named first, or the one this process works on. */
  get taskId(): string {
    const id = this.args[0] ?? this.parts.env.DIBS_TASK;
    if (id) return id;
    throw usageError("Which task? Its id is missing.", "Name it, or set DIBS_TASK.");
  }

  get holder() {
    return {
      taskId: this.taskId,
      sessionId: this.sessionId,
      ...(this.epoch === undefined ? {} : { epoch: this.epoch }),
    };
  }

  dibs(): Promise<Dibs> {
    this.opened ??= connectionFor(this, this.parts);
    return this.opened;
  }

  async close(): Promise<void> {
    const dibs = await this.opened?.catch(() => null);
    await dibs?.close();
  }

  /** The answer itself for programs, words for people. */
  say(answer: unknown, forPeople: (look: Look) => string): void {
    if (this.isJson) this.parts.out(`${JSON.stringify(answer)}\n`);
    else this.parts.out(ended(forPeople(lookOf(this.parts))));
  }
}

const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Leaves out what was not given, so that nobody sends it. */
export function given<T extends Record<string, unknown>>(
  input: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never;
}
