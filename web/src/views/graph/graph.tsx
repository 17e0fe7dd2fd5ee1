// What waits for what, with live states: which project, how much of it, and the tools to choose.

import "./graph.css";
import { ReactFlowProvider } from "@xyflow/react";
import { useMemo, useRef } from "react";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { Empty } from "../../components/parts.js";
import { hrefTo, Link, useParam, usePlace } from "../../router.js";
import { Canvas } from "./canvas.js";
import { Legend } from "./legend.js";
import { useCalmRows } from "./rows.js";
import { type Selection, type SelectOptions, selectGraph } from "./select.js";
import { type Structure, structureOf } from "./structure.js";

const nodesMax = 1_000;
const partMax = 80;
const hopsMax = 6;

export default function Graph() {
  const { project } = usePlace();
  const { rows, progress } = useCalmRows();
  const hasAll = useRef(false);
  // Drawn from half of the tasks it would be another graph a moment later.
  hasAll.current ||= progress.complete || progress.error !== null;
  const projects = useMemo(() => [...new Set(rows.map((row) => row.project))], [rows]);
  const only = project !== "*" ? project : projects.length === 1 ? projects[0]! : null;
  const own = useMemo(() => rows.filter((row) => row.project === only), [rows, only]);
  if (!hasAll.current)
    return <Empty title={progress.loaded > 0 ? `Loading… ${progress.loaded} tasks` : "Loading…"} />;
  if (rows.length > 0 && only === null) return <ChooseProject projects={projects} />;
  if (only === null || own.length === 0) return <Empty title="No tasks." />;
  return (
    <ReactFlowProvider key={only}>
      <ProjectGraph project={only} rows={own} />
    </ReactFlowProvider>
  );
}

function ChooseProject({ projects }: { projects: string[] }) {
  return (
    <>
      <h1>Graph</h1>
      <Empty title="The graph shows one project. Choose a project:">
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

function useSelection(rows: readonly WireTaskRow[], options: SelectOptions): Selection {
  const known = useRef<Structure>(undefined);
  const structure = useMemo(() => {
    known.current = structureOf(rows, known.current);
    return known.current;
  }, [rows]);
  const drawn = useRef<ReadonlySet<string>>(undefined);
  const { focus, hops, isFolded, isWhole } = options;
  return useMemo(() => {
    const limits = { partMax, nodesMax, drawn: drawn.current };
    const made = selectGraph(structure, { focus, hops, isFolded, isWhole, ...limits });
    drawn.current = new Set(made.nodes.map(({ row }) => row.id));
    return made;
  }, [structure, focus, hops, isFolded, isWhole]);
}

function ProjectGraph({ project, rows }: { project: string; rows: readonly WireTaskRow[] }) {
  const [focus, setFocus] = useParam("focus");
  const [hopsText, setHops] = useParam("hops");
  const [all, setAll] = useParam("all");
  const [whole, setWhole] = useParam("whole");
  const [follow, setFollow] = useParam("follow");
  const hops = Math.min(hopsMax, Math.max(1, Number(hopsText) || 2));
  const chosen = { focus: focus || undefined, hops, isFolded: all === "", isWhole: whole !== "" };
  const selection = useSelection(rows, { ...chosen, partMax, nodesMax });
  const show = { focus: setFocus, whole: setWhole };
  return (
    <>
      <div className="view-head">
        <h1>Graph</h1>
        <Told selection={selection} focus={focus} />
        <div className="row wrapping graph-tools">
          {focus !== "" && <Hops focus={focus} hops={hops} onChange={setHops} />}
          <HowMuch selection={selection} focus={focus} isWhole={whole !== ""} show={show} />
          <Choice
            label="collapse finished tasks"
            isOn={all === ""}
            onChange={(isOn) => setAll(isOn ? "" : "1")}
          />
          <Choice
            label="follow running tasks"
            isOn={follow !== ""}
            onChange={(isOn) => {
              // What runs next may be far from the chosen task.
              if (isOn) setFocus("");
              setFollow(isOn ? "1" : "");
            }}
          />
        </div>
      </div>
      <Canvas
        selection={selection}
        request={JSON.stringify(chosen)}
        project={project}
        isFollowing={follow !== ""}
        onFocus={setFocus}
      />
      <Legend />
    </>
  );
}

function Told({ selection, focus }: { selection: Selection; focus: string }) {
  const { nodes, total, isPart, chainLength } = selection;
  const counted = nodes.length < total ? `${nodes.length} of ${total} tasks` : `${total} tasks`;
  const what = isPart ? ", around active tasks" : focus ? ` near ${focus}` : "";
  return (
    <span className="quiet">
      {counted}
      {what}
      {chainLength > 0 && ` · longest open chain ${chainLength}`}
    </span>
  );
}

interface HopsProps {
  focus: string;
  hops: number;
  onChange: (text: string) => void;
}

function Hops({ focus, hops, onChange }: HopsProps) {
  return (
    <label className="row">
      <span className="quiet">steps around {focus}</span>
      <input
        type="number"
        min={1}
        max={hopsMax}
        value={hops}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

interface HowMuchProps {
  selection: Selection;
  focus: string;
  isWhole: boolean;
  show: Record<"focus" | "whole", (value: string) => void>;
}

/** From a task's neighbourhood back to where one came from; from there to the whole graph, and back. */
function HowMuch({ selection, focus, isWhole, show }: HowMuchProps) {
  const toWhole = () => {
    show.focus("");
    show.whole("1");
  };
  const isSmall = selection.total <= partMax;
  return (
    <>
      {focus !== "" && !isSmall && (
        <button type="button" className="small" onClick={() => show.focus("")}>
          Back to active tasks
        </button>
      )}
      {(focus !== "" || selection.isPart) && (
        <button type="button" className="small" onClick={isSmall ? () => show.focus("") : toWhole}>
          Show the whole graph
        </button>
      )}
      {focus === "" && isWhole && (
        <button type="button" className="small" onClick={() => show.whole("")}>
          Only active tasks
        </button>
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

function Choice({ label, isOn, onChange }: ChoiceProps) {
  return (
    <label className="row">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  );
}
