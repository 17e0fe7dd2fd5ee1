// A project's tasks as a graph. Rows change all the time, but seldom what hangs on what: links and the longest open chain are kept
// as long as they hold.

import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";

type Row = WireTaskRow;

export interface Links {
  before: string[];
  after: string[];
  parent: string | null;
  parts: string[];
}

export interface Structure {
  rows: readonly Row[];
  byId: ReadonlyMap<string, Row>;
  links: ReadonlyMap<string, Links>;
  /** The longest open chain, what comes first at the beginning. */
  chain: ReadonlySet<string>;
}

export const isFinished = ({ state }: Pick<Row, "state">) => state === "completed" || state === "cancelled";

/** `rows` are all of one project; `known` is what was made of earlier ones. */
export function structureOf(rows: readonly Row[], known?: Structure): Structure {
  const { areLinksKept, isChainKept } = known ? comparison(known.rows, rows) : nothingKept;
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    rows,
    byId,
    links: areLinksKept ? known!.links : linksOf(rows, byId),
    chain: isChainKept ? known!.chain : criticalPath(rows, byId),
  };
}

const nothingKept = { areLinksKept: false, isChainKept: false };

function comparison(before: readonly Row[], after: readonly Row[]) {
  if (before.length !== after.length) return nothingKept;
  let isChainKept = true;
  for (const [n, row] of after.entries()) {
    const old = before[n]!;
    if (old === row) continue;
    if (old.id !== row.id || old.parentId !== row.parentId || !areSame(old.dependsOn, row.dependsOn))
      return nothingKept;
    if (isFinished(old) !== isFinished(row)) isChainKept = false;
  }
  return { areLinksKept: true, isChainKept };
}

const areSame = (a: readonly string[], b: readonly string[]) =>
  a === b || (a.length === b.length && a.every((each, n) => each === b[n]));

function linksOf(rows: readonly Row[], byId: ReadonlyMap<string, Row>): Map<string, Links> {
  const links = new Map<string, Links>();
  for (const { id } of rows) links.set(id, { before: [], after: [], parent: null, parts: [] });
  for (const { id, dependsOn, parentId } of rows) {
    const own = links.get(id)!;
    for (const other of dependsOn) {
      if (!byId.has(other)) continue;
      own.before.push(other);
      links.get(other)!.after.push(id);
    }
    if (parentId === null || !byId.has(parentId)) continue;
    own.parent = parentId;
    links.get(parentId)!.parts.push(id);
  }
  return links;
}

/** The longest chain of open tasks, each waiting for the one before: what the end of the project waits for. */
export function criticalPath(
  rows: readonly Row[],
  byId: ReadonlyMap<string, Row> = new Map(rows.map((row) => [row.id, row])),
): Set<string> {
  const lengths = new Map<string, number>();
  const before = new Map<string, string>();
  const openDependencies = ({ dependsOn }: Row) =>
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
  return new Set([...chain].reverse());
}
