// Who works on what: a card per session as agents and their leases tell it, those that need somebody first.

import "./fleet.css";
import { type SessionHealth, sessionHealth } from "../../../../src/client/view/health.js";
import { Empty } from "../../components/parts.js";
import { Trouble } from "../../components/trouble.js";
import { dibs } from "../../data/dibs.js";
import { useLive, useNow } from "../../data/live.js";
import { hrefTo, Link, useParam, usePlace } from "../../router.js";
import { type Session, SessionCard } from "./session-card.js";

/** In the order of who needs somebody most. */
const healths: readonly SessionHealth[] = ["waiting", "stalled", "lost", "working", "idle"];
const shownMax = 500;

export function Fleet() {
  const { project } = usePlace();
  const now = useNow();
  const [only, setOnly] = useParam("health");
  const live = useLive(`fleet ${project}`, () => dibs.sessions.summary({ project, limit: shownMax }), {
    everyMs: 10_000,
    calmMs: 200,
  });
  const sessions = live.data?.sessions ?? [];
  const healthOf = new Map(sessions.map((session) => [session, sessionHealth(session, now)]));
  const countOf = (health: SessionHealth) => sessions.filter((each) => healthOf.get(each) === health).length;
  const shown = sessions
    .filter((session) => only === "" || healthOf.get(session) === only)
    .sort((a, b) => order(a, healthOf.get(a)!) - order(b, healthOf.get(b)!) || byStart(a, b));
  const tasks = live.data?.totals.tasks ?? {};
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
              {health} <span className="strong">{countOf(health)}</span>
            </button>
          ))}
        </fieldset>
        <p className="quiet fleet-tasks">
          <Link href={hrefTo("/queue", { q: "is:ready" })}>{tasks.queued ?? 0} queued</Link>
          {" · "}
          <Link href={hrefTo("/queue", { q: "is:working" })}>
            {(tasks.claimed ?? 0) + (tasks.running ?? 0)} in flight
          </Link>
          {" · "}
          <Link href={hrefTo("/queue", { q: "is:done" })}>{tasks.completed ?? 0} done</Link>
        </p>
      </div>
      <Trouble live={live} />
      {live.data && shown.length === 0 && <Nobody isFiltered={only !== ""} />}
      <ul className="fleet" aria-label="Sessions">
        {shown.map((session) => (
          <SessionCard
            key={`${session.project} ${session.id}`}
            session={session}
            health={healthOf.get(session)!}
            now={now}
          />
        ))}
      </ul>
      {sessions.length === shownMax && (
        <p className="quiet small">
          The first {shownMax} sessions are shown; choose a project to see others.
        </p>
      )}
    </>
  );
}

const order = (_: Session, health: SessionHealth) => healths.indexOf(health);
const byStart = (a: Session, b: Session) =>
  a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : a.id < b.id ? -1 : 1;

function Nobody({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No session is in that condition." />;
  return (
    <Empty title="No agent is here yet.">
      <p>
        Start one with <code>dibs work --agent claude</code>, or any command with{" "}
        <code>dibs work -- &lt;command&gt;</code>.
      </p>
    </Empty>
  );
}
