// What waits for what, with live states. The structure is laid out anew only when it changes; states change in place.

import "@xyflow/react/dist/style.css";
import "./graph.css";
import {
  Background,
  Controls,
  type Edge,
  MarkerType,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { Empty } from "../../components/parts.js";
import { sayTrouble } from "../../components/toasts.js";
import { useNow } from "../../data/live.js";
import { useTaskIndex } from "../../data/tasks.js";
import { hrefTo, Link, navigate, taskHref, useParam, usePlace } from "../../router.js";
import { layOut, nodeSize, type Places, shapeOf } from "./layout.js";
import { type TaskNode, TaskNodeView } from "./node.js";
import { type Selection, selectGraph } from "./select.js";

const nodesMax = 1_000;
const hopsMax = 6;
const nodeTypes = { task: TaskNodeView };

export default function Graph() {
  const { project } = usePlace();
  const index = useTaskIndex();
  const rows = index.rows();
  const projects = useMemo(() => [...new Set(rows.map((row) => row.project))], [rows]);
  const only = project !== "*" ? project : projects.length === 1 ? projects[0]! : null;
  if (rows.length === 0)
    return <Empty title={index.progress.complete ? "There are no tasks to draw." : "Loading…"} />;
  if (only === null) return <ChooseProject projects={projects} />;
  return (
    <ReactFlowProvider>
      <ProjectGraph project={only} rows={rows} />
    </ReactFlowProvider>
  );
}

function ChooseProject({ projects }: { projects: string[] }) {
  return (
    <>
      <h1>Graph</h1>
      <Empty title="Tasks of different projects do not wait for each other. Which one?">
        <ul className="row wrapping graph-projects">
          {projects.map((name) => (
            <li key={name}>
              <Link href={hrefTo("/graph", { project: name })}>{name}</Link>
            </li>
          ))}
        </ul>
      </Empty>
    </>
  );
}

function ProjectGraph({ project, rows }: { project: string; rows: readonly WireTaskRow[] }) {
  const [focus, setFocus] = useParam("focus");
  const [hopsText, setHops] = useParam("hops");
  const [all, setAll] = useParam("all");
  const [follow, setFollow] = useParam("follow");
  const hops = Math.min(hopsMax, Math.max(1, Number(hopsText) || 2));
  const own = useMemo(() => rows.filter((row) => row.project === project), [rows, project]);
  const selection = useMemo(
    () => selectGraph(own, { focus: focus || undefined, hops, isFolded: all === "", nodesMax }),
    [own, focus, hops, all],
  );
  const critical = selection.nodes.filter(({ isCritical }) => isCritical).length;
  return (
    <>
      <div className="view-head">
        <h1>Graph</h1>
        <span className="quiet">
          {selection.nodes.length} tasks{selection.hidden > 0 && `, ${selection.hidden} not shown`}
          {critical > 0 && ` · longest open chain ${critical}`}
        </span>
        <div className="row wrapping graph-tools">
          {focus !== "" && (
            <>
              <label className="row">
                <span className="quiet">steps around {focus}</span>
                <input
                  type="number"
                  min={1}
                  max={hopsMax}
                  value={hops}
                  onChange={(event) => setHops(event.target.value)}
                />
              </label>
              <button type="button" className="small" onClick={() => setFocus("")}>
                Show the whole graph
              </button>
            </>
          )}
          <label className="row">
            <input
              type="checkbox"
              checked={all === ""}
              onChange={(event) => setAll(event.target.checked ? "" : "1")}
            />
            fold what is finished
          </label>
          <label className="row">
            <input
              type="checkbox"
              checked={follow !== ""}
              onChange={(event) => setFollow(event.target.checked ? "1" : "")}
            />
            follow what runs
          </label>
        </div>
      </div>
      <Canvas selection={selection} project={project} isFollowing={follow !== ""} onFocus={setFocus} />
    </>
  );
}

interface CanvasProps {
  selection: Selection;
  project: string;
  isFollowing: boolean;
  onFocus: (id: string) => void;
}

function Canvas({ selection, project, isFollowing, onFocus }: CanvasProps) {
  const places = usePlaces(selection);
  const now = useNow(5_000);
  const nodes = useMemo(
    () => nodesOf(selection, places, { project, now, onFocus }),
    [selection, places, project, now, onFocus],
  );
  const edges = useMemo(() => edgesOf(selection, places), [selection, places]);
  const frame = useRef<HTMLElement>(null);
  useView(nodes, places, isFollowing, frame);
  if (places === null) return <Empty title="Laying out…" />;
  return (
    <section ref={frame} className="graph" aria-label="Dependency graph">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={document.documentElement.dataset.theme === "dark" ? "dark" : "light"}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements={nodes.length > 150}
        minZoom={0.05}
        proOptions={{ hideAttribution: true }}
        onKeyDown={(event) => {
          const id = (event.target as HTMLElement).dataset.id;
          if (event.key === "Enter" && id !== undefined) navigate(taskHref(project, id));
        }}
        onNodeClick={(_, { id }) => navigate(taskHref(project, id))}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}

/** Null until there is a layout. The old one stays while the next is computed. */
function usePlaces(selection: Selection): Places | null {
  const [places, setPlaces] = useState<Places | null>(null);
  const shape = useMemo(() => shapeOf(selection), [selection]);
  const latest = useRef(selection);
  latest.current = selection;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape is what matters of a selection.
  useEffect(() => {
    let isOld = false;
    layOut(latest.current).then((made) => !isOld && setPlaces(made), sayTrouble);
    return () => {
      isOld = true;
    };
  }, [shape]);
  return places;
}

/** Smaller cannot be read. */
const readableZoom = 0.45;

/** Everything in sight when the layout is another, or what runs if everything would be too small; what runs while it is followed. */
function useView(
  nodes: readonly TaskNode[],
  places: Places | null,
  isFollowing: boolean,
  frame: RefObject<HTMLElement | null>,
): void {
  const flow = useReactFlow();
  const running = nodes.filter(({ data }) => data.isRunning).map(({ id }) => id);
  const key = running.join(" ");
  const latest = useRef(running);
  latest.current = running;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  useEffect(() => {
    if (!places || isFollowing) return;
    const timer = setTimeout(() => {
      const isTooSmall = zoomToFit(places, frame.current) < readableZoom && latest.current.length > 0;
      const only = isTooSmall ? { nodes: latest.current.map((id) => ({ id })) } : {};
      void flow.fitView({
        padding: 0.1,
        maxZoom: 1,
        ...(isTooSmall ? { minZoom: readableZoom } : {}),
        ...only,
      });
    }, 50);
    return () => clearTimeout(timer);
  }, [places, isFollowing, flow, frame]);
  useEffect(() => {
    if (!places || !isFollowing || key === "") return;
    const options = { padding: 0.3, maxZoom: 1, minZoom: readableZoom, duration: isCalm ? 0 : 300 };
    const ids = key.split(" ").map((id) => ({ id }));
    const timer = setTimeout(() => void flow.fitView({ ...options, nodes: ids }), 50);
    return () => clearTimeout(timer);
  }, [places, isFollowing, key, flow, isCalm]);
}

function zoomToFit(places: Places, frame: HTMLElement | null): number {
  const all = [...places.values()];
  const width = Math.max(...all.map(({ x }) => x)) + nodeSize.width;
  const height = Math.max(...all.map(({ y }) => y)) + nodeSize.height;
  return frame ? Math.min(frame.clientWidth / width, frame.clientHeight / height) : 1;
}

interface NodeFacts {
  project: string;
  now: number;
  onFocus: (id: string) => void;
}

function nodesOf(
  { nodes }: Selection,
  places: Places | null,
  { project, now, onFocus }: NodeFacts,
): TaskNode[] {
  return nodes.flatMap(({ row, folded, isCritical }) => {
    const position = places?.get(row.id);
    if (!position) return [];
    const isRunning = row.claim !== null;
    return [
      {
        id: row.id,
        type: "task" as const,
        position,
        ...nodeSize,
        ariaLabel: `${row.id} ${row.title}, ${row.state}`,
        data: { row, folded, isCritical, isRunning, project, now, onFocus },
      },
    ];
  });
}

function edgesOf({ edges }: Selection, places: Places | null): Edge[] {
  return edges
    .filter(({ from, to }) => places?.has(from) && places.has(to))
    .map(({ from, to, kind, isCritical }) => ({
      id: `${kind} ${from} ${to}`,
      source: from,
      target: to,
      className: `graph-edge ${kind}${isCritical ? " critical" : ""}`,
      ...(kind === "dependency" ? { markerEnd: { type: MarkerType.ArrowClosed } } : {}),
    }));
}
