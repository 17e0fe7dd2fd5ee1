// Where nodes stand, computed by ELK in a worker: the page stays usable meanwhile.

import type { ELK as Elk, ElkNode } from "elkjs/lib/elk-api.js";
import ElkApi from "elkjs/lib/elk-api.js";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { Selection } from "./select.js";

export const nodeSize = { width: 228, height: 66 };

export type Places = ReadonlyMap<string, { x: number; y: number }>;

/** A layout, and what people had asked to be drawn. */
export interface Laid {
  request: string;
  places: Places;
}

const gap = 18;
const layerGap = 50;

/** What can begin is at the left, what matters (it comes first) at the top; and what was above stays above. */
const careful = {
  "elk.separateConnectedComponents": "false",
  "elk.layered.layering.strategy": "LONGEST_PATH_SOURCE",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
};
/**
 * In big graphs crossings are counted less carefully: seconds become tenths. What would be far too wide goes on below, as text
 * does, and no room is kept for lines: they are drawn as curves anyway.
 */
const quick = {
  "elk.layered.wrapping.strategy": "MULTI_EDGE",
  "elk.aspectRatio": "1.6",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "1",
  "elk.layered.spacing.edgeNodeBetweenLayers": "1",
  "elk.separateConnectedComponents": "true",
  "elk.spacing.componentComponent": "40",
  "elk.layered.nodePlacement.strategy": "SIMPLE",
  "elk.layered.thoroughness": "2",
};

let elk: Elk | null = null;

/** The same for the same structure, whatever the states are. */
export const shapeOf = ({ nodes, edges }: Selection) =>
  JSON.stringify([nodes.map(({ row }) => row.id), edges.map(({ from, to }) => [from, to])]);

export async function layOut({ nodes, edges }: Selection): Promise<Places> {
  const joined = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const ids = nodes.map(({ row }) => row.id);
  const placed = await joinedPlaces(
    ids.filter((id) => joined.has(id)),
    edges,
  );
  const below = Math.max(0, ...[...placed.values()].map(({ y }) => y + nodeSize.height + 2 * gap));
  const lone = ids.filter((id) => !joined.has(id));
  return new Map([...placed, ...gridOf(lone, below)]);
}

async function joinedPlaces(ids: readonly string[], edges: Selection["edges"]): Promise<Places> {
  if (ids.length === 0) return new Map();
  elk ??= new ElkApi({ workerFactory: () => new Worker(workerUrl) });
  const graph: ElkNode = {
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": String(layerGap),
      "elk.spacing.nodeNode": String(gap),
      "elk.padding": "[top=0,left=0,bottom=0,right=0]",
      ...(ids.length > 300 ? quick : careful),
    },
    children: ids.map((id) => ({ id, ...nodeSize })),
    edges: edges.map(({ from, to, kind }) => ({
      id: `${kind} ${from} ${to}`,
      sources: [from],
      targets: [to],
    })),
  };
  const { children = [] } = await elk.layout(graph);
  return new Map(children.map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
}

/** Tasks that hang on nothing, in about the shape of the screen. */
function gridOf(ids: readonly string[], top: number): Places {
  const [width, height] = [nodeSize.width + layerGap, nodeSize.height + gap];
  const columns = Math.ceil(Math.sqrt((ids.length * height * innerWidth) / (width * innerHeight)));
  return new Map(
    ids.map((id, n) => [id, { x: (n % columns) * width, y: top + Math.floor(n / columns) * height }]),
  );
}
