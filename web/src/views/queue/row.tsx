// One task as S0 draws it: what it is, how it stands, who has it and since when.

import { type MouseEvent, memo } from "react";
import { type ClaimMark, claimMark } from "../../../../src/client/view/health.js";
import {
  ago,
  duration,
  percent,
  phaseTag,
  stageWord,
  standing,
  stateWord,
} from "../../../../src/client/view/words.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { Badge, Priority } from "../../components/parts.js";
import { toneOf } from "../../components/tones.js";
import { useStage } from "../../data/stages.js";
import { Link, taskHref } from "../../router.js";

export interface RowProps {
  row: WireTaskRow;
  /** Its place in the list, from 0. */
  place: number;
  top: number;
  now: number;
  holder: string | null;
  parentTitle: string | undefined;
  showsProject: boolean;
  isActive: boolean;
  isChosen: boolean;
  /** It does not match any more, or is gone; it stays until the list is sorted anew. */
  isOver: boolean;
  onTick: (row: WireTaskRow, isRange: boolean) => void;
  onPick: (row: WireTaskRow, event: MouseEvent<HTMLElement>) => void;
}

export const Row = memo(function Row(props: RowProps) {
  const { row, place, top, now, holder, isActive, isChosen, isOver, onTick, onPick } = props;
  return (
    <tr
      className="queue-row"
      data-place={place}
      data-over={isOver || undefined}
      aria-rowindex={place + 2}
      aria-selected={isChosen}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={(event) => onPick(row, event)}
    >
      <td className="queue-choose">
        <label className="queue-tick">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${row.id}`}
            checked={isChosen}
            onChange={({ nativeEvent }) =>
              onTick(row, "shiftKey" in nativeEvent && nativeEvent.shiftKey === true)
            }
          />
        </label>
      </td>
      <td className="queue-id">
        <div className="cut mono" title={row.id}>
          {row.id}
        </div>
        {props.showsProject && <div className="cut quiet small">{row.project}</div>}
      </td>
      <Task row={row} parentTitle={props.parentTitle} isOver={isOver} />
      <td className="queue-state">
        <Badge tone={toneOf(standing(row, now))}>{stateWord(row, now)}</Badge>
      </td>
      <td className="queue-priority small">
        <Priority value={row.priority} />
      </td>
      <Claimed row={row} holder={holder} now={now} />
      <td className="queue-age quiet" title={`added ${exact(row.createdAt)}`}>
        {duration(now - Date.parse(row.createdAt))}
      </td>
      <td className="queue-updated quiet" title={`changed ${exact(row.updatedAt)}`}>
        {since(row.updatedAt, now)}
      </td>
    </tr>
  );
});

const exact = (at: string) => new Date(at).toLocaleString();

/** What has happened is never still to come, whatever the server's clock says. */
const since = (at: string, now: number) => ago(at, Math.max(now, Date.parse(at)));

function Task({ row, parentTitle, isOver }: Pick<RowProps, "row" | "parentTitle" | "isOver">) {
  const { project, id, title, phase, labels, parentId } = row;
  return (
    <td className="queue-task">
      <Link className="cut queue-title" href={taskHref(project, id)} tabIndex={-1} title={title}>
        {title}
      </Link>
      <div className="queue-more small quiet">
        {isOver && <span className="queue-left">no longer matches</span>}
        {phase && (
          <span className="mono" title={`phase ${phase}`}>
            {phaseTag(phase)}
          </span>
        )}
        {labels.slice(0, labelsShown).map((label) => (
          <span key={label} className="queue-label cut">
            {label}
          </span>
        ))}
        {labels.length > labelsShown && <span title={labels.join(", ")}>+{labels.length - labelsShown}</span>}
        <Detail row={row} />
        {parentId && (
          <span
            className="cut queue-parent"
            title={parentTitle ? `subtask of ${parentId}: ${parentTitle}` : `subtask of ${parentId}`}
          >
            in {parentTitle ?? parentId}
          </span>
        )}
      </div>
    </td>
  );
}

const labelsShown = 3;

/** What one wants to know next: why it failed, what it asks, how far it is, what it waits for. */
function Detail({ row }: { row: WireTaskRow }) {
  const { state, error, question, claim, pendingDependencies, openChildren, dependsOn } = row;
  const stage = useStage(row);
  if (stage !== null) return <span className="cut">{stageWord(stage)}</span>;
  if (state === "failed" && error) return <span className="cut bad">{error}</span>;
  if (state === "awaiting_response" && question) return <span className="cut wait">{question}</span>;
  if (claim && (claim.percent !== null || claim.note)) {
    return <span className="cut">{[percent(claim.percent), claim.note].filter(Boolean).join(" · ")}</span>;
  }
  if (state !== "queued") return null;
  if (pendingDependencies > 0) {
    const waitsFor = pendingDependencies === dependsOn.length ? dependsOn.slice(0, 3).join(", ") : "";
    const count = `${pendingDependencies} of ${dependsOn.length}`;
    return (
      <span className="cut">
        waits for {waitsFor || count}
        {waitsFor && dependsOn.length > 3 && ` and ${dependsOn.length - 3} more`}
      </span>
    );
  }
  return openChildren > 0 ? (
    <span className="cut">
      {openChildren} open {openChildren === 1 ? "subtask" : "subtasks"}
    </span>
  ) : null;
}

const marks: Record<ClaimMark, { tone: string; says: string }> = {
  "[*]": { tone: "link", says: "in flight" },
  "[!]": { tone: "bad", says: "in flight, but silent" },
  "[?]": { tone: "wait", says: "waiting for an answer" },
  "--": { tone: "quiet", says: "not claimed" },
  "": { tone: "", says: "" },
};

function Claimed({ row, holder, now }: Pick<RowProps, "row" | "holder" | "now">) {
  const mark = claimMark(row, now);
  const { tone, says } = marks[mark];
  const { claim } = row;
  return (
    <td className="queue-claimed">
      <span className={`mono queue-mark ${tone}`} title={says} aria-hidden="true">
        {mark}
      </span>
      <span className="only-read">{says}</span>
      {claim && (
        <div className="queue-holder">
          <div className="cut" title={claim.sessionId}>
            {holder}
          </div>
          <div
            className="cut quiet small"
            title={`since ${exact(claim.claimedAt)}, last seen ${since(claim.lastHeartbeat, now)}`}
          >
            {[claim.agentType, since(claim.claimedAt, now)].filter(Boolean).join(" ")}
          </div>
        </div>
      )}
    </td>
  );
}
