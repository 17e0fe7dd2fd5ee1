// Which part of a project's graph is drawn. A thousand nodes tell nothing at once, so what is finished is folded away, and around a
// chosen task only its neighbourhood is shown. Pure: rows in, nodes and edges out.

import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";

export interface GraphNode {
  row: WireTaskRow;
  /** Finished tasks behind it that are not drawn. */
  folded: number;
  isCritical: boolean;
}

export interface GraphEdge {
  /** What comes first, or the parent. */
  from: string;
  to: string;
  kind: "dependency" | "parent";
  isCritical: boolean;
}

export interface Selection {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Tasks of the project that are not drawn. */
  hidden: number;
}

export interface SelectOptions {
  /** Draw only what is near this task. */
  focus?: string | undefined;
  hops: number;
  isFolded: boolean;
  nodesMax: number;
}

const isFinished = ({ state }: WireTaskRow) => state === "completed" || state === "cancelled";
const isRunning = ({ state }: WireTaskRow) =>
  state === "claimed" || state === "running" || state === "awaiting_response";

/** `rows` are all of one project. */
export function selectGraph(rows: readonly WireTaskRow[], options: SelectOptions): Selection {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const neighbours = neighboursOf(rows, byId);
  const kept = bounded(candidates(rows, byId, neighbours, options), neighbours, options.nodesMax);
  const critical = criticalPath(rows, byId);
  const nodes = rows
    .filter(({ id }) => kept.has(id))
    .map((row) => ({
      row,
      folded: [...(neighbours.get(row.id) ?? [])].filter((id) => !kept.has(id) && isFinished(byId.get(id)!))
        .length,
      isCritical: critical.has(row.id),
    }));
  return { nodes, edges: edgesAmong(nodes, kept, critical), hidden: rows.length - nodes.length };
}

/** Both directions, over dependencies and over parents. */
function neighboursOf(rows: readonly WireTaskRow[], byId: ReadonlyMap<string, WireTaskRow>) {
  const neighbours = new Map<string, Set<string>>();
  const join = (a: string, b: string) => {
    if (!byId.has(a) || !byId.has(b)) return;
    neighbours.set(a, (neighbours.get(a) ?? new Set()).add(b));
    neighbours.set(b, (neighbours.get(b) ?? new Set()).add(a));
  };
  for (const { id, dependsOn, parentId } of rows) {
    for (const other of dependsOn) join(id, other);
    if (parentId !== null) join(id, parentId);
  }
  return neighbours;
}

type Neighbours = ReadonlyMap<string, ReadonlySet<string>>;

/** In the order in which they matter. */
function candidates(
  rows: readonly WireTaskRow[],
  byId: ReadonlyMap<string, WireTaskRow>,
  neighbours: Neighbours,
  { focus, hops, isFolded }: SelectOptions,
): string[] {
  if (focus !== undefined && byId.has(focus)) return within(focus, byId, neighbours, hops);
  if (!isFolded) return [...inImportance(rows)];
  // What is finished stays only where something open still hangs on it directly.
  const open = new Set(rows.filter((row) => !isFinished(row)).map(({ id }) => id));
  const isShown = (row: WireTaskRow) =>
    open.has(row.id) || [...(neighbours.get(row.id) ?? [])].some((id) => open.has(id));
  const shown = rows.filter(isShown);
  return inImportance(shown.length > 0 ? shown : rows);
}

function inImportance(rows: readonly WireTaskRow[]): string[] {
  const rank = (row: WireTaskRow) =>
    isRunning(row) ? 0 : row.state === "failed" ? 1 : isFinished(row) ? 3 : 2;
  return [...rows].sort((a, b) => rank(a) - rank(b) || b.priority - a.priority).map(({ id }) => id);
}

/** A group is seen, but not looked through: everything is near to everything through the groups. */
function within(
  focus: string,
  byId: ReadonlyMap<string, WireTaskRow>,
  neighbours: Neighbours,
  hops: number,
): string[] {
  const found = new Set([focus]);
  let edge = [focus];
  for (let hop = 0; hop < hops && edge.length > 0; hop++) {
    const open = edge.filter((id) => id === focus || byId.get(id)!.type !== "group");
    edge = open
      .flatMap((id) => [...(neighbours.get(id) ?? [])])
      .filter((id) => !found.has(id) && found.add(id));
  }
  return [...found];
}

/** The first ones, each followed by its neighbours, so that what is drawn hangs together. */
function bounded(ordered: readonly string[], neighbours: Neighbours, max: number): Set<string> {
  if (ordered.length <= max) return new Set(ordered);
  const allowed = new Set(ordered);
  const kept = new Set<string>();
  for (const id of ordered) {
    if (kept.size >= max) break;
    kept.add(id);
    for (const other of neighbours.get(id) ?? []) if (kept.size < max && allowed.has(other)) kept.add(other);
  }
  return kept;
}

/** The longest chain of open tasks, each waiting for the one before: what the end of the project waits for. */
export function criticalPath(
  rows: readonly WireTaskRow[],
  byId: ReadonlyMap<string, WireTaskRow> = new Map(rows.map((row) => [row.id, row])),
): Set<string> {
  const lengths = new Map<string, number>();
  const before = new Map<string, string>();
  const openDependencies = ({ dependsOn }: WireTaskRow) =>
    dependsOn.filter((id) => byId.has(id) && !isFinished(byId.get(id)!));
  for (const start of rows) {
    if (isFinished(start) || lengths.has(start.id)) continue;
    // Chains may be longer than a stack of calls.
    const path = [start];
    const onPath = new Set([start.id]);
    while (path.length > 0) {
      const row = path.at(-1)!;
      const waiting = openDependencies(row);
      const next = waiting.find((id) => !lengths.has(id));
      if (next !== undefined && !onPath.has(next)) {
        onPath.add(next);
        path.push(byId.get(next)!);
        continue;
      }
      const last = waiting.reduce<string | null>(
        (best, id) => (best === null || (lengths.get(id) ?? 0) > (lengths.get(best) ?? 0) ? id : best),
        null,
      );
      lengths.set(row.id, 1 + (last === null ? 0 : (lengths.get(last) ?? 0)));
      if (last !== null) before.set(row.id, last);
      path.pop();
    }
  }
  let end: string | undefined;
  for (const [id, length] of lengths) if (length > (end === undefined ? 1 : lengths.get(end)!)) end = id;
  const chain = new Set<string>();
  // Rows are read one after another and may tell of a circle that never was.
  for (let id = end; id !== undefined && !chain.has(id); id = before.get(id)) chain.add(id);
  return chain;
}

function edgesAmong(
  nodes: readonly GraphNode[],
  kept: ReadonlySet<string>,
  critical: ReadonlySet<string>,
): GraphEdge[] {
  return nodes.flatMap(({ row: { id, dependsOn, parentId } }): GraphEdge[] => {
    const before = dependsOn.filter((from) => kept.has(from));
    // A parent is joined to those of its parts that come first: lines to all of them would hide everything else.
    if (before.length === 0)
      return parentId !== null && kept.has(parentId)
        ? [{ from: parentId, to: id, kind: "parent", isCritical: false }]
        : [];
    return before.map((from) => ({
      from,
      to: id,
      kind: "dependency",
      isCritical: critical.has(from) && critical.has(id),
    }));
  });
}
