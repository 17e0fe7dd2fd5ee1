// One call of a command: its flags with their types, the connection it means, and how it answers.

import type { Dibs } from "../../client/client.js";
import { flagWords, shellWord } from "../../client/view/shell.js";
import { DibsError } from "../../contract/error.js";
import type { Entry } from "./commands.js";
import { connectionFor, targetFor } from "./connection.js";
import { durationMs } from "./durations.js";
import type { Parts } from "./parts.js";
import { type Display, displayOf } from "./print/display.js";
import { jsonLine } from "./print/json.js";
import { plain } from "./print/text.js";
import { type CommandSpec, type Parsed, usageError } from "./spec.js";

export class Context {
  private opened: Promise<Dibs> | null = null;

  constructor(
    readonly parts: Parts,
    private readonly parsed: Parsed,
    /** Every command there is. */
    readonly catalogue: ReadonlyMap<string, Entry>,
    private readonly command: Pick<CommandSpec, "createsStore" | "listsCreated"> = {},
  ) {}

  get createsStore(): boolean {
    return this.command.createsStore ?? false;
  }

  get listsCreated(): boolean {
    return this.command.listsCreated ?? false;
  }

  get args(): readonly string[] {
    return this.parsed.args;
  }

  on(flag: string): boolean {
    return this.parsed.on.has(flag);
  }

  text(flag: string): string | undefined {
    return this.parsed.values.get(flag)?.at(-1);
  }

  /** Given several times, each as it is. */
  texts(flag: string): string[] | undefined {
    return this.parsed.values.get(flag)?.filter((each) => each !== "");
  }

  /** Words, given several times or separated by commas. */
  list(flag: string): string[] | undefined {
    return this.texts(flag)
      ?.flatMap((each) => each.split(",").map((word) => word.trim()))
      .filter((word) => word !== "");
  }

  /** Of which project a list is: with --all of every one. */
  get listed(): { project?: "*" } {
    return this.on("all") ? { project: "*" } : {};
  }

  /** The flags of this call as a shell takes them again, but for these. Secrets are not printed. */
  flagsAgain(...without: string[]): string[] {
    const { values, on } = this.parsed;
    const isWanted = (name: string) => !without.includes(name);
    const valued = [...values].filter(([name]) => isWanted(name));
    return [
      ...valued.flatMap(([name, all]) => all.map((value) => flagText(name, value))),
      ...[...on].filter(isWanted).map((name) => `--${name}`),
    ];
  }

  json(flag: string): unknown {
    const text = this.text(flag);
    try {
      return text === undefined ? undefined : JSON.parse(text);
    } catch {
      throw usageError(`--${flag} is not valid JSON.`, `For example: --${flag} '{"ticket": 7}'`);
    }
  }

  number(flag: string): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value))
      throw usageError(`--${flag} must be a number, not '${text}'.`);
    return value;
  }

  duration(flag: string): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : durationMs(text, `--${flag}`);
  }

  /** Words that stood before `--`; all of them where there was none. */
  get plainArgs(): readonly string[] {
    return this.args.slice(0, this.parsed.literalFrom);
  }

  get isJson(): boolean {
    return this.on("json");
  }

  /** Who acts. Nobody is assumed: two agents that share a name would share their tasks. */
  get sessionId(): string {
    const id = this.text("session") ?? this.parts.env.DIBS_SESSION;
    if (id) return id;
    throw usageError("Missing session.", "Add --session <name> or set DIBS_SESSION; one name per agent.");
  }

  /** The environment's is of the environment's task, if it names one; whoever works on that may well hold others. */
  epochOf(taskId: string): number | undefined {
    const { env } = this.parts;
    const project = this.text("project");
    const isOwn =
      !env.DIBS_TASK || (taskId === env.DIBS_TASK && (project === undefined || project === env.DIBS_PROJECT));
    const text = this.text("epoch") ?? (isOwn ? env.DIBS_EPOCH || undefined : undefined);
    if (text === undefined) return undefined;
    if (/^\d+$/.test(text)) return Number(text);
    throw usageError(`--epoch must be a number, not '${text}'.`);
  }

  /** The task named first, or the one this process works on. */
  get taskId(): string {
    const id = this.args[0] ?? this.parts.env.DIBS_TASK;
    if (id) return id;
    throw usageError("Missing task id.", "Add the id, or set DIBS_TASK.");
  }

  /**
   * The task and what is said about it. Whoever works on a task (DIBS_TASK) need not name it. A single word is said about it too,
   * unless it names another one, or could be meant to: nobody is to end the wrong task.
   */
  async taskAndWords(): Promise<{ taskId: string; words: string }> {
    const [first = "", ...rest] = this.args;
    const own = this.parts.env.DIBS_TASK || undefined;
    const isId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(first);
    if (own === undefined || (isId && (rest.length > 0 || first === own || (await this.isMeant(first, own)))))
      return { taskId: this.taskId, words: rest.join(" ") };
    return { taskId: own, words: this.args.join(" ") };
  }

  /** Whether a word names a task; refused if none has this name but it looks as if it were one. */
  private async isMeant(word: string, own: string): Promise<boolean> {
    try {
      await (await this.dibs()).tasks.get({ taskId: word });
      return true;
    } catch (error) {
      if (!(error instanceof DibsError) || error.code !== "TASK_NOT_FOUND") throw error;
      if (/^[A-Za-z]+$/.test(word) && !/^[A-Z]{4}$/.test(word)) return false;
      throw new DibsError(error.code, error.message, {
        hint: `If it is text about ${own}, write the id first: ${own} ${word}`,
        details: error.details,
      });
    }
  }

  holderOf(taskId: string) {
    return { taskId, sessionId: this.sessionId, ...given({ epoch: this.epochOf(taskId) }) };
  }

  get holder() {
    return this.holderOf(this.taskId);
  }

  /** The session that is named, for questions about it; unlike `sessionId` nobody need be. */
  get asSession(): string | undefined {
    return this.text("session") ?? (this.parts.env.DIBS_SESSION || undefined);
  }

  /** All of standard input for `-`; after `--` that is a text like any other. */
  async textOrInput(text: string): Promise<string> {
    const { args, literalFrom } = this.parsed;
    const isText = text !== "-" || args.indexOf("-", literalFrom) >= 0;
    return isText ? text : await this.parts.readInput();
  }

  /** Whether the store exists; asking creates none. */
  async hasStore(): Promise<boolean> {
    const target = await targetFor(this, this.parts, true);
    const path = "place" in target ? target.place.path : undefined;
    return path === undefined || (await this.parts.files.exists(path));
  }

  /** For a command that creates a store, where a store must exist: what it is asked about is in it. */
  async existingDibs(): Promise<Dibs> {
    await targetFor(this, this.parts, false);
    return this.dibs();
  }

  dibs(): Promise<Dibs> {
    this.opened ??= connectionFor(this, this.parts);
    return this.opened;
  }

  /** For commands that stay: a server that goes away is left for the store or its next server. */
  lastingDibs(): Promise<Dibs> {
    this.opened ??= import("./reconnecting.js").then(({ reconnectingConnection }) =>
      reconnectingConnection(this, this.parts),
    );
    return this.opened;
  }

  async close(): Promise<void> {
    const dibs = await this.opened?.catch(() => null);
    await dibs?.close();
  }

  /** The answer itself for programs, words for people. */
  say(answer: unknown, forPeople: (display: Display) => string): void {
    if (this.isJson) this.parts.out(jsonLine(answer));
    else this.parts.out(ended(forPeople(displayOf(this.parts))));
  }
}

function flagText(name: string, value: string): string {
  if (name === "token") return '--token "$DIBS_TOKEN"';
  const shown = plain(value).replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, "$1:***@");
  return flagWords(name, shown).map(shellWord).join(" ");
}

const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Leaves out what was not given, so that nobody sends it. */
export function given<T extends Record<string, unknown>>(
  input: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never;
}
