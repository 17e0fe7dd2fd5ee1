import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display } from "./display.js";
import { span } from "./time.js";

type Stats = OutputOf<OperationNamed<"stats.get">>;

/** Words of the API that people know by another name. */
const shownAs: Record<string, string> = { available: "ready", in_progress: "in progress", done: "completed" };

export function statsPage(stats: Stats, display: Display): string {
  const { queue_size, by_status, throughput, agents, landing } = stats;
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
  ];
  return rows.map(([name, value]) => `${display.paint(name.padEnd(14), "dim")} ${value}`).join("\n");
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
