// Columns or a line over time, drawn as SVG. Who cannot see it gets the same as a table.

import { useId, useState } from "react";
import { grouped } from "../../components/number.js";
import { type Column, roundUp } from "./series.js";

export interface Series {
  name: string;
  /** One of the tones of the page. */
  tone: string;
  value: (column: Column) => number | null;
}

export interface ChartProps {
  title: string;
  columns: readonly Column[];
  /** Several are stacked as columns; one with `isLine` is a line. */
  series: readonly Series[];
  isLine?: boolean;
  format?: (value: number) => string;
  /** The top of the axis for a highest value. */
  topOf?: (value: number) => number;
  timeOf: (at: number) => string;
  /** What the time after the title is about. */
  summary: string;
}

const width = 600;
const height = 140;
const plain = (value: number) => grouped(Math.round(value * 10) / 10);

export function Chart(props: ChartProps) {
  const { title, columns, series, isLine, format = plain, topOf = roundUp, timeOf, summary } = props;
  const titleId = useId();
  const [at, setAt] = useState<number | null>(null);
  const totals = columns.map((column) => series.reduce((sum, { value }) => sum + (value(column) ?? 0), 0));
  const top = topOf(Math.max(0, ...totals));
  const step = width / Math.max(1, columns.length);
  const point = at === null ? undefined : columns[at];
  const look = (x: number, box: DOMRect) => {
    const index = Math.floor(((x - box.left) / box.width) * columns.length);
    setAt(Math.min(columns.length - 1, Math.max(0, index)));
  };
  return (
    <section className="panel chart" aria-labelledby={titleId}>
      <div className="row wrapping">
        <h2 id={titleId}>{title}</h2>
        <span className="quiet small grows">{summary}</span>
        {series.length > 1 && <Legend series={series} />}
      </div>
      <p className="chart-readout small quiet" aria-hidden="true">
        {point
          ? `${timeOf(point.at)} · ${series.map(({ name, value }) => `${name} ${show(value(point), format)}`).join(" · ")}`
          : "\u00a0"}
      </p>
      <div className="chart-body">
        <span className="chart-top small quiet">{format(top)}</span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary}`}
          onPointerMove={(event) => look(event.clientX, event.currentTarget.getBoundingClientRect())}
          onPointerLeave={() => setAt(null)}
        >
          <line className="chart-grid" x1="0" x2={width} y1={height / 2} y2={height / 2} />
          {at !== null && <rect className="chart-cursor" x={at * step} width={step} y="0" height={height} />}
          {isLine ? (
            <path className={`chart-line ${series[0]!.tone}`} d={lineOf(columns, series[0]!, top, step)} />
          ) : (
            columns.map((column, index) => (
              <Stack key={column.at} column={column} series={series} x={index * step} step={step} top={top} />
            ))
          )}
        </svg>
      </div>
      <div className="row quiet small chart-times">
        <span>{columns[0] && timeOf(columns[0].at)}</span>
        <span>{columns.length > 1 && timeOf(columns.at(-1)!.at)}</span>
      </div>
      <AsTable title={title} columns={columns} series={series} format={format} timeOf={timeOf} />
    </section>
  );
}

const show = (value: number | null, format: (value: number) => string) =>
  value === null ? "–" : format(value);

function Stack(props: { column: Column; series: readonly Series[]; x: number; step: number; top: number }) {
  const { column, series, x, step, top } = props;
  let below = height;
  return series.map(({ name, tone, value }) => {
    const size = ((value(column) ?? 0) / top) * height;
    if (size === 0) return null;
    below -= size;
    return (
      <rect
        key={name}
        className={`chart-bar ${tone}`}
        x={x + step * 0.12}
        width={step * 0.76}
        y={below}
        height={size}
      />
    );
  });
}

/** Gaps where there was nothing to measure; a lone point is a short dash. */
function lineOf(columns: readonly Column[], { value }: Series, top: number, step: number): string {
  const parts: string[] = [];
  let isDrawing = false;
  columns.forEach((column, index) => {
    const now = value(column);
    if (now !== null) {
      const [x, y] = [(index + 0.5) * step, height - (now / top) * height];
      parts.push(isDrawing ? `L${x} ${y}` : `M${x - step * 0.3} ${y}L${x + step * 0.3} ${y}`);
    }
    isDrawing = now !== null;
  });
  return parts.join("");
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul className="row small quiet">
      {series.map(({ name, tone }) => (
        <li key={name} className="row chart-legend">
          <span className={`chart-swatch ${tone}`} /> {name}
        </li>
      ))}
    </ul>
  );
}

function AsTable({ title, columns, series, format = plain, timeOf }: Omit<ChartProps, "summary">) {
  const [isOpen, setOpen] = useState(false);
  const said = columns.filter((column) => series.some(({ value }) => value(column)));
  return (
    <details className="small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">As a table</summary>
      {isOpen && (
        <table className="metrics-table">
          <caption className="only-read">{title}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {said.map((column) => (
              <tr key={column.at}>
                <th scope="row">{timeOf(column.at)}</th>
                {series.map(({ name, value }) => (
                  <td key={name}>{show(value(column), format)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
