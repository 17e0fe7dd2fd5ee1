import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import { stageWord } from "../../../../src/client/view/words.js";
import { toneOf } from "../../components/tones.js";
import { useStage } from "../../data/stages.js";

export interface NodeFacts extends Record<string, unknown> {
  id: string;
  project: string;
  title: string;
  parentTitle: string | null;
  /** Its state, with the reason why it waits. */
  standing: string;
  mark: string;
  /** Who has it, or its state in words. */
  line: string;
  folded: number;
  isCritical: boolean;
  onFocus: (id: string) => void;
}

export type TaskNode = Node<NodeFacts, "task">;

export const TaskNodeView = memo(function TaskNodeView({ data }: NodeProps<TaskNode>) {
  const { id, project, title, parentTitle, standing, mark, folded, isCritical, onFocus } = data;
  const stage = useStage({ project, id, state: standing });
  const line = stage === null ? data.line : `${data.line}, ${stageWord(stage)}`;
  const whole = `${id} ${title}${parentTitle === null ? "" : `\nsubtask of: ${parentTitle}`}`;
  return (
    <div className={`graph-node ${toneOf(standing)}${isCritical ? " critical" : ""}`} data-state={standing}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <p className="cut graph-title" title={whole}>
        {title}
      </p>
      <p className="row small quiet graph-facts">
        {mark.trim() !== "" && <span className="mono">{mark}</span>}
        <span className="cut grows" title={line}>
          {line}
        </span>
        {folded > 0 && (
          <span className="graph-folded" title={`${folded} finished neighbours are hidden`}>
            +{folded} done
          </span>
        )}
        <button
          type="button"
          className="plain small graph-near nodrag"
          title={`Only tasks near ${id}`}
          aria-label={`Only tasks near ${id}`}
          onClick={(event) => {
            event.stopPropagation();
            onFocus(id);
          }}
        >
          ⊙ near
        </button>
      </p>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});
