// The tasks that a filter of the dashboard finds: rows of a project, page by page, and what rows do not say where it is asked for.

import type { Dibs } from "../../client/client.js";
import { type Filter, type Known, matcher, parseFilter } from "../../client/view/filter.js";
import type { WireTask } from "../../contract/shapes.js";
import { type BulkAction, bulkAppliesTo } from "../../contract/tasks/bulk.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";
import { usageError } from "./spec.js";

export interface Found {
  ids: string[];
  /** The first ones. */
  rows: WireTaskRow[];
  /** How many more match in states that the action does not apply to. */
  others: Map<WireTask["state"], number>;
}

const pageMax = 1000;
const rowsKept = 100;

export async function findTasks(dibs: Dibs, text: string, action: BulkAction, now: number): Promise<Found> {
  const filter = parsed(text);
  const isMeant = matcher(filter, now, await knownFor(dibs, filter));
  const states: readonly WireTask["state"][] = bulkAppliesTo[action];
  const found: Found = { ids: [], rows: [], others: new Map() };
  for await (const row of pagesOf((page) => dibs.tasks.rows(page).then(({ rows, ...to }) => [rows, to]))) {
    if (!isMeant(row)) continue;
    if (states.includes(row.state)) {
      found.ids.push(row.id);
      if (found.rows.length < rowsKept) found.rows.push(row);
    } else found.others.set(row.state, (found.others.get(row.state) ?? 0) + 1);
  }
  return found;
}

function parsed(text: string): Filter {
  const filter = parseFilter(text);
  const [problem] = filter.problems;
  if (problem) throw usageError(`--filter: ${problem.message}`);
  if (filter.terms.length === 0) {
    throw usageError("--filter is empty.", "To mean every task: --filter is:task,group");
  }
  return filter;
}

type Page = { limit: number; cursor?: string };

async function* pagesOf<Item>(
  read: (page: Page) => Promise<[Item[], { nextCursor: string | null }]>,
): AsyncGenerator<Item> {
  let page: Page | null = { limit: pageMax };
  while (page) {
    const [items, { nextCursor }]: [Item[], { nextCursor: string | null }] = await read(page);
    yield* items;
    page = nextCursor === null ? null : { limit: pageMax, cursor: nextCursor };
  }
}

/** Prompts and names of sessions, only where the filter asks for them. */
async function knownFor(dibs: Dibs, { terms }: Filter): Promise<Known> {
  const prompts = new Map<string, Set<string>>();
  for (const term of terms) {
    if (term.key !== "words" || term.negated) continue;
    const ids = new Set<string>();
    const list = (page: Page) =>
      dibs.tasks.list({ q: term.text, ...page }).then(({ tasks, ...to }) => [tasks, to] as never);
    for await (const { id } of pagesOf<WireTask>(list)) ids.add(id);
    prompts.set(term.text, ids);
  }
  const names = terms.some(({ key }) => key === "agent") ? await namesOf(dibs) : new Map<string, string>();
  return {
    nameOf: (_, sessionId) => names.get(sessionId) ?? sessionId,
    isInPrompt: ({ id }, text) => prompts.get(text)?.has(id) ?? false,
  };
}

async function namesOf(dibs: Dibs): Promise<Map<string, string>> {
  const { sessions } = await dibs.sessions.list({ limit: pageMax });
  return new Map(sessions.flatMap(({ id, name }) => (name ? [[id, name] as const] : [])));
}
