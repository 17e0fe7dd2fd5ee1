import { usageText } from "../../../client/view/words.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display } from "./display.js";
import { plain } from "./text.js";
import { span } from "./time.js";

type Stats = OutputOf<OperationNamed<"stats.get">>;
type Cost = Pick<Stats["usage"], "usd" | "input_tokens" | "output_tokens">;

/** Words of the API that people know by another name. */
const shownAs: Record<string, string> = { available: "ready", in_progress: "in progress", done: "completed" };

export function statsPage(stats: Stats, display: Display): string {
  const { queue_size, by_status, throughput, agents, landing, usage } = stats;
  const rows: [string, string][] = [
    ["tasks", String(queue_size)],
    ...Object.entries(by_status).map(([word, count]): [string, string] => [
      `  ${shownAs[word] ?? word}`,
      String(count),
    ]),
    ["per minute", throughput.tasks_per_minute.toFixed(2)],
    ["average time", span(throughput.avg_completion_time_seconds * 1000)],
    ["agents", `${agents.active} active, ${agents.idle} idle`],
    ...(landing.submissions > 0 ? landingRows(landing) : []),
    ...(hasCost(usage) ? usageRows(usage) : []),
  ];
  return rows.map(([name, value]) => `${display.paint(name.padEnd(14), "dim")} ${value}`).join("\n");
}

const hasCost = ({ usd, input_tokens, output_tokens }: Cost) => usd + input_tokens + output_tokens > 0;

const costText = ({ usd, input_tokens, output_tokens }: Cost) =>
  usageText({ usd, inputTokens: input_tokens, outputTokens: output_tokens });

/** Names that cost most; --json has all. */
const namesShown = 5;

/** Only where attempts say what they cost. */
function usageRows(usage: Stats["usage"]): [string, string][] {
  const { usd_per_completed: perCompleted, usd_per_landed: perLanded } = usage;
  const groups: [string, Record<string, Cost>][] = [
    ["agent types", usage.by_agent_type],
    ["labels", usage.by_label],
    ["resources", usage.by_resource],
  ];
  return [
    ["cost", costText(usage)],
    ...(perCompleted === null ? [] : [["  per task", `$${perCompleted}`] as [string, string]]),
    ...(perLanded === null ? [] : [["  per landed", `$${perLanded}`] as [string, string]]),
    ...groups
      .filter(([, costs]) => Object.keys(costs).length > 0)
      .map(([name, costs]): [string, string] => [`  ${name}`, namesText(costs)]),
    ...daysText(usage.by_day),
  ];
}

/** The last ones; --json has more. */
const daysShown = 7;

function daysText(costs: Record<string, Cost>): [string, string][] {
  const days = Object.entries(costs).slice(-daysShown).reverse();
  return days.map(([day, cost]) => [`  ${day}`, costText(cost)]);
}

function namesText(costs: Record<string, Cost>): string {
  const most = Object.entries(costs).sort(
    ([, a], [, b]) => b.usd - a.usd || b.output_tokens - a.output_tokens,
  );
  const texts = most
    .slice(0, namesShown)
    .map(([name, cost]) => `${plain(name)} ${cost.usd > 0 ? `$${cost.usd}` : costText(cost)}`);
  const left = most.length - texts.length;
  return [...texts, ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}

/** Only where work lands. */
function landingRows(landing: Stats["landing"]): [string, string][] {
  const returned = Object.entries(landing.returned).filter(([, count]) => count > 0);
  const reasons = returned.map(([reason, count]) => `${count} ${reason}`).join(", ");
  const { avg_landing_time_seconds: average, oldest_review_seconds: oldest } = landing;
  return [
    ["landing", `${landing.submitted} submitted, ${landing.held} held`],
    ["  landed", String(landing.landed)],
    ["  returned", reasons || "0"],
    ...(average === null ? [] : [["  average time", span(average * 1000)] as [string, string]]),
    ...(landing.flaky_checks === 0
      ? []
      : [["  flaky checks", String(landing.flaky_checks)] as [string, string]]),
    ...(oldest === null
      ? []
      : [
          ["  reviews", `${landing.reviews_waiting} waiting, oldest ${span(oldest * 1000)}`] as [
            string,
            string,
          ],
        ]),
    ...(landing.done_not_landed === 0
      ? []
      : [["  not landed", `${landing.done_not_landed} completed. Run: dibs doctor`] as [string, string]]),
  ];
}
