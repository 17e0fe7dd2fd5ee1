// Limits of agents, and what they report as usage, judged by what agents have really printed.

import { describe, expect, test } from "vitest";
import { LimitWatch } from "../../src/runner/limit.js";
import { resetTimeIn } from "../../src/runner/reset-time.js";
import { jsonSamples, sampleTime, textSamples, usageSamples, zone } from "./limit-samples.js";

const now = Date.parse("2026-03-10T15:00:00Z");
const iso = (at: number | null | undefined) => (at ? new Date(at).toISOString() : null);
const same = (time: string | null) => (time === null ? null : new Date(time).toISOString());

function judged(
  command: string[],
  { out = "", at = now, exit = 1, pattern = null as RegExp | null }: JudgedBy = {},
) {
  const watch = new LimitWatch(command, pattern);
  watch.add("stdout", out);
  watch.end();
  return {
    ...watch,
    usage: watch.usage,
    limit: watch.judge({ output: out, hasFailed: exit !== 0, now: at }),
  };
}
interface JudgedBy {
  out?: string;
  at?: number;
  exit?: number;
  pattern?: RegExp | null;
}

describe("messages of agents", () => {
  test.each(textSamples)("$agent, $from: $text", ({ agent, text, reset, at }) => {
    const printed = sampleTime({ at });
    expect(judged([agent, "run"], { out: `working\n\n${text}\n`, at: printed }).limit).not.toBeNull();
    expect(iso(resetTimeIn(text, printed, zone))).toBe(same(reset));
  });

  test.each(jsonSamples)("in the JSON of $agent, $from", ({ command, lines, reset, at }) => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      const { limit } = judged(command, { out: `${lines.join("\n")}\n`, at: sampleTime({ at }), exit: 0 });
      expect(limit).not.toBeNull();
      expect(iso(limit?.resetAt)).toBe(same(reset));
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  test.each(textSamples)("are only text for another command: $from", ({ text }) => {
    expect(judged(["./my-agent"], { out: text }).limit).toBeNull();
  });

  test.each(textSamples)("count only if the command failed: $from", ({ agent, text }) => {
    expect(judged([agent], { out: text, exit: 0 }).limit).toBeNull();
  });

  test("count only in the last 20 lines", () => {
    const message = "You've hit your limit · resets 1pm (Europe/Lisbon)";
    const more = (lines: number) => `${message}\n${"more\n\n".repeat(lines)}`;
    expect(judged(["claude"], { out: more(19) }).limit).toMatchObject({ message });
    expect(judged(["claude"], { out: more(20) }).limit).toBeNull();
  });

  test("do not count in what an agent's stream says of its work", () => {
    const said = "You've hit your limit · resets 1pm (Europe/Lisbon)";
    const out = [
      JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text: said }] } }),
      JSON.stringify({
        type: "result",
        subtype: "error_max_turns",
        is_error: true,
        result: "Too many turns",
      }),
    ].join("\n");
    expect(judged(["claude", "--output-format", "stream-json"], { out }).limit).toBeNull();
  });

  test("a command that ends well after a failed turn has met no limit", () => {
    const out = [
      `{"type":"error","message":"You've hit your usage limit. Try again in 1 minute"}`,
      `{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}`,
    ].join("\n");
    expect(judged(["codex", "exec", "--json"], { out, exit: 0 }).limit).toBeNull();
  });

  test("gemini's error in a document of several lines, with a warning before it", () => {
    const message = "You have exhausted your capacity on this model. Your quota will reset after 53s.";
    const out = `Loaded cached credentials.\n${JSON.stringify({ error: { type: "Error", message, code: 429 } }, null, 2)}\n`;
    const { limit } = judged(["gemini", "-o", "json"], { out, exit: 0 });
    expect(limit).toMatchObject({ message, resetAt: now + 53_000 });
  });
});

describe("a pattern of one's own", () => {
  test("finds the line, and the time behind it", () => {
    const { limit } = judged(["./agent"], {
      out: "quota used up\nplease retry in 90 seconds",
      pattern: /quota used up/,
    });
    expect(limit).toEqual({ message: "quota used up", resetAt: now + 90_000 });
  });

  test("names the time as the group `reset`", () => {
    const pattern = /come back: (?<reset>.+)/;
    expect(judged(["./agent"], { out: "come back: 2h 5m", pattern }).limit?.resetAt).toBe(now + 125 * 60_000);
    expect(judged(["./agent"], { out: "come back: soon", pattern }).limit?.resetAt).toBeNull();
  });

  test("counts besides those of a known agent", () => {
    const pattern = /our gateway is closed/;
    expect(judged(["claude"], { out: "our gateway is closed", pattern }).limit).not.toBeNull();
    expect(judged(["claude"], { out: "Credit balance too low", pattern }).limit).not.toBeNull();
  });
});

describe("times", () => {
  test.each([
    ["resets 3pm UTC", "2026-03-10T15:30:00Z", null],
    ["resets 3pm UTC", "2026-03-10T16:30:00Z", "2026-03-11T15:00:00Z"],
    ["resets at 18:44 GMT", "2026-03-10T15:00:00Z", "2026-03-10T18:44:00Z"],
    ["try again at 2026-03-10T16:00:00+01:00", "2026-03-10T14:00:00Z", "2026-03-10T15:00:00Z"],
    ["retry after 2026-03-10 16:00 UTC.", "2026-03-10T14:00:00Z", "2026-03-10T16:00:00Z"],
    ["resets Jan 1, 2am (UTC)", "2026-12-31T20:00:00Z", "2027-01-01T02:00:00Z"],
    ["resets 2:30am (America/New_York)", "2026-03-08T05:00:00Z", "2026-03-08T07:30:00Z"],
    ["resets 3pm (Europe/Atlantis)", "2026-03-10T10:00:00Z", null],
    ["try again in less than a minute", "2026-03-10T15:00:00Z", "2026-03-10T15:01:00Z"],
    ['"retryDelay": "53s"', "2026-03-10T15:00:00Z", "2026-03-10T15:00:53Z"],
    ["Please try again in 6ms.", "2026-03-10T15:00:00Z", "2026-03-10T15:00:00.006Z"],
    ["Please try again later.", "2026-03-10T15:00:00Z", null],
    ["limit reached, 3 of 3 tries; retry 4", "2026-03-10T15:00:00Z", null],
    ["resets 99:99pm", "2026-03-10T15:00:00Z", null],
    ["reset in 1 hour and 30 minutes", "2026-03-10T15:00:00Z", "2026-03-10T16:30:00Z"],
  ])("%s, printed at %s", (text, at, expected) => {
    expect(iso(resetTimeIn(text, Date.parse(at), zone))).toBe(same(expected));
  });
});

describe("usage", () => {
  test.each(usageSamples)("of $command, $from", ({ command, text, usage }) => {
    expect(judged(command, { out: text, exit: 0 }).usage).toEqual(usage);
    expect(judged(["./agent", ...command.slice(1)], { out: text, exit: 0 }).usage).toBeNull();
  });

  test("is not read where the command does not ask for JSON", () => {
    const out = '{"type":"result","is_error":false,"total_cost_usd":900}';
    expect(judged(["claude", "--print"], { out, exit: 0 }).usage).toBeNull();
  });

  test("includes subagents, and is not counted twice where results repeat it", () => {
    const result = (usd: number, output: number) =>
      JSON.stringify({
        type: "result",
        is_error: false,
        total_cost_usd: usd,
        usage: { input_tokens: 1, output_tokens: 1 },
        modelUsage: {
          "claude-haiku": { inputTokens: 5, outputTokens: 10, cacheReadInputTokens: 100, costUSD: 0.01 },
          "claude-opus": { inputTokens: 7, outputTokens: output, cacheCreationInputTokens: 20, costUSD: usd },
        },
      });
    const out = `${result(0.2, 40)}\n${result(0.5, 90)}\n`;
    expect(judged(["claude", "--output-format=stream-json"], { out, exit: 0 }).usage).toEqual({
      usd: 0.5,
      inputTokens: 132,
      outputTokens: 100,
      model: "claude-opus",
    });
  });

  test("adds the steps of opencode", () => {
    const step = '{"type":"step_finish","part":{"tokens":{"input":10,"output":1,"reasoning":2},"cost":0.5}}';
    const { usage } = judged(["opencode", "run", "--format", "json"], { out: `${step}\n${step}\n`, exit: 0 });
    expect(usage).toEqual({ usd: 1, inputTokens: 20, outputTokens: 6 });
  });

  test("survives lines that are torn, endless or no JSON", () => {
    const watch = new LimitWatch(["codex", "exec", "--json"]);
    watch.add("stdout", '{"type":"turn.completed","usage":{"input_');
    watch.add("stderr", "noise\n");
    watch.add("stdout", 'tokens":3,"output_tokens":4}}\n{"type":\n');
    watch.add("stdout", `{"x":"${"y".repeat(5_000_000)}`);
    watch.add("stdout", '"}\n{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":"many"}}');
    watch.end();
    expect(watch.usage).toEqual({ inputTokens: 5, outputTokens: 4 });
  });
});
