// Who works on it, and for how long the lease still holds.

import { leaseLeftMs } from "../../../../src/client/view/health.js";
import { clock, duration, percent } from "../../../../src/client/view/words.js";
import { Badge } from "../../components/parts.js";
import { When } from "../../components/when.js";
import type { Claim, Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";

const tones: Record<Claim["healthStatus"], string> = {
  healthy: "good",
  warning: "wait",
  expiring: "bad",
  expired: "bad",
  stale: "bad",
  paused: "",
};

export function Holder({ task }: { task: Task }) {
  const now = useNow();
  const { claim } = task;
  if (!claim) return null;
  return (
    <section className="panel task-holder" aria-label="Holder">
      <div className="row wrapping">
        <span className="strong mono wraps">{claim.sessionId}</span>
        {claim.agentType && <span className="quiet wraps">{claim.agentType}</span>}
        <Badge tone={tones[claim.healthStatus]} title="health of the claim">
          {claim.healthStatus}
        </Badge>
        <Lease claim={claim} now={now} />
        <span className="quiet">
          attempt {claim.epoch} ·{" "}
          <time dateTime={claim.claimedAt} title={`since ${claim.claimedAt}`}>
            for {duration(now - Date.parse(claim.claimedAt))}
          </time>{" "}
          · last seen <When at={claim.lastHeartbeat} now={now} />
        </span>
      </div>
      <Progress claim={claim} taskId={task.id} now={now} />
    </section>
  );
}

function Lease({ claim, now }: { claim: Claim; now: number }) {
  const left = leaseLeftMs(claim, now);
  if (left === null) return <span className="quiet">the lease clock is stopped until the answer</span>;
  return (
    <span title={`until ${claim.expiresAt}`}>
      lease <span className="strong">{clock(left)}</span>
    </span>
  );
}

/** One line, whatever was reported: what is below must not move while somebody points at it. The timeline has the whole note. */
function Progress({ claim: { progress }, taskId, now }: { claim: Claim; taskId: string; now: number }) {
  return (
    <div className="row task-progress">
      {progress && progress.percent !== null && (
        <>
          <progress max={100} value={progress.percent} aria-label={`Progress of ${taskId}`} />
          <span className="small">{percent(progress.percent)}</span>
        </>
      )}
      {progress?.note ? (
        <bdi className="cut" title={progress.note}>
          {progress.note}
        </bdi>
      ) : (
        !progress && <span className="quiet">No progress reported</span>
      )}
      {progress && (
        <span className="quiet small">
          <When at={progress.at} now={now} />
        </span>
      )}
    </div>
  );
}
