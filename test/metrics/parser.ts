// A strict reader of Prometheus' text format: what it does not know, it refuses.

export interface ReadFamily {
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const parts: Record<string, string[]> = {
  histogram: ["_bucket", "_sum", "_count"],
  counter: [""],
  gauge: [""],
};

export function parseExposition(text: string): Map<string, ReadFamily> {
  const families = new Map<string, ReadFamily>();
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line does not end");
  let current = "";
  const lines = text.split("\n").slice(0, -1);
  for (const [at, line] of lines.entries()) {
    const fail = (why: string): never => {
      throw new Error(`line ${at + 1}: ${why}: ${line}`);
    };
    const help = /^# HELP (\S+) (.*)$/.exec(line);
    if (help) {
      const [, name = "", words = ""] = help;
      if (!metricName.test(name)) fail("bad name");
      if (families.has(name)) fail("a family told twice");
      if (words.replace(/\\[\\n]/g, "").includes("\\")) fail("bad escape");
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(lines[at + 1] ?? "");
      if (type?.[1] !== name) fail("no TYPE after HELP");
      families.set(name, { type: type![2]!, help: words, samples: [] });
      current = name;
    } else if (line.startsWith("# TYPE ")) {
      if (!lines[at - 1]?.startsWith(`# HELP ${current} `)) fail("TYPE without HELP");
    } else readSample(line, current, families.get(current) ?? fail("a sample before its family"), fail);
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

function readSample(line: string, family: string, into: ReadFamily, fail: (why: string) => never): void {
  const found = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? fail("not a sample");
  const [, name = "", labels = "", value = ""] = found;
  if (!name.startsWith(family) || !parts[into.type]!.includes(name.slice(family.length)))
    fail("not of its family");
  if (!/^([+-]Inf|NaN|[+-]?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(value)) fail("not a number");
  into.samples.push({
    name,
    labels: readLabels(labels, fail),
    value: Number(value.replace("Inf", "Infinity")),
  });
}

function readLabels(text: string, fail: (why: string) => never): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const [whole, name = "", value = "", end] =
      /^([^=]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest) ?? fail("bad labels");
    if (!labelName.test(name) || name.startsWith("__")) fail("bad label");
    if (Object.hasOwn(labels, name)) fail("a label told twice");
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
    rest = rest.slice(whole.length);
    if (end === "," && rest === "") fail("a comma too many");
  }
  return labels;
}

function checkFamily(name: string, { type, samples }: ReadFamily): void {
  const seen = new Set<string>();
  for (const sample of samples) {
    const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (seen.has(key)) throw new Error(`${key} is told twice`);
    seen.add(key);
    if (type === "counter" && !(sample.value >= 0)) throw new Error(`${key} is a negative counter`);
  }
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`${name} is a counter without _total`);
  if (type === "histogram") checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: ReadFamily["samples"]): void {
  const series = new Map<string, { last: number; le: number; sum?: number; count?: number }>();
  for (const { name: full, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const one = series.get(key) ?? { last: 0, le: Number.NEGATIVE_INFINITY };
    series.set(key, one);
    if (full === `${name}_sum`) one.sum = value;
    else if (full === `${name}_count`) one.count = value;
    else {
      const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
      if (le === undefined || !(bound > one.le)) throw new Error(`${full} has bounds out of order at ${le}`);
      if (value < one.last) throw new Error(`${full} goes down at ${le}`);
      one.le = bound;
      one.last = value;
    }
  }
  for (const { le, last, sum, count } of series.values()) {
    if (le !== Number.POSITIVE_INFINITY) throw new Error(`${name} has no +Inf`);
    if (sum === undefined || count === undefined) throw new Error(`${name} lacks its sum or count`);
    if (last !== count) throw new Error(`${name}: +Inf is ${last}, the count ${count}`);
  }
}
