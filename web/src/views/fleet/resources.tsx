// What the fleet shares and runs out of: how much is in use, what is held and until when, who waits, what is spent.

import { useState } from "react";
import {
  budgetTexts,
  byNeed,
  holdCommand,
  isHeld,
  resumeCommand,
  unitsText,
} from "../../../../src/client/view/resources.js";
import { unitMs } from "../../../../src/common/duration.js";
import type { WireResource } from "../../../../src/contract/shapes.js";
import { Confirm } from "../../components/confirm.js";
import { LoadError } from "../../components/load-error.js";
import { grouped } from "../../components/number.js";
import { Badge } from "../../components/parts.js";
import { Reason } from "../../components/reason.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { dibs } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { whyNot } from "../../data/me.js";

const shownFirst = 8;
/** Units and waiting tasks change with most events: counting them for each is not worth it. */
const calmMs = 1_000;
/** Holds end by themselves. */
const againMs = 5_000;

type Asked = { verb: "hold" | "resume"; resource: WireResource };

/** Not there while the org has no resources. */
export function Resources({ now }: { now: number }) {
  const live = useLive("resources", () => dibs.resources.list(), { everyMs: againMs, calmMs });
  const [isAll, setAll] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const resources = byNeed(live.data?.resources ?? []);
  if (resources.length === 0) return live.error === undefined ? null : <LoadError live={live} />;
  const shown = isAll ? resources : resources.slice(0, shownFirst);
  const onClose = () => setAsked(null);
  return (
    <section className="panel resources" aria-labelledby="fleet-resources">
      <h2 id="fleet-resources">
        Resources <span className="quiet">{grouped(resources.length)}</span>
      </h2>
      <LoadError live={live} />
      <div className="resources-scroll">
        <table>
          <thead>
            <tr>
              {["Resource", "In use", "Waiting", "Spent", "State"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {shown.map((resource) => (
              <Row
                key={resource.id}
                resource={resource}
                now={now}
                onAsk={(verb) => setAsked({ verb, resource })}
              />
            ))}
          </tbody>
        </table>
      </div>
      {resources.length > shownFirst && (
        <button type="button" className="small" onClick={() => setAll(!isAll)}>
          {isAll ? "Show fewer" : `Show all ${grouped(resources.length)}`}
        </button>
      )}
      {asked?.verb === "hold" && <Hold id={asked.resource.id} onClose={onClose} onDone={live.reload} />}
      {asked?.verb === "resume" && (
        <Resume resource={asked.resource} now={now} onClose={onClose} onDone={live.reload} />
      )}
    </section>
  );
}

interface RowProps {
  resource: WireResource;
  now: number;
  onAsk: (verb: Asked["verb"]) => void;
}

function Row({ resource, now, onAsk }: RowProps) {
  const { id, waiting } = resource;
  const verb = isHeld(resource) ? "resume" : "hold";
  const why = whyNot("leader");
  return (
    <tr>
      <th scope="row" className="mono">
        {withUnseen(id)}
      </th>
      <td>{unitsText(resource)}</td>
      <td>{waiting > 0 ? `${grouped(waiting)} ${waiting === 1 ? "task" : "tasks"}` : ""}</td>
      <td>{budgetTexts(resource).join(", ")}</td>
      <td className="wraps resources-state">
        <Standing resource={resource} now={now} />
      </td>
      <td>
        <button
          type="button"
          className="small"
          disabled={why !== null}
          title={why ?? undefined}
          aria-label={`${verb === "hold" ? "Hold" : "Resume"} ${id}`}
          onClick={() => onAsk(verb)}
        >
          {verb === "hold" ? "Hold" : "Resume"}
        </button>
      </td>
    </tr>
  );
}

const tones = { open: "good", "half-open": "wait", held: "bad" } as const;

function Standing({ resource: { state, holds }, now }: { resource: WireResource; now: number }) {
  return (
    <>
      <Badge
        tone={tones[state]}
        {...(state === "half-open" ? { title: "Its hold has ended: one claim goes first" } : {})}
      >
        {state}
      </Badge>
      {holds.map(({ source, until, reason }) => (
        <span key={source} className="small">
          {" "}
          {source},{" "}
          {until === null ? (
            "until it is resumed"
          ) : (
            <>
              ends <When at={until} now={now} isPlanned />
            </>
          )}
          {reason !== null && `: ${withUnseen(reason)}`}
        </span>
      ))}
    </>
  );
}

const lasting: [lasts: string, text: string][] = [
  ["", "until it is resumed"],
  ["15m", "15 minutes"],
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["1d", "1 day"],
];

const msOf = (lasts: string) => Number.parseInt(lasts, 10) * unitMs[lasts.at(-1)!]!;

interface DialogProps {
  onClose: () => void;
  onDone: () => void;
}

function Hold({ id, onClose, onDone }: { id: string } & DialogProps) {
  const [lasts, setLasts] = useState("");
  const [reason, setReason] = useState("");
  const text = reason.trim() || undefined;
  return (
    <Confirm
      title={`Hold ${withUnseen(id)}?`}
      verb="Hold"
      command={holdCommand(id, { lasts: lasts || undefined, reason: text })}
      done={`${withUnseen(id)} is held.`}
      run={async () => {
        await dibs.resources.hold({
          id,
          ...(lasts ? { forMs: msOf(lasts) } : {}),
          ...(text ? { reason: text } : {}),
        });
        onDone();
      }}
      onClose={onClose}
    >
      <p>No claim gets it until the hold ends. Running tasks continue.</p>
      <label className="field">
        How long
        <select value={lasts} onChange={(event) => setLasts(event.target.value)}>
          {lasting.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Reason value={reason} onChange={setReason} />
    </Confirm>
  );
}

type ResumeProps = { resource: WireResource; now: number } & DialogProps;

function Resume({ resource, now, onClose, onDone }: ResumeProps) {
  const { id, waiting } = resource;
  return (
    <Confirm
      title={`Resume ${withUnseen(id)}?`}
      verb="Resume"
      command={resumeCommand(id)}
      done={`${withUnseen(id)} can be claimed again.`}
      run={async () => {
        await dibs.resources.resume({ id });
        onDone();
      }}
      onClose={onClose}
    >
      <p className="wraps">
        <Standing resource={resource} now={now} />
      </p>
      <p>
        {waiting > 0
          ? `${grouped(waiting)} ready ${waiting === 1 ? "task waits" : "tasks wait"} for it. `
          : ""}
        All of its holds end. A budget that is spent holds it no more in this period.
      </p>
    </Confirm>
  );
}
