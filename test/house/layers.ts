// Who may import whom. docs/ARCHITECTURE.md gives the reasons; change both together.

import ts from "typescript";
import { type Import, importsOf, isTest, lineOf, parse, type Source, walk } from "./source.js";

type Rule = {
  /** Rooms (`core`, `store/sqlite`) and single files (`store/store.ts`) it may import, besides its own room. */
  may: string[] | "everything";
  /** The same, with `import type` only. */
  mayTypes?: string[];
  /** May it import Node's own modules? */
  node: boolean;
  /** Which npm packages it may import. */
  packages: string[] | "any";
  instead: string;
};

const throughStore = "persist through the port in store/store.ts; compose.ts chooses the adapter";
const adapter: Rule = { may: ["core", "store"], node: true, packages: "any", instead: throughStore };

// A room is a folder of src, or a folder of store/ and surfaces/, whose own files are shared by their folders.
const rules: Record<string, Rule> = {
  common: {
    may: [],
    node: false,
    packages: [],
    instead:
      "common holds helpers without rules, for the browser as well; anything that knows of tasks belongs elsewhere",
  },
  core: {
    may: ["common/duration.ts", "common/glob-meet.ts", "common/task-data.ts", "common/tokens.ts"],
    node: false,
    packages: [],
    instead:
      "pass what core needs as an argument (time, ids, data in the snapshot), or move the rule into core",
  },
  contract: {
    may: ["core"],
    node: false,
    packages: ["zod"],
    instead: "describe the operation only; what it does belongs in core or operations",
  },
  store: {
    may: ["core"],
    node: true,
    packages: [],
    instead: "keep the port free of adapters; what needs a driver belongs in the adapter's folder",
  },
  "store/memory": adapter,
  "store/sqlite": adapter,
  "store/postgres": adapter,
  "store/dynamodb": adapter,
  "store/conformance": {
    may: ["core", "store"],
    node: false,
    packages: ["vitest"],
    instead: "take the store under test as an argument; the adapter's own test calls the suite",
  },
  operations: {
    may: ["core", "contract", "store/store.ts", "store/changes.ts"],
    mayTypes: ["runtime"],
    node: true,
    packages: "any",
    instead: "take it as a parameter (runtime's types with `import type`); compose.ts passes it in",
  },
  transfer: {
    may: ["core", "contract", "store/store.ts"],
    node: true,
    packages: [],
    instead: "read and write through the port, as whole rows; compose.ts chooses the stores",
  },
  surfaces: {
    may: ["contract", "operations", "runtime/byte-buffer.ts"],
    node: true,
    packages: "any",
    instead:
      "derive it from the contract's registry, or call an operation; what two surfaces share goes there",
  },
  "surfaces/cli": {
    may: ["contract", "client", "runner", "lander", "bridges"],
    node: true,
    packages: ["jsonc-parser"],
    instead: "call an operation through the client; what touches the world comes in through parts.ts",
  },
  "surfaces/mcp": {
    may: ["contract", "client", "runtime/byte-buffer.ts"],
    node: true,
    packages: ["@modelcontextprotocol/server"],
    instead: "call an operation through the client; whoever serves it passes in what touches the world",
  },
  client: {
    may: ["contract"],
    node: false,
    packages: "any",
    instead: "the client runs in browsers too: use web standards and the contract, or take it as a parameter",
  },
  tui: {
    may: ["client", "contract"],
    node: true,
    packages: "any",
    instead: "read the client's projection, and change state by calling operations through the client",
  },
  runner: {
    may: ["client", "contract"],
    mayTypes: ["runtime"],
    node: true,
    packages: "any",
    instead: "talk to Dibs through the client, and take clock and logger as parameters",
  },
  lander: {
    may: ["client", "contract", "runner"],
    node: true,
    packages: [],
    instead: "talk to Dibs through the client; git and processes are the runner's",
  },
  bridges: {
    may: ["client", "contract"],
    mayTypes: ["runtime"],
    node: true,
    packages: "any",
    instead: "talk to Dibs through the client, and take clock and logger as parameters",
  },
  runtime: {
    may: [],
    node: true,
    packages: "any",
    instead: "runtime is the impure edge and knows nothing of Dibs; whoever needs both is compose.ts",
  },
  demo: {
    may: ["index.ts"],
    node: true,
    packages: [],
    instead: "use what index.ts exports, as a user would; if something is missing, export it there",
  },
  "serve.ts": { may: "everything", node: true, packages: "any", instead: "" },
  "trust.ts": {
    may: ["contract", "operations", "runtime", "store/sqlite"],
    node: true,
    packages: [],
    instead: "",
  },
  "compose.ts": { may: "everything", node: true, packages: "any", instead: "" },
  "index.ts": { may: "everything", node: true, packages: "any", instead: "" },
  "bin.ts": {
    may: ["program.ts"],
    node: true,
    packages: [],
    instead: "bin.ts only loads the program, quickly; what it is made of belongs in program.ts",
  },
  "program.ts": {
    may: [
      "compose.ts",
      "serve.ts",
      "trust.ts",
      "index.ts",
      "client",
      "contract",
      "surfaces",
      "tui",
      "runtime",
    ],
    node: true,
    packages: "any",
    instead: "program.ts only picks a surface; compose.ts puts the parts together",
  },
};

const nested = ["store", "surfaces"];

/** `src/store/sqlite/rows.ts` is in `store/sqlite`, `src/store/store.ts` in `store`, `src/index.ts` in itself. */
function roomOf(path: string): string {
  const [top = "", second = "", third] = path.split("/").slice(1);
  return nested.includes(top) && third !== undefined ? `${top}/${second}` : top;
}

function ruleOf(room: string): Rule | undefined {
  return rules[room] ?? (room.startsWith("surfaces/") ? rules.surfaces : undefined);
}

export function unknownRooms(paths: string[]): string[] {
  const unknown = new Set(
    paths
      .filter((path) => !isTest(path))
      .map(roomOf)
      .filter((room) => !ruleOf(room)),
  );
  return [...unknown].map(
    (room) =>
      `src/${room} is not a room of the architecture (${Object.keys(rules).join(", ")}). ` +
      "Put its files into the room they belong to, or give it a rule in test/house/layers.ts and a line in docs/ARCHITECTURE.md.",
  );
}

export function layeringProblems(sources: Source[]): string[] {
  return sources
    .filter(({ path }) => !isTest(path))
    .flatMap((source) => importsOf(source).flatMap((found) => importProblem(source.path, found) ?? []));
}

function importProblem(from: string, found: Import): string | undefined {
  const room = roomOf(from);
  const rule = ruleOf(room);
  if (!rule || isAllowed(room, rule, found)) return undefined;
  const verb = found.typeOnly ? "imports the types of" : "imports";
  return `${from}:${found.line} ${verb} "${found.specifier}", but ${describe(room, rule)}. Instead: ${rule.instead}.`;
}

function isAllowed(room: string, rule: Rule, { target, typeOnly }: Import): boolean {
  switch (target.kind) {
    case "outside":
      return false;
    case "node":
      return rule.node;
    case "package":
      return rule.packages === "any" || rule.packages.includes(target.name);
    case "file": {
      const to = roomOf(target.path);
      const isListed = (list: string[]) =>
        list.some((entry) => entry === to || `src/${entry}` === target.path || isSurfaceOf(entry, to));
      if (to === room || rule.may === "everything") return true;
      // Core is pure: it gets no timers and no randomness.
      if (to === "common" && room !== "core") return true;
      if (room.startsWith("surfaces/") && to === "surfaces") return true;
      return isListed(rule.may) || (typeOnly && isListed(rule.mayTypes ?? []));
    }
  }
}

const isSurfaceOf = (entry: string, room: string) => entry === "surfaces" && room.startsWith("surfaces/");

function describe(room: string, rule: Rule): string {
  if (rule.may === "everything") return `nothing in src may import what lies outside src`;
  const rooms = rule.may.length > 0 ? rule.may.join(", ") : "nothing else in src";
  const types = rule.mayTypes ? `, ${rule.mayTypes.join(", ")} with \`import type\`` : "";
  const packages = rule.packages === "any" ? "npm packages" : rule.packages.join(", ") || "no npm package";
  return `${room} may import ${rooms}${types}; ${packages}; ${rule.node ? "node:*" : "no node:*"}`;
}

const impure = new Set([
  "process",
  "performance",
  "crypto",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "fetch",
]);

/** Clocks, chance and the process, in core's code (comments, strings and types may speak of them). */
export function impurities(sources: Source[]): string[] {
  return sources
    .filter(({ path }) => roomOf(path) === "core" && !isTest(path))
    .flatMap((source) => {
      const problems: string[] = [];
      walk(parse(source), (node) => {
        const name = impureUse(node);
        if (!name) return;
        problems.push(
          `${source.path}:${lineOf(node)} uses ${name}, but core is pure: the same snapshot, command and now ` +
            "must always give the same answer. Instead: take time, ids and chance as arguments; runtime provides them.",
        );
      });
      return problems;
    });
}

function impureUse(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const name = `${node.expression.text}.${node.name.text}`;
    if (name === "Math.random" || node.expression.text === "globalThis") return name;
  }
  if (!ts.isIdentifier(node)) return undefined;
  const parent = node.parent;
  const isUsed =
    ((ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) &&
      parent.expression === node) ||
    ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === node);
  return isUsed && (node.text === "Date" || impure.has(node.text)) ? node.text : undefined;
}
