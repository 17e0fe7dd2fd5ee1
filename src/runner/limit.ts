// Whether an attempt ended because its agent ran into a limit: a closed quota window, an empty account. A task about rate limits prints
// the same sentences, so they count only in the last lines of a command that failed, or where an agent's JSON names its error.

import { basename } from "node:path";
import { type AgentError, AgentJson } from "./agent-json.js";
import { readTime, resetTimeIn } from "./reset-time.js";

export interface Limit {
  /** The line that says so. */
  message: string;
  /** Epoch milliseconds; null: the message has no time. */
  resetAt: number | null;
}

const linesMax = 20;
const messageLengthMax = 300;

const anthropic = [
  /\bYou[’']ve hit your (?:[\w-]+ ){0,3}limit\b/i,
  /\bClaude (?:AI )?usage limit reached\b/i,
  /\b(?:5-hour|session|weekly|opus|sonnet) limit reached\b/i,
  /\bYou[’']re out of (?:extra )?usage\b/i,
  /\busage limit is set to \$0\b/i,
  /\bCredit balance (?:is )?too low\b/i,
];
const openAi = [
  /\bYou[’']ve hit your usage limit\b/i,
  /\busage_limit_reached\b|\busage limit has been reached\b/i,
  /\bQuota exceeded\. Check your plan and billing details\b/i,
  /\bexceeded your current quota\b|\binsufficient_quota\b/i,
  /\blast status: 429\b/i,
];
const google = [
  /\bexhausted your (?:capacity|daily quota) on this model\b/i,
  /\bQuota exceeded for quota metric\b/i,
  /\bRESOURCE_EXHAUSTED\b|\bResource has been exhausted\b/,
  /\bexceeded your current quota\b/i,
  /\bquota will reset after\b/i,
];
const qwen = [
  /\bquota exceeded: Your free daily quota has been reached\b/i,
  /\bFree allocated quota exceeded\b/i,
  /\b429 status code\b/i,
];
const cursor = [/\bYou[’']ve hit your (?:usage|free requests) limit\b/i, /\bspendLimitHit: true\b/i];
/** What agents pass on from any provider. */
const providers = [
  /\brate_limit_error\b|\bRateLimitError\b|\brateLimitExceeded\b/,
  /\b429 Too Many Requests\b/i,
  /\bRate limit (?:reached|exceeded)\b/i,
  /\bAPI provider has rate limited you\b/i,
];

interface Known {
  patterns: readonly RegExp[];
  /** Arguments of which one asks for JSON. */
  json?: RegExp;
}

const asFormat = /^(?:--output-format[= ]|-o[= ]?)?(?:stream-)?json$/;

const knownAgents: Record<string, Known> = {
  claude: { patterns: [...anthropic, ...providers], json: asFormat },
  codex: { patterns: [...openAi, ...providers], json: /^--(?:experimental-)?json$/ },
  gemini: { patterns: [...google, ...providers], json: asFormat },
  qwen: { patterns: [...qwen, ...google, ...openAi, ...providers], json: asFormat },
  opencode: { patterns: [...anthropic, ...openAi, ...google, ...providers], json: /^(?:--format[= ])?json$/ },
  aider: { patterns: [...openAi, ...google, ...providers] },
  goose: { patterns: [...openAi, ...google, ...anthropic, ...providers] },
  "cursor-agent": { patterns: [...cursor, ...providers], json: asFormat },
  amp: { patterns: [...anthropic, ...openAi, ...providers], json: /^--stream-json$/ },
};

/** Reads along what a command prints, and judges its end. */
export class LimitWatch {
  private readonly agent: Known | undefined;
  private readonly json: AgentJson | null;

  constructor(
    command: readonly string[],
    private readonly pattern: RegExp | null = null,
  ) {
    const name = basename(command[0] ?? "").replace(/\.(?:exe|cmd|js)$/, "");
    this.agent = Object.hasOwn(knownAgents, name) ? knownAgents[name] : undefined;
    const { json } = this.agent ?? {};
    this.json = json && command.some((word) => json.test(word)) ? new AgentJson() : null;
  }

  add(stream: string, text: string): void {
    this.json?.add(stream, text);
  }

  end(): void {
    this.json?.end();
  }

  get usage() {
    return this.json?.usage ?? null;
  }

  /** `output`: the end of what was printed. */
  judge({ output, hasFailed, now }: { output: string; hasFailed: boolean; now: number }): Limit | null {
    const said = this.json?.error;
    const named = said ? this.inError(said, now) : null;
    if (named || !hasFailed) return named;
    const lines = output
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !this.isEvent(line));
    return this.inText(lines.slice(-linesMax).join("\n"), now);
  }

  /** What an agent's stream says of the work is not about the agent. */
  private isEvent(line: string): boolean {
    return this.json !== null && line.startsWith("{");
  }

  private inError({ message, resetAt }: AgentError, now: number): Limit | null {
    const found = this.inText(message, now);
    if (found) return { ...found, resetAt: resetAt ?? found.resetAt };
    return resetAt === null ? null : { message: shown(message), resetAt };
  }

  private inText(text: string, now: number): Limit | null {
    if (this.pattern) {
      const found = this.pattern.exec(text);
      if (found) {
        const reset = found.groups?.reset;
        const resetAt = reset === undefined ? null : readTime(reset.trim(), now);
        return limitAt(text, found, now, resetAt);
      }
    }
    for (const pattern of this.agent?.patterns ?? []) {
      const found = pattern.exec(text);
      if (found) return limitAt(text, found, now, null);
    }
    return null;
  }
}

/** The time is often on the next line, and in a structured message before it. */
function limitAt(text: string, { index }: RegExpExecArray, now: number, resetAt: number | null): Limit {
  const lineStart = text.lastIndexOf("\n", index) + 1;
  const lineEnd = text.indexOf("\n", index);
  const message = shown(text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd));
  return { message, resetAt: resetAt ?? resetTimeIn(text.slice(lineStart), now) ?? resetTimeIn(text, now) };
}

const shown = (text: string) => text.trim().slice(0, messageLengthMax).toWellFormed();
