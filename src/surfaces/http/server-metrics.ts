// Metrics of the server process: requests, streams, refused writes, store latency. Some are per org; a token sees only its
// own org.

import type { Code } from "../../contract/codes.js";
import type { Executor } from "../../operations/execute.js";
import { type Family, histogram, renderFamilies } from "../../operations/metrics/exposition.js";
import { storeFamilies } from "../../operations/metrics/families.js";
import type { Call } from "./context.js";
import type { Streams } from "./stream.js";

export interface Observed {
  call: Call;
  method: string;
  status: number;
  ms: number;
}

/** Refusals of writes by a session that no longer holds the task. */
const staleWrite: ReadonlySet<Code> = new Set(["CLAIM_EXPIRED", "STALE_EPOCH", "TASK_CANCELLED"]);

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

class Timings {
  readonly counts = secondsBuckets.map(() => 0);
  count = 0;
  sum = 0;

  add(seconds: number): void {
    this.count++;
    this.sum += seconds;
    const at = secondsBuckets.findIndex((bucket) => seconds <= bucket);
    if (at >= 0) this.counts[at]!++;
  }
}

/** A safeguard: routes × methods × statuses are few. */
const seriesMax = 2_000;

export class ServerMetrics {
  private readonly requests = new Map<string, { labels: Record<string, string>; timings: Timings }>();
  private readonly store = new Map<string, Timings>();
  private readonly stale = new Map<string, number>();

  constructor(
    private readonly executor: Executor,
    private readonly streams: Streams,
  ) {}

  request({ call, method, status, ms }: Observed): void {
    if (call.route === "/api/events/stream" && status === 200) return; // It lasts as long as its reader.
    const labels = { route: call.route, method, status: String(status) };
    const key = `${method} ${call.route} ${status}`;
    let series = this.requests.get(key);
    if (!series) {
      if (this.requests.size >= seriesMax) return;
      series = { labels, timings: new Timings() };
      this.requests.set(key, series);
    }
    series.timings.add(ms / 1000);
  }

  refused(org: string | null, code: Code): void {
    if (org !== null && staleWrite.has(code)) this.stale.set(org, (this.stale.get(org) ?? 0) + 1);
  }

  storeTook(operation: string, ms: number): void {
    const timings = this.store.get(operation) ?? new Timings();
    this.store.set(operation, timings);
    timings.add(ms / 1000);
  }

  async text(org: string): Promise<string> {
    const ofStore = await storeFamilies(this.executor, org);
    return renderFamilies([...ofStore, ...this.own(org)]);
  }

  private own(org: string): Family[] {
    return [
      {
        name: "dibs_sse_clients",
        type: "gauge",
        help: "Readers of the event stream on this server.",
        samples: [{ labels: {}, value: this.streams.count(org) }],
      },
      {
        name: "dibs_stale_writes_refused_total",
        type: "counter",
        help: "Writes by sessions that no longer held the task, refused by this server.",
        samples: [{ labels: {}, value: this.stale.get(org) ?? 0 }],
      },
      histogram(
        "dibs_store_seconds",
        "How long the store took, on this server.",
        secondsBuckets,
        [...this.store].map(([operation, timings]) => ({ labels: { operation }, ...timings })),
      ),
      histogram(
        "dibs_http_request_seconds",
        "How long requests took, on this server; waiting for work included.",
        secondsBuckets,
        [...this.requests.values()].map(({ labels, timings }) => ({ labels, ...timings })),
      ),
    ];
  }
}
