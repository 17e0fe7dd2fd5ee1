import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { dotOf } from "../print/dot.js";
import { around, type Graph, graphText } from "../print/graph.js";
import { usageError } from "../spec.js";

const pageMax = 1000;
/** What is drawn or written out is read as a whole, so much at most. */
const nodesMax = 20_000;

/** All pages as one. */
async function wholeGraph(dibs: Dibs): Promise<Graph> {
  const graph: Graph = { nodes: [], edges: [], nextCursor: null };
  for (let cursor: string | null = null; ; ) {
    const page: Graph = await dibs.tasks.graph({ limit: pageMax, ...(cursor === null ? {} : { cursor }) });
    graph.nodes.push(...page.nodes);
    graph.edges.push(...page.edges);
    cursor = page.nextCursor;
    if (cursor === null || graph.nodes.length >= nodesMax) return { ...graph, nextCursor: cursor };
  }
}

async function graphOf(context: Context): Promise<Graph> {
  const dibs = await context.dibs();
  const [id] = context.args;
  if (id === undefined && context.isJson) {
    return dibs.tasks.graph(given({ limit: context.number("limit"), cursor: context.text("cursor") }));
  }
  const whole = await wholeGraph(dibs);
  if (id === undefined) return whole;
  if (!whole.nodes.some((node) => node.id === id)) {
    throw new DibsError("TASK_NOT_FOUND", `Task ${id} not found in this project.`, {
      hint: "Run: dibs list",
    });
  }
  return around(whole, id);
}

const graph: SingleCommand["run"] = async (context) => {
  const max = context.number("max") ?? 100;
  if (max < 1) throw usageError("--max must be at least 1.");
  const found = await graphOf(context);
  if (context.on("dot") && !context.isJson) context.parts.out(dotOf(found));
  else
    context.say(found, (display) =>
      graphText(found, display, { max, all: context.on("all") || context.args[0] !== undefined }),
    );
};

export const commands: Record<string, SingleCommand> = {
  graph: {
    name: "graph",
    reads: true,
    args: "[id]",
    summary: "Draw the dependency graph of the project or of one task",
    details:
      "A task is below its last dependency; other dependencies are listed next to it. Marks: [*] in progress, [?] waiting for an answer, -- ready, ✓ completed, ✗ failed.",
    flags: {
      all: { help: "include ended tasks" },
      max: { value: "<n>", help: "maximum number of tasks; default 100" },
      dot: { help: "print Graphviz: dibs graph --dot | dot -Tsvg" },
      limit: { value: "<n>", help: "with --json: tasks per page" },
      cursor: { value: "<cursor>", help: "with --json: start after the previous page" },
    },
    examples: ["dibs graph", "dibs graph 0001", "dibs graph --dot | dot -Tsvg > graph.svg"],
    run: graph,
  },
};
