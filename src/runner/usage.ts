// What an attempt has cost, read from what well-known agents print as JSON. A field that an agent does not print is unknown, which is
// not zero; nothing is computed from prices.

export interface Reported {
  usd?: number;
  inputTokens?: number;
  outputTokens?: number;
  model?: string;
}

type Fields = Record<string, unknown>;

/** One event's; null: it has none. Tokens that came from a cache are input like others. */
export function usageIn(event: Fields): Sums | null {
  const { type } = event;
  if (type === "result") return ofResult(event);
  if (type === "turn.completed") return { ...ofTokens(fieldsOf(event.usage), openAi), isSum: false };
  if (type === "step_finish") return ofStep(fieldsOf(event.part));
  if (type === undefined && event.stats !== undefined) return ofStats(fieldsOf(event.stats));
  return null;
}

/** `isSum`: counts only itself, and is added to others; else it includes what came before. */
export interface Sums extends Reported {
  isSum: boolean;
}

/** Sums of steps, or the largest of reports that each include the ones before. */
export function largest(before: Reported | null, { isSum, ...next }: Sums): Reported {
  const join = (a: number | undefined, b: number | undefined) => {
    if (a === undefined || b === undefined) return a ?? b;
    return isSum ? a + b : Math.max(a, b);
  };
  return known({
    usd: join(before?.usd, next.usd),
    inputTokens: join(before?.inputTokens, next.inputTokens),
    outputTokens: join(before?.outputTokens, next.outputTokens),
    model: next.model ?? before?.model,
  });
}

const openAi = { input: ["input_tokens"], output: ["output_tokens"] };
const anthropic = {
  input: ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"],
  output: ["output_tokens"],
};
const perModel = {
  input: ["inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"],
  output: ["outputTokens"],
};
const cursor = {
  input: ["inputTokens", "cacheWriteTokens", "cacheReadTokens"],
  output: ["outputTokens"],
};
const google = { input: ["prompt", "tool"], output: ["candidates", "thoughts"] };

/** claude, qwen, cursor-agent; gemini in a stream. Subagents are only in the figures by model. */
function ofResult({ total_cost_usd: usd, usage, modelUsage, stats }: Fields): Sums | null {
  if (stats !== undefined) return ofStats(fieldsOf(stats));
  const models = Object.entries(fieldsOf(modelUsage)).map(([model, each]) => ({
    ...ofTokens(fieldsOf(each), perModel),
    usd: amount(fieldsOf(each).costUSD),
    model,
  }));
  const one = fieldsOf(usage);
  const own = ofTokens(one, "inputTokens" in one ? cursor : anthropic);
  const tokens = models.length > 0 ? total(models) : own;
  const found = known({ ...tokens, usd: amount(usd) ?? tokens.usd });
  return Object.keys(found).length === 0 ? null : { ...found, isSum: false };
}

/** gemini: by model, or the sums of a stream. */
function ofStats(stats: Fields): Sums | null {
  const models = Object.entries(fieldsOf(stats.models)).map(([model, each]) => {
    const tokens = fieldsOf(each).tokens;
    return { ...ofTokens(fieldsOf(tokens ?? each), tokens ? google : openAi), model };
  });
  const found = models.length > 0 ? total(models) : ofTokens(stats, openAi);
  return Object.keys(found).length === 0 ? null : { ...found, isSum: false };
}

/** opencode: each step has its own. */
function ofStep(part: Fields): Sums | null {
  const tokens = fieldsOf(part.tokens);
  const cache = fieldsOf(tokens.cache);
  const found = known({
    usd: amount(part.cost),
    inputTokens: sum([tokens.input, cache.read, cache.write]),
    outputTokens: sum([tokens.output, tokens.reasoning]),
  });
  return Object.keys(found).length === 0 ? null : { ...found, isSum: true };
}

function ofTokens(fields: Fields, names: { input: string[]; output: string[] }): Reported {
  return known({
    inputTokens: sum(names.input.map((name) => fields[name])),
    outputTokens: sum(names.output.map((name) => fields[name])),
  });
}

/** Of several models the one that wrote most gives its name. */
function total(models: readonly Reported[]): Reported {
  const [first] = [...models].sort((a, b) => (b.outputTokens ?? 0) - (a.outputTokens ?? 0));
  return known({
    usd: sum(models.map(({ usd }) => usd)),
    inputTokens: sum(models.map(({ inputTokens }) => inputTokens)),
    outputTokens: sum(models.map(({ outputTokens }) => outputTokens)),
    model: first?.model?.slice(0, modelLengthMax),
  });
}

const modelLengthMax = 100;

function known(fields: { [K in keyof Reported]: Reported[K] | undefined }): Reported {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const amount = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;

function sum(values: readonly unknown[]): number | undefined {
  const numbers = values.map(amount).filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0);
}
