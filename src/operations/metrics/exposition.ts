// Figures as Prometheus reads them: text format 0.0.4.

export interface Sample {
  /** After the family's name, for the parts of a histogram. */
  suffix?: "_bucket" | "_sum" | "_count";
  labels: Record<string, string>;
  value: number;
}

/** One metric with all its series. Labels have few values each: never the id of a task or session. */
export interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

export interface HistogramSeries {
  labels: Record<string, string>;
  /** One per bound, not cumulated; what is above all bounds is in `count` only. */
  counts: readonly number[];
  count: number;
  sum: number;
}

export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

export function single(name: string, type: "counter" | "gauge", help: string, value: number): Family {
  return { name, type, help, samples: [{ labels: {}, value }] };
}

export function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  series: readonly HistogramSeries[],
): Family {
  const samples = series.flatMap(({ labels, counts, count, sum }): Sample[] => {
    let below = 0;
    const buckets = bounds.map((bound, at): Sample => {
      below += counts[at] ?? 0;
      return { suffix: "_bucket", labels: { ...labels, le: number(bound) }, value: below };
    });
    return [
      ...buckets,
      { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
      { suffix: "_sum", labels, value: sum },
      { suffix: "_count", labels, value: count },
    ];
  });
  return { name, type: "histogram", help, samples };
}

export function renderFamilies(families: readonly Family[]): string {
  return families.map(rendered).join("");
}

function rendered({ name, type, help, samples }: Family): string {
  const lines = samples.map(
    ({ suffix = "", labels, value }) => `${name}${suffix}${labelled(labels)} ${number(value)}`,
  );
  return [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}

function labelled(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

const escapedHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escaped = (text: string) => escapedHelp(text).replaceAll('"', '\\"');
