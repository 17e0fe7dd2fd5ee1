import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display } from "./display.js";
import { span } from "./time.js";

/** Words of the API that people know by another name. */
const shownAs: Record<string, string> = { available: "ready", in_progress: "in progress", done: "completed" };

export function statsPage(stats: OutputOf<OperationNamed<"stats.get">>, display: Display): string {
  const { queue_size, by_status, throughput, agents } = stats;
  const rows: [string, string][] = [
    ["tasks", String(queue_size)],
    ...Object.entries(by_status).map(([word, count]): [string, string] => [
      `  ${shownAs[word] ?? word}`,
      String(count),
    ]),
    ["per minute", throughput.tasks_per_minute.toFixed(2)],
    ["average time", span(throughput.avg_completion_time_seconds * 1000)],
    ["agents", `${agents.active} active, ${agents.idle} idle`],
  ];
  return rows.map(([name, value]) => `${display.paint(name.padEnd(14), "dim")} ${value}`).join("\n");
}
