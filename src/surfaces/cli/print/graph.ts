// The dependency graph as a tree: each task stands once, below the last of those it waits for, because that one decides when it can
// begin; the others are named beside it.

import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display, Style } from "./display.js";
import { cut, plain, widthOf } from "./text.js";

export type Graph = OutputOf<OperationNamed<"tasks.graph">>;
type Node = Graph["nodes"][number];

/** What a task waits for and who waits for it, directly and through others. */
export function around({ nodes, edges }: Graph, id: string): Graph {
  const reach = (next: Map<string, string[]>) => {
    const seen = new Set([id]);
    for (const each of seen) for (const other of next.get(each) ?? []) seen.add(other);
    return seen;
  };
  const kept = new Set([
    ...reach(grouped(edges.map(({ from, to }) => [from, to]))),
    ...reach(grouped(edges.map(({ from, to }) => [to, from]))),
  ]);
  return {
    nodes: nodes.filter((node) => kept.has(node.id)),
    edges: edges.filter(({ from, to }) => kept.has(from) && kept.has(to)),
    nextCursor: null,
  };
}

function grouped(pairs: (readonly [string, string])[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, value] of pairs) {
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

const isOver = ({ state }: Node) => state === "completed" || state === "cancelled";

interface Drawing {
  byId: Map<string, Node>;
  waitsFor: Map<string, string[]>;
  /** Below whom each stands. */
  below: Map<string, string[]>;
  level: Map<string, number>;
  roots: Node[];
  /** They wait for parts of theirs. */
  wholes: Set<string>;
}

export function graphText(
  graph: Graph,
  display: Display,
  { max, all }: { max: number; all: boolean },
): string {
  if (graph.nodes.length === 0) return "No tasks.\n";
  const kept = all ? graph.nodes : withoutOld(graph);
  const left = graph.nodes.length - kept.length;
  const note =
    left > 0 ? display.paint(`${counted(left, "task")} over and not drawn; --all draws them\n`, "dim") : "";
  if (kept.length === 0) return note;
  const drawing = drawingOf(kept, graph.edges);
  const lines: string[] = [];
  // The tree's own depth is bounded by the longest chain, so no recursion.
  const stack = [...drawing.roots].reverse().map((node) => ({ node, lead: "", own: "", below: "" }));
  while (stack.length > 0 && lines.length < max) {
    const { node, lead, own, below } = stack.pop()!;
    lines.push(nodeLine(node, `${lead}${own}`, drawing, display));
    const children = (drawing.below.get(node.id) ?? []).map((id) => drawing.byId.get(id)!);
    for (const [at, child] of [...children.entries()].reverse()) {
      const isLast = at === children.length - 1;
      stack.push({
        node: child,
        lead: lead + below,
        own: isLast ? "└─ " : "├─ ",
        below: isLast ? "   " : "│  ",
      });
    }
  }
  const undrawn = kept.length - lines.length;
  const cutNote = undrawn > 0 ? display.paint(`… and ${undrawn} more: --max draws more\n`, "dim") : "";
  return `${lines.map((line) => `${line}\n`).join("")}${cutNote}${note}${summary(drawing, display)}`;
}

/** What is over stays only where something that is not over waits for it. */
function withoutOld({ nodes, edges }: Graph): Node[] {
  const open = new Set(nodes.filter((node) => !isOver(node)).map(({ id }) => id));
  const needed = new Set(edges.filter(({ from }) => open.has(from)).map(({ to }) => to));
  return nodes.filter(({ id }) => open.has(id) || needed.has(id));
}

function drawingOf(nodes: readonly Node[], edges: Graph["edges"]): Drawing {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const waitsFor = grouped(
    edges.filter(({ from, to }) => byId.has(from) && byId.has(to)).map(({ from, to }) => [from, to]),
  );
  const level = levelsOf(nodes, waitsFor);
  const roots: Node[] = [];
  const pairs: [string, string][] = [];
  for (const node of nodes) {
    const last = lastOf(waitsFor.get(node.id) ?? [], level);
    if (last === null) roots.push(node);
    else pairs.push([last, node.id]);
  }
  // What something waits for first, what stands alone last.
  const below = grouped(pairs);
  roots.sort((a, b) => Number(below.has(b.id)) - Number(below.has(a.id)));
  const openParts = nodes.filter((node) => !isOver(node) && node.parentId !== null);
  return { byId, waitsFor, below, level, roots, wholes: new Set(openParts.map((node) => node.parentId!)) };
}

/** How many must be completed one after the other before it. Iterative: chains may be long. */
function levelsOf(nodes: readonly Node[], waitsFor: Map<string, string[]>): Map<string, number> {
  const level = new Map<string, number>();
  for (const { id: start } of nodes) {
    const path = [start];
    while (path.length > 0) {
      const id = path.at(-1)!;
      const before = waitsFor.get(id) ?? [];
      const next = level.has(id) ? undefined : before.find((each) => !level.has(each));
      if (next !== undefined) path.push(next);
      else {
        path.pop();
        if (!level.has(id)) level.set(id, 1 + Math.max(-1, ...before.map((each) => level.get(each)!)));
      }
    }
  }
  return level;
}

const marks: Record<string, [string, Style | undefined]> = {
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  cancelled: ["×", "dim"],
  claimed: ["[*]", "cyan"],
  running: ["[*]", "cyan"],
  awaiting_response: ["[?]", "yellow"],
  submitted: ["[>]", "green"],
};

/** Of those it waits for, the one that decides when it can begin. */
function lastOf(ids: readonly string[], level: Map<string, number>): string | null {
  return ids.reduce<string | null>(
    (latest, id) => (latest === null || level.get(id)! > level.get(latest)! ? id : latest),
    null,
  );
}

function nodeLine(node: Node, lead: string, drawing: Drawing, display: Display): string {
  const { waitsFor, level } = drawing;
  const before = waitsFor.get(node.id) ?? [];
  const [mark, style] = marks[node.state] ?? [canBeHad(node, drawing, display.now) ? "--" : "", undefined];
  const last = lastOf(before, level);
  const others = before.filter((id) => id !== last).map(plain);
  const also =
    others.length > 0 ? `  + ${others.slice(0, 4).join(", ")}${others.length > 4 ? ", …" : ""}` : "";
  const half = Math.floor(display.columns / 2);
  const shownLead = lead.length > half ? `…${lead.slice(1 - half)}` : lead;
  const id = plain(node.id);
  const room = display.columns - 5 - widthOf(shownLead) - widthOf(id) - 2 - widthOf(also);
  const title = cut(`${plain(node.title)}${node.type === "group" ? "/" : ""}`, Math.max(8, room));
  return `${display.paint(mark.padEnd(3), style)}  ${shownLead}${display.paint(id, style)}  ${title}${display.paint(also, "dim")}`;
}

function canBeHad({ id, type, notBefore }: Node, { waitsFor, byId, wholes }: Drawing, now: number): boolean {
  const isBlocked = (waitsFor.get(id) ?? []).some((each) => byId.get(each)?.state !== "completed");
  const isLater = notBefore !== null && Date.parse(notBefore) > now;
  return type === "task" && !isBlocked && !isLater && !wholes.has(id);
}

function summary({ byId, waitsFor, level }: Drawing, display: Display): string {
  const longest = 1 + Math.max(...level.values());
  const edges = [...waitsFor.values()].reduce((sum, each) => sum + each.length, 0);
  const text = `${counted(byId.size, "task")}, ${counted(edges, "dependency", "dependencies")}, longest chain ${longest}`;
  return display.paint(`${text}\n`, "dim");
}

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
