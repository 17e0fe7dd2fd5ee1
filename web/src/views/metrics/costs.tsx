// What the attempts have cost since the beginning, as far as they said: by kind of agent, label, resource and day.

import { Fragment } from "react";
import { grouped } from "../../components/number.js";
import { withUnseen } from "../../components/unseen.js";
import type { OperationNamed, OutputOf } from "../../data/dibs.js";

export type Usage = OutputOf<OperationNamed<"stats.get">>["usage"];
type Cost = Usage["by_label"][string];

const shownMax = 20;
/** What the figures could not keep apart. */
const allOthers = "*";

export const dollars = (usd: number) =>
  `$${usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: usd < 1 ? 4 : 2 })}`;

const hasCost = ({ usd, input_tokens, output_tokens }: Usage) => usd + input_tokens + output_tokens > 0;

/** Not there while nobody says what anything costs. */
export function Costs({ usage }: { usage: Usage }) {
  if (!hasCost(usage)) return null;
  const groups: [name: string, costs: Record<string, Cost>][] = [
    ["Agent type", usage.by_agent_type],
    ["Label", usage.by_label],
    ["Resource", usage.by_resource],
  ];
  const { usd_per_completed: perCompleted, usd_per_landed: perLanded } = usage;
  const per = [
    perCompleted === null ? null : `${dollars(perCompleted)} per completed task`,
    perLanded === null ? null : `${dollars(perLanded)} per landed task`,
  ].filter((each) => each !== null);
  return (
    <section className="panel metrics-agents" aria-labelledby="metrics-costs">
      <div className="row wrapping">
        <h2 id="metrics-costs">Cost so far</h2>
        <span className="quiet small">{["as far as attempts said", ...per].join(" · ")}</span>
      </div>
      <div className="metrics-scroll">
        <table className="metrics-table">
          <thead>
            <tr>
              <th scope="col">Spent on</th>
              <th scope="col">Cost</th>
              <th scope="col">Tokens in</th>
              <th scope="col">Tokens out</th>
            </tr>
          </thead>
          <tbody>
            <Row name="All" cost={usage} />
            {groups.map(([name, costs]) => (
              <Group key={name} name={name} costs={mostFirst(costs)} />
            ))}
            <Group name="Day (UTC)" costs={Object.entries(usage.by_day).reverse()} />
          </tbody>
        </table>
      </div>
    </section>
  );
}

const mostFirst = (costs: Record<string, Cost>) =>
  Object.entries(costs).sort(([, a], [, b]) => b.usd - a.usd || b.output_tokens - a.output_tokens);

function Group({ name, costs }: { name: string; costs: [name: string, cost: Cost][] }) {
  if (costs.length === 0) return null;
  return (
    <Fragment>
      <tr>
        <th scope="rowgroup" colSpan={4} className="quiet small">
          {name}
          {costs.length > shownMax && `: the first ${shownMax} of ${costs.length}`}
        </th>
      </tr>
      {costs.slice(0, shownMax).map(([each, cost]) => (
        <Row key={each} name={each === allOthers ? "all others" : withUnseen(each)} cost={cost} />
      ))}
    </Fragment>
  );
}

function Row({ name, cost: { usd, input_tokens, output_tokens } }: { name: string; cost: Cost }) {
  return (
    <tr>
      <th scope="row" className="wraps">
        {name}
      </th>
      <td>{dollars(usd)}</td>
      <td>{grouped(input_tokens)}</td>
      <td>{grouped(output_tokens)}</td>
    </tr>
  );
}
