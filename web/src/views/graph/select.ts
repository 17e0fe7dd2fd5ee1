// Which part of a project's graph is drawn. A thousand nodes tell nothing at once, so what is finished is folded away, a large
// project begins with what is at work and what is near it, and around a chosen task only its neighbourhood is shown. Pure:
// structure in, nodes and edges out.

import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { isFinished, type Structure } from "./structure.js";

export interface GraphNode {
  row: WireTaskRow;
  /** Finished tasks beside it, or parts of it, that are not drawn. */
  folded: number;
  isCritical: boolean;
  parentTitle: string | null;
}

export interface GraphEdge {
  /** What comes first, or the parent. */
  from: string;
  to: string;
  kind: "dependency" | "parent";
  isCritical: boolean;
}

export interface Selection {
  /** Where not all are drawn, what matters most comes first. */
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Only the surroundings of what matters are drawn, because there is more than can be read. */
  isPart: boolean;
  /** Tasks of the project, drawn or not. */
  total: number;
  /** How many tasks the longest open chain has. */
  chainLength: number;
  /** The task to look at first. */
  anchor: string | null;
}

export interface SelectOptions {
  /** Draw only what is near this task. */
  focus?: string | undefined;
  hops: number;
  isFolded: boolean;
  /** Draw all that is not folded, even if it cannot be read at once. */
  isWhole: boolean;
  /** With more than so many only the surroundings of what matters. */
  partMax: number;
  nodesMax: number;
  /** What was drawn before: it stays where it can, so that nothing moves without need. */
  drawn?: ReadonlySet<string> | undefined;
}

const isInFlight = ({ state }: WireTaskRow) =>
  state === "claimed" || state === "running" || state === "awaiting_response";

const startOf = ({ claim, updatedAt }: WireTaskRow) =>
  claim?.startedAt ?? claim?.claimedAt ?? updatedAt ?? "";
const newestFirst = (a: WireTaskRow, b: WireTaskRow) =>
  startOf(a) < startOf(b) ? 1 : startOf(a) > startOf(b) ? -1 : 0;

export function selectGraph(structure: Structure, options: SelectOptions): Selection {
  const { rows, byId, links, chain } = structure;
  const { kept, isPart } = choice(structure, options);
  const isFoldedAway = (id: string) => !kept.has(id) && isFinished(byId.get(id)!);
  const nodes = [...kept].map((id) => {
    const row = byId.get(id)!;
    const { before, after, parts, parent } = links.get(row.id)!;
    return {
      row,
      folded: [before, after, parts].reduce((sum, ids) => sum + ids.filter(isFoldedAway).length, 0),
      isCritical: chain.has(row.id),
      parentTitle: parent === null ? null : byId.get(parent)!.title,
    };
  });
  return {
    nodes,
    edges: edgesAmong(nodes, kept, structure),
    isPart,
    total: rows.length,
    chainLength: chain.size,
    anchor: anchorOf(nodes, structure, options.focus),
  };
}

function choice(
  structure: Structure,
  options: SelectOptions,
): { kept: ReadonlySet<string>; isPart: boolean } {
  const { focus, hops, isFolded, isWhole, partMax, nodesMax, drawn } = options;
  if (focus !== undefined && structure.byId.has(focus))
    return { kept: surroundings(structure, [focus], { hops, max: nodesMax, center: focus }), isPart: false };
  const allowed = isFolded ? unfolded(structure) : new Set(structure.byId.keys());
  const isPart = !isWhole && allowed.size > partMax;
  const max = isPart ? partMax : nodesMax;
  if (allowed.size <= max) return { kept: allowed, isPart };
  const seeds = seedsOf(structure, allowed).slice(0, Math.ceil(max * 0.75));
  const still = new Set([...(drawn ?? [])].filter((id) => allowed.has(id)));
  const isEnough = still.size > max / 2 && still.size <= max && seeds.every((id) => still.has(id));
  return { kept: isEnough ? still : filled(structure, allowed, seeds, max), isPart };
}

/** What is finished stays only where something open has waited for it. A project in which all is finished is shown whole. */
function unfolded({ rows, byId, links }: Structure): Set<string> {
  const isOpen = (id: string) => !isFinished(byId.get(id)!);
  if (rows.every(isFinished)) return new Set(byId.keys());
  return new Set(
    rows.filter((row) => !isFinished(row) || links.get(row.id)!.after.some(isOpen)).map(({ id }) => id),
  );
}

/** What people look for: what is at work, newest first, and what failed; else what the end of the project waits for. */
function seedsOf({ rows, chain }: Structure, allowed: ReadonlySet<string>): string[] {
  const atWork = rows.filter(isInFlight).sort(newestFirst);
  const failed = rows.filter(({ state }) => state === "failed").sort(newestFirst);
  const found = [...atWork, ...failed].map(({ id }) => id).filter((id) => allowed.has(id));
  return found.length > 0 ? found : [...chain];
}

interface Reach {
  hops: number;
  max: number;
  isAllowed?: (id: string) => boolean;
  /** Its parts are near it; those of others are not: everything is near to everything through the groups. */
  center?: string;
}

/** The nearest ones, step by step. */
function surroundings(
  { links }: Structure,
  from: readonly string[],
  { hops, max, isAllowed = () => true, center }: Reach,
): Set<string> {
  const found = new Set(from);
  let edge = [...from];
  for (let hop = 0; hop < hops && edge.length > 0; hop++) {
    const next: string[] = [];
    for (const id of edge) {
      const { before, after, parent, parts } = links.get(id)!;
      const near = [
        ...before,
        ...after,
        ...(parent === null ? [] : [parent]),
        ...(id === center ? parts : []),
      ];
      for (const other of near) {
        if (found.size >= max) return found;
        if (found.has(other) || !isAllowed(other)) continue;
        found.add(other);
        next.push(other);
      }
    }
    edge = next;
  }
  return found;
}

/** Around the seeds; where their surroundings end, around what matters most of the rest. */
function filled(
  structure: Structure,
  allowed: ReadonlySet<string>,
  seeds: readonly string[],
  max: number,
): Set<string> {
  const reach = { hops: Number.POSITIVE_INFINITY, isAllowed: (id: string) => allowed.has(id) };
  const kept = surroundings(structure, seeds, { ...reach, max });
  for (const { id } of inImportance(structure)) {
    if (kept.size >= max) break;
    if (kept.has(id) || !allowed.has(id)) continue;
    for (const near of surroundings(structure, [id], { ...reach, max })) {
      if (kept.size < max) kept.add(near);
    }
  }
  return kept;
}

/** What can be done now first; groups come with their parts. */
function inImportance({ rows, links }: Structure): WireTaskRow[] {
  const rank = (row: WireTaskRow) => {
    if (isFinished(row)) return 3;
    if (links.get(row.id)!.parts.length > 0) return 2;
    return row.pendingDependencies > 0 ? 1 : 0;
  };
  return [...rows].sort((a, b) => rank(a) - rank(b) || b.priority - a.priority);
}

function anchorOf(
  nodes: readonly GraphNode[],
  { chain }: Structure,
  focus: string | undefined,
): string | null {
  const rows = nodes.map(({ row }) => row);
  const first = [...chain][0];
  const found =
    rows.find(({ id }) => id === focus) ??
    newestAtWork(nodes) ??
    rows.find(({ state }) => state === "failed") ??
    rows.find(({ id }) => id === first) ??
    rows.find((row) => !isFinished(row)) ??
    rows[0];
  return found?.id ?? null;
}

/** The one that was started last; one that waits for an answer only where nothing runs. */
export function newestAtWork(nodes: readonly GraphNode[]): WireTaskRow | undefined {
  const atWork = nodes
    .map(({ row }) => row)
    .filter(isInFlight)
    .sort(newestFirst);
  return atWork.find(({ state }) => state !== "awaiting_response") ?? atWork[0];
}

function edgesAmong(
  nodes: readonly GraphNode[],
  kept: ReadonlySet<string>,
  { links, chain }: Structure,
): GraphEdge[] {
  const places = new Map([...chain].map((id, place) => [id, place]));
  return nodes.flatMap(({ row: { id } }): GraphEdge[] => {
    const { before, parent } = links.get(id)!;
    const drawn = before.filter((from) => kept.has(from));
    const waits = drawn.map((from): GraphEdge => {
      const isCritical = places.has(id) && places.get(from) === places.get(id)! - 1;
      return { from, to: id, kind: "dependency", isCritical };
    });
    // A parent is joined to those of its parts that come first among them: lines to all would hide everything else.
    const isFirst = !drawn.some((from) => links.get(from)!.parent === parent);
    if (parent === null || !kept.has(parent) || !isFirst || drawn.includes(parent)) return waits;
    return [{ from: parent, to: id, kind: "parent", isCritical: false }, ...waits];
  });
}
