// Who did how much, and how long it took them. A name leads to the charts of that session alone.

import { grouped } from "../../components/number.js";
import { Empty } from "../../components/parts.js";
import { Link } from "../../router.js";
import { type AgentRow, exactly, type Mean } from "./series.js";

const shownMax = 50;

/** What a minute could not keep apart: not one agent. */
const allOthers = "*";

const heads: [string, string?][] = [
  ["Session"],
  ["Claimed"],
  ["Completed"],
  ["Failed"],
  ["Lost"],
  ["Claim wait", "How long its tasks were ready before it claimed them, on average"],
  ["Time per task", "From start to completion, on average"],
  ["Human wait", "From its questions to their answers, on average"],
];

interface AgentsProps {
  rows: readonly AgentRow[];
  /** Whose figures the charts show; empty: of all. */
  agent: string;
  hrefOf: (agent: string) => string;
}

export function Agents({ rows, agent, hrefOf }: AgentsProps) {
  if (rows.length === 0) return <Empty title="No agent worked in this period." />;
  return (
    <section className="panel metrics-agents" aria-labelledby="metrics-agents">
      <h2 id="metrics-agents">By agent</h2>
      <div className="metrics-scroll">
        <table className="metrics-table">
          <thead>
            <tr>
              {heads.map(([name, title]) => (
                <th key={name} scope="col" title={title}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shownMax).map((row) => (
              <Row key={row.name} row={row} isChosen={row.name === agent} href={hrefOf(row.name)} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shownMax && <p className="quiet small">and {rows.length - shownMax} more</p>}
    </section>
  );
}

function Row({ row, isChosen, href }: { row: AgentRow; isChosen: boolean; href: string }) {
  const { name, claimed, completed, failed, lost } = row;
  return (
    <tr>
      <th scope="row" className="wraps">
        {name === allOthers ? (
          "all others"
        ) : (
          <Link href={href} aria-current={isChosen || undefined}>
            {name}
          </Link>
        )}
      </th>
      <td>{grouped(claimed)}</td>
      <td>{grouped(completed)}</td>
      <td className={failed > 0 ? "bad" : "quiet"}>{grouped(failed)}</td>
      <td className={lost > 0 ? "bad" : "quiet"}>{grouped(lost)}</td>
      <Time mean={row.claimWait} />
      <Time mean={row.duration} />
      <Time mean={row.questionWait} />
    </tr>
  );
}

function Time({ mean: { ms } }: { mean: Mean }) {
  return <td className={ms === null ? "quiet" : ""}>{ms === null ? "–" : exactly(ms)}</td>;
}
