import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { claimMark } from "../../../../src/client/view/health.js";
import { standing, stateWord } from "../../../../src/client/view/words.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { toneOf } from "../../components/tones.js";

export type TaskNode = Node<
  {
    row: WireTaskRow;
    folded: number;
    isCritical: boolean;
    isRunning: boolean;
    project: string;
    now: number;
    onFocus: (id: string) => void;
  },
  "task"
>;

export const TaskNodeView = memo(function TaskNodeView({ data }: NodeProps<TaskNode>) {
  const { row, folded, isCritical, now, onFocus } = data;
  const word = standing(row, now);
  return (
    <div className={`graph-node ${toneOf(word)}${isCritical ? " critical" : ""}`} data-state={word}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <p className="cut graph-title" title={`${row.id} ${row.title}`}>
        {row.title}
      </p>
      <p className="row small quiet">
        <span className="mono">{claimMark(row, now)}</span>
        <span className="cut grows">{row.claim ? row.claim.sessionId : stateWord(row, now)}</span>
        {folded > 0 && <span title={`${folded} finished tasks are folded here`}>+{folded} done</span>}
        <button
          type="button"
          className="plain graph-near nodrag"
          title={`Only what is near ${row.id}`}
          aria-label={`Only what is near ${row.id}`}
          onClick={(event) => {
            event.stopPropagation();
            onFocus(row.id);
          }}
        >
          ⊙
        </button>
      </p>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});
