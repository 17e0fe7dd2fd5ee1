// Who works on what: a card per session as agents and their leases tell it, those that need somebody first.

import "./fleet.css";
import { hasSeveralHosts } from "../../../../src/client/view/agents.js";
import { LoadError } from "../../components/load-error.js";
import { grouped } from "../../components/number.js";
import { Empty } from "../../components/parts.js";
import { useStableList } from "../../components/stable-list.js";
import { hrefTo, Link, useParam, usePlace } from "../../router.js";
import { Resources } from "./resources.js";
import { SessionCard } from "./session-card.js";
import { healths, keyOf, useFleet } from "./use-fleet.js";

export function Fleet() {
  const { project } = usePlace();
  const [only, setOnly] = useParam("health");
  const { live, now, members, counts } = useFleet(project);
  const stable = useStableList(
    only === "" ? members : members.filter(({ health }) => health === only),
    keyOf,
    "after",
  );
  const withHost = hasSeveralHosts(members.map(({ session }) => session));
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    <>
      <div className="view-head">
        <h1>Fleet</h1>
        <fieldset className="row wrapping bare" aria-label="Show only">
          {healths.map((health) => (
            <button
              key={health}
              type="button"
              className="small fleet-chip"
              data-health={health}
              aria-pressed={only === health}
              onClick={() => setOnly(only === health ? "" : health)}
            >
              {health} <span className="strong">{grouped(counts[health])}</span>
            </button>
          ))}
        </fieldset>
        <Tasks counts={live.data?.totals.tasks ?? {}} />
      </div>
      <LoadError live={live} />
      <Resources now={now} />
      {live.data && stable.shown.length === 0 && <Nobody isFiltered={only !== ""} />}
      <ol className="fleet" aria-label="Sessions" {...stable.list}>
        {stable.shown.map((member) => (
          <SessionCard
            key={keyOf(member)}
            member={member}
            now={now}
            withHost={withHost}
            isGone={stable.gone.has(keyOf(member))}
          />
        ))}
      </ol>
      {all > members.length && (
        <p className="quiet small fleet-cut">
          The first {grouped(members.length)} of {grouped(all)} sessions; those that need attention come
          first.
        </p>
      )}
    </>
  );
}

function Tasks({ counts }: { counts: Record<string, number> }) {
  const { queued = 0, claimed = 0, running = 0, awaiting_response: waiting = 0 } = counts;
  const { completed = 0, failed = 0 } = counts;
  return (
    <p className="quiet fleet-tasks">
      <Link href={hrefTo("/queue", { q: "is:queued" })}>{grouped(queued)} queued</Link>
      {" · "}
      <Link href={hrefTo("/queue", { q: "is:working,waiting" })}>
        {grouped(claimed + running + waiting)} in flight
      </Link>
      {" · "}
      <Link href={hrefTo("/queue", { q: "is:failed" })}>{grouped(failed)} failed</Link>
      {" · "}
      <Link href={hrefTo("/queue", { q: "is:done" })}>{grouped(completed)} done</Link>
    </p>
  );
}

function Nobody({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No session matches." />;
  return (
    <Empty title="No agents yet.">
      <p>
        Start one with <code>dibs work --agent claude</code>, or any command with{" "}
        <code>dibs work -- &lt;command&gt;</code>.
      </p>
    </Empty>
  );
}
