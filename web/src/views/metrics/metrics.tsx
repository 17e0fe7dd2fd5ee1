// What the fleet does over time, added up by the store from its event log: the same after a reload, and in every browser.

import "./metrics.css";
import { useMemo } from "react";
import { standing, duration as words } from "../../../../src/client/view/words.js";
import { Empty } from "../../components/parts.js";
import { Trouble } from "../../components/trouble.js";
import { dibs } from "../../data/dibs.js";
import { useLive, useNow } from "../../data/live.js";
import { useTaskIndex } from "../../data/tasks.js";
import { hrefTo, Link, useParam, usePlace } from "../../router.js";
import { Chart } from "./chart.js";
import { type AgentRow, agentsOf, type Column, columnsOf, type History } from "./series.js";

const hourMs = 3_600_000;
const ranges: Record<string, number> = { "1h": 1, "3h": 3, "12h": 12, "1d": 24, "7d": 168, "30d": 720 };

const exact = (ms: number) =>
  ms < 1_000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : words(ms);

export default function Metrics() {
  const { project } = usePlace();
  const [chosen, setChosen] = useParam("range");
  const range = chosen in ranges ? chosen : "3h";
  const history = useLive(
    `metrics ${project} ${range}`,
    () =>
      dibs.metrics.history({ project, from: new Date(Date.now() - ranges[range]! * hourMs).toISOString() }),
    { calmMs: 2_000, everyMs: 30_000 },
  );
  const stats = useLive(`metrics-stats ${project}`, () => dibs.stats.get({ project }), { calmMs: 1_000 });
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
      <Trouble live={history} />
      {stats.data && <Now stats={stats.data} project={project} />}
      {history.data && <Charts history={history.data} range={range} />}
      {history.data && <Agents rows={agentsOf(history.data)} />}
    </>
  );
}

function Now({
  stats,
  project,
}: {
  stats: {
    by_status: Record<string, number>;
    throughput: { tasks_per_minute: number };
    agents: { active: number; idle: number };
  };
  project: string;
}) {
  const index = useTaskIndex();
  const now = useNow(5_000);
  const ready = index
    .rows()
    .filter(
      (row) => (project === "*" || row.project === project) && standing(row, now) === "ready" && row.readyAt,
    );
  const oldest = ready.reduce((least, { readyAt }) => Math.min(least, Date.parse(readyAt!)), now);
  const figures: [string, string, string?][] = [
    ["completed per minute, last hour", stats.throughput.tasks_per_minute.toFixed(2)],
    ["waiting in the queue", String(stats.by_status.available), "is:open -is:working"],
    ["oldest that could be claimed", ready.length === 0 ? "–" : words(now - oldest), "is:ready"],
    ["in flight", String(stats.by_status.claimed! + stats.by_status.in_progress!), "is:working"],
    ["failed", String(stats.by_status.failed), "is:failed"],
    ["agents at work / idle", `${stats.agents.active} / ${stats.agents.idle}`],
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

function Charts({ history, range }: { history: History; range: string }) {
  const columns = useMemo(() => columnsOf(history), [history]);
  const isLong = (ranges[range] ?? 0) > 24;
  const timeOf = (at: number) =>
    new Date(at).toLocaleString(undefined, {
      ...(isLong ? { month: "short", day: "numeric" } : {}),
      hour: "2-digit",
      minute: "2-digit",
    });
  const total = (pick: (column: Column) => number) => columns.reduce((sum, column) => sum + pick(column), 0);
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
      <Chart
        {...shared}
        title="Created"
        summary={`${total((each) => each.created)} tasks`}
        series={[{ name: "created", tone: "link", value: (each) => each.created }]}
      />
      <Chart
        {...shared}
        title="Queue"
        summary={`${columns.at(-1)?.queued ?? 0} queued now`}
        isLine
        series={[{ name: "queued", tone: "calm", value: (each) => each.queued }]}
      />
      <Chart
        {...shared}
        title="Wait for a claim"
        summary={`${meanOf(columns, (each) => each.claimWaitMs)} on average`}
        isLine
        format={exact}
        series={[{ name: "wait", tone: "wait", value: (each) => each.claimWaitMs }]}
      />
      <Chart
        {...shared}
        title="Time to do a task"
        summary={`${meanOf(columns, (each) => each.durationMs)} on average`}
        isLine
        format={exact}
        series={[{ name: "time", tone: "link", value: (each) => each.durationMs }]}
      />
      <Chart
        {...shared}
        title="Wait for a human"
        summary={`${meanOf(columns, (each) => each.questionWaitMs)} on average`}
        isLine
        format={exact}
        series={[{ name: "wait", tone: "wait", value: (each) => each.questionWaitMs }]}
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

function meanOf(columns: readonly Column[], pick: (column: Column) => number | null): string {
  const values = columns.map(pick).filter((value) => value !== null);
  return values.length === 0 ? "none" : exact(values.reduce((sum, value) => sum + value, 0) / values.length);
}

const shownMax = 50;

function Agents({ rows }: { rows: AgentRow[] }) {
  if (rows.length === 0) return <Empty title="No agent has worked in this time." />;
  return (
    <section className="panel metrics-agents" aria-labelledby="metrics-agents">
      <h2 id="metrics-agents">By agent</h2>
      <table className="metrics-table">
        <thead>
          <tr>
            {["Session", "Claimed", "Completed", "Failed", "Lost"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shownMax).map(({ name, claimed, completed, failed, lost }) => (
            <tr key={name}>
              <th scope="row" className="wraps">
                {name === "*" ? "all others" : name}
              </th>
              <td>{claimed}</td>
              <td>{completed}</td>
              <td className={failed > 0 ? "bad" : "quiet"}>{failed}</td>
              <td className={lost > 0 ? "bad" : "quiet"}>{lost}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shownMax && <p className="quiet small">and {rows.length - shownMax} more</p>}
    </section>
  );
}
