// What the fleet does over time, added up by the store from its event log: the same after a reload, and in every browser.

import "./metrics.css";
import { useMemo } from "react";
import { LoadError } from "../../components/load-error.js";
import { grouped } from "../../components/number.js";
import { storeNow } from "../../data/clock.js";
import { dibs, type OperationNamed, type OutputOf } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { hrefTo, Link, useParam, usePlace } from "../../router.js";
import { Agents } from "./agents.js";
import { Chart, type ChartProps } from "./chart.js";
import { Costs, dollars } from "./costs.js";
import {
  agentsOf,
  type Column,
  columnsOf,
  exactly,
  type History,
  type Mean,
  meanOf,
  roundUpMs,
} from "./series.js";

const hourMs = 3_600_000;
const ranges: Record<string, number> = { "1h": 1, "3h": 3, "12h": 12, "1d": 24, "7d": 168, "30d": 720 };

export default function Metrics() {
  const { project, path } = usePlace();
  const [agent] = useParam("agent");
  const [chosen, setChosen] = useParam("range");
  const range = Object.hasOwn(ranges, chosen) ? chosen : "3h";
  const history = useLive(
    `metrics ${project} ${range}`,
    () =>
      dibs.metrics.history({ project, from: new Date(storeNow() - ranges[range]! * hourMs).toISOString() }),
    { calmMs: 2_000, everyMs: 30_000 },
  );
  const stats = useLive(`metrics-stats ${project}`, () => dibs.stats.get({ project }), { calmMs: 1_000 });
  const hrefOf = (name: string) => hrefTo(path, { range: chosen, agent: name });
  return (
    <>
      <div className="view-head">
        <h1>Metrics</h1>
        <fieldset className="row bare" aria-label="Time range">
          {Object.keys(ranges).map((name) => (
            <button
              key={name}
              type="button"
              className="small metrics-range"
              aria-pressed={name === range}
              onClick={() => setChosen(name === "3h" ? "" : name)}
            >
              {name}
            </button>
          ))}
        </fieldset>
      </div>
      <LoadError live={history} />
      <Now stats={stats.data} oldestReadyMs={history.data?.oldestReadyMs} />
      {agent !== "" && <OfOne agent={agent} backHref={hrefOf("")} />}
      {history.data && <Charts history={history.data} range={range} agent={agent} />}
      {stats.data && <Costs usage={stats.data.usage} />}
      {history.data && <Agents rows={agentsOf(history.data)} agent={agent} hrefOf={hrefOf} />}
    </>
  );
}

interface NowProps {
  /** Undefined: not known yet; its place is kept. */
  stats: OutputOf<OperationNamed<"stats.get">> | undefined;
  oldestReadyMs: number | null | undefined;
}

const unknown = "–";

function Now({ stats, oldestReadyMs }: NowProps) {
  const { by_status: by, throughput, agents } = stats ?? {};
  const count = (value: number | undefined) => (value === undefined ? unknown : grouped(value));
  const figures: [string, string, string?][] = [
    ["completed per minute, last hour", throughput?.tasks_per_minute.toFixed(2) ?? unknown],
    ["waiting in the queue", count(by && by.available + by.blocked + by.scheduled), "is:queued"],
    ["oldest ready task", oldestReadyMs == null ? unknown : exactly(oldestReadyMs), "is:ready"],
    ["in flight", count(by && by.claimed + by.in_progress), "is:working,waiting"],
    ["failed", count(by?.failed), "is:failed"],
    ["agents busy / idle", `${count(agents?.active)} / ${count(agents?.idle)}`],
  ];
  return (
    <dl className="metrics-now">
      {figures.map(([name, value, q]) => (
        <div key={name} className="panel">
          <dd>{q ? <Link href={hrefTo("/queue", { q })}>{value}</Link> : value}</dd>
          <dt className="quiet small">{name}</dt>
        </div>
      ))}
    </dl>
  );
}

function OfOne({ agent, backHref }: { agent: string; backHref: string }) {
  return (
    <p className="row wrapping metrics-one">
      <span className="wraps">
        The charts show the work of <strong>{agent}</strong> only.
      </span>
      <Link href={backHref}>Show all agents</Link>
    </p>
  );
}

interface ChartsProps {
  history: History;
  range: string;
  /** Whose work; empty: of all, and what can only be said of all. */
  agent: string;
}

function Charts({ history, range, agent }: ChartsProps) {
  const columns = useMemo(() => columnsOf(history, agent), [history, agent]);
  const isOfAll = agent === "";
  const isLong = (ranges[range] ?? 0) > 24;
  const timeOf = (at: number) =>
    new Date(at).toLocaleString(undefined, {
      ...(isLong ? { month: "short", day: "numeric" } : {}),
      hour: "2-digit",
      minute: "2-digit",
    });
  const total = (pick: (column: Column) => number) =>
    grouped(columns.reduce((sum, column) => sum + pick(column), 0));
  const average = (pick: (column: Column) => Mean) => averageOf(meanOf(columns.map(pick)));
  const shared = { columns, timeOf };
  return (
    <div className="metrics-charts">
      <Chart
        {...shared}
        title="Throughput"
        summary={`${total((each) => each.completed)} completed, ${total((each) => each.failed)} failed attempts`}
        series={[
          { name: "completed", tone: "good", value: (each) => each.completed },
          { name: "failed", tone: "bad", value: (each) => each.failed },
        ]}
      />
      {isOfAll && columns.some(({ usd }) => usd > 0) && (
        <Chart
          {...shared}
          title="Cost"
          summary={`${dollars(columns.reduce((sum, { usd }) => sum + usd, 0))} reported`}
          format={dollars}
          series={[{ name: "cost", tone: "calm", value: (each) => each.usd }]}
        />
      )}
      {isOfAll && <QueueCharts {...shared} oldestReadyMs={history.oldestReadyMs} />}
      <Chart
        {...shared}
        title="Wait for a claim"
        summary={average((each) => each.claimWait)}
        isLine
        {...inTime}
        series={[{ name: "wait", tone: "wait", value: (each) => each.claimWait.ms }]}
      />
      <Chart
        {...shared}
        title="Time per task"
        summary={average((each) => each.duration)}
        isLine
        {...inTime}
        series={[{ name: "time", tone: "link", value: (each) => each.duration.ms }]}
      />
      <Chart
        {...shared}
        title="Wait for a human"
        summary={average((each) => each.questionWait)}
        isLine
        {...inTime}
        series={[{ name: "wait", tone: "wait", value: (each) => each.questionWait.ms }]}
      />
      <Chart
        {...shared}
        title="Lost leases"
        summary={`${total((each) => each.lost)} lost`}
        series={[{ name: "lost", tone: "bad", value: (each) => each.lost }]}
      />
    </div>
  );
}

/** What nobody in particular did. */
function QueueCharts({
  oldestReadyMs,
  ...shared
}: Pick<ChartProps, "columns" | "timeOf"> & { oldestReadyMs: number | null }) {
  const { columns } = shared;
  const created = columns.reduce((sum, each) => sum + each.created, 0);
  return (
    <>
      <Chart
        {...shared}
        title="Created"
        summary={`${grouped(created)} tasks`}
        series={[{ name: "created", tone: "link", value: (each) => each.created }]}
      />
      <Chart
        {...shared}
        title="Queue"
        summary={`${grouped(columns.at(-1)?.queued ?? 0)} queued now`}
        isLine
        series={[{ name: "queued", tone: "calm", value: (each) => each.queued }]}
      />
      <Chart
        {...shared}
        title="Queue age"
        summary={oldestReadyMs === null ? "nothing to claim now" : `oldest ${exactly(oldestReadyMs)} now`}
        isLine
        {...inTime}
        series={[{ name: "oldest", tone: "wait", value: (each) => each.oldestReadyMs }]}
      />
    </>
  );
}

const inTime = { format: exactly, topOf: roundUpMs };

const averageOf = ({ ms }: Mean) => (ms === null ? "none yet" : `${exactly(ms)} on average`);
