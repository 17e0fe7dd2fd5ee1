// The drawing: nodes where the layout puts them, with the states they have now. A layout is made anew only when the structure
// changes; nodes that are as before stay the same objects, so that only the others are drawn again.

import "@xyflow/react/dist/style.css";
import { Background, Controls, type Edge, MarkerType, MiniMap, ReactFlow } from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { claimMark } from "../../../../src/client/view/health.js";
import { standing, stateWord } from "../../../../src/client/view/words.js";
import { sayTrouble } from "../../components/toasts.js";
import { toneOf } from "../../components/tones.js";
import { useNow } from "../../data/live.js";
import { navigate, taskHref } from "../../router.js";
import { useTheme } from "../../theme.js";
import { type Laid, layOut, nodeSize, type Places, shapeOf } from "./layout.js";
import { type NodeFacts, type TaskNode, TaskNodeView } from "./node.js";
import { type GraphNode, newestAtWork, type Selection } from "./select.js";
import { useView } from "./view.js";

const nodeTypes = { task: TaskNodeView };
/** With more, one loses the way. */
const mapFrom = 80;

interface CanvasProps {
  selection: Selection;
  /** What people asked to be drawn: for the same request the view stays. */
  request: string;
  project: string;
  isFollowing: boolean;
  onFocus: (id: string) => void;
}

export function Canvas({ selection, request, project, isFollowing, onFocus }: CanvasProps) {
  const laid = useLaid(selection, request);
  const nodes = useNodes(selection.nodes, laid?.places, onFocus);
  const edges = useMemo(() => edgesOf(selection, laid?.places), [selection, laid]);
  const frame = useRef<HTMLElement>(null);
  const [isReady, setReady] = useState(false);
  const followed = isFollowing ? (newestAtWork(selection.nodes)?.id ?? null) : null;
  useView({ laid, anchor: selection.anchor, followed, frame, isReady });
  return (
    <section ref={frame} className="graph" aria-label="Dependency graph" aria-busy={laid === null}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={useTheme()}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements={nodes.length > 150}
        minZoom={0.05}
        proOptions={{ hideAttribution: true }}
        onInit={() => setReady(true)}
        onKeyDown={(event) => {
          const id = (event.target as HTMLElement).dataset.id;
          if (event.key === "Enter" && id !== undefined) navigate(taskHref(project, id));
        }}
        onNodeClick={(_, { id }) => navigate(taskHref(project, id))}
      >
        <Background gap={24} />
        <Controls showInteractive={false} position="top-right" />
        {nodes.length > mapFrom && (
          <MiniMap<TaskNode>
            className="graph-map"
            pannable
            zoomable
            nodeClassName={({ data }) => toneOf(data.standing)}
          />
        )}
      </ReactFlow>
    </section>
  );
}

/** Null until there is a layout. The old one stays while the next is computed. */
function useLaid(selection: Selection, request: string): Laid | null {
  const [laid, setLaid] = useState<Laid | null>(null);
  const shape = useMemo(() => shapeOf(selection), [selection]);
  const latest = useRef(selection);
  latest.current = selection;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape is what matters of a selection.
  useEffect(() => {
    let isOld = false;
    layOut(latest.current).then((places) => !isOld && setLaid({ request, places }), sayTrouble);
    return () => {
      isOld = true;
    };
  }, [shape, request]);
  return laid;
}

function useNodes(
  drawn: readonly GraphNode[],
  places: Places | undefined,
  onFocus: (id: string) => void,
): TaskNode[] {
  const now = useNow(5_000);
  const before = useRef(new Map<string, TaskNode>());
  return useMemo(() => {
    const made = drawn.flatMap((node) => {
      const position = places?.get(node.row.id);
      return position ? [nodeOf(factsOf(node, now, onFocus), position, before.current.get(node.row.id))] : [];
    });
    before.current = new Map(made.map((node) => [node.id, node]));
    return made;
  }, [drawn, places, now, onFocus]);
}

function factsOf(
  { row, folded, isCritical, parentTitle }: GraphNode,
  now: number,
  onFocus: (id: string) => void,
): NodeFacts {
  const { id, project, title, claim } = row;
  const line = claim ? claim.sessionId : stateWord(row, now);
  const mark = claimMark(row, now);
  const own = { id, project, title, parentTitle };
  return { ...own, standing: standing(row, now), mark, line, folded, isCritical, onFocus };
}

function nodeOf(data: NodeFacts, position: TaskNode["position"], old: TaskNode | undefined): TaskNode {
  const isSame =
    old?.position === position && Object.entries(data).every(([name, value]) => old.data[name] === value);
  if (isSame) return old;
  const ariaLabel = `${data.id} ${data.title}, ${data.standing}`;
  return { id: data.id, type: "task", position, ...nodeSize, ariaLabel, data };
}

/** As large on a thick line as on a thin one. */
const arrow = (isCritical: boolean) => ({
  type: MarkerType.ArrowClosed,
  markerUnits: "userSpaceOnUse",
  width: 20,
  height: 20,
  color: isCritical ? "var(--text)" : "var(--line-strong)",
});

function edgesOf({ edges }: Selection, places: Places | undefined): Edge[] {
  return edges
    .filter(({ from, to }) => places?.has(from) && places.has(to))
    .map(({ from, to, kind, isCritical }) => ({
      id: `${kind} ${from} ${to}`,
      source: from,
      target: to,
      className: `graph-edge ${kind}${isCritical ? " critical" : ""}`,
      ...(kind === "dependency" ? { markerEnd: arrow(isCritical) } : {}),
    }));
}
