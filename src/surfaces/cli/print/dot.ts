import type { Graph } from "./graph.js";
import { cut, plain } from "./text.js";

const colours: Record<string, string> = {
  completed: "palegreen",
  failed: "salmon",
  cancelled: "lightgrey",
  claimed: "lightskyblue",
  running: "lightskyblue",
  awaiting_response: "gold",
  submitted: "darkseagreen1",
};

/** For Graphviz: an arrow leads from what must be completed first; dotted ones from a part to its whole. */
export function dotOf({ nodes, edges }: Graph): string {
  const lines = nodes.map(({ id, title, state, type }) => {
    const label = `${plain(id)}\n${cut(plain(title), 40)}`;
    const shape = type === "group" ? "folder" : "box";
    return `  ${quoted(id)} [label=${quoted(label)}, shape=${shape}, style=filled, fillcolor=${colours[state] ?? "white"}];`;
  });
  const arrows = edges.map(({ from, to }) => `  ${quoted(to)} -> ${quoted(from)};`);
  const known = new Set(nodes.map(({ id }) => id));
  const parts = nodes
    .filter(({ parentId }) => parentId !== null && known.has(parentId))
    .map(({ id, parentId }) => `  ${quoted(id)} -> ${quoted(parentId!)} [style=dotted];`);
  return ["digraph dibs {", "  rankdir=LR;", ...lines, ...arrows, ...parts, "}", ""].join("\n");
}

const quoted = (text: string) =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
