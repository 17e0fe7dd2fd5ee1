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

/** Close together, and what was above stays above when something is added. */
const careful = {
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
};
/** In big graphs crossings are counted less carefully: seconds become tenths. */
const quick = { "elk.layered.nodePlacement.strategy": "SIMPLE", "elk.layered.thoroughness": "2" };

let elk: Elk | null = null;

/** The same for the same structure, whatever the states are. */
export const shapeOf = ({ nodes, edges }: Selection) =>
  JSON.stringify([nodes.map(({ row }) => row.id), edges.map(({ from, to }) => [from, to])]);

export async function layOut({ nodes, edges }: Selection): Promise<Places> {
  elk ??= new ElkApi({ workerFactory: () => new Worker(workerUrl) });
  const graph: ElkNode = {
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": "50",
      "elk.spacing.nodeNode": "18",
      "elk.separateConnectedComponents": "true",
      "elk.spacing.componentComponent": "40",
      "elk.aspectRatio": String(innerWidth / innerHeight),
      ...(nodes.length > 300 ? quick : careful),
    },
    children: nodes.map(({ row }) => ({ id: row.id, ...nodeSize })),
    edges: edges.map(({ from, to, kind }) => ({
      id: `${kind} ${from} ${to}`,
      sources: [from],
      targets: [to],
    })),
  };
  const placed = await elk.layout(graph);
  return new Map((placed.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
}
