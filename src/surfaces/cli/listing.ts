// Tasks by state, and by what follows from a state and cannot be asked of the store: blocked, scheduled, ready, stale. Those are
// found page by page among the tasks in their states.

import type { Dibs } from "../../client/client.js";
import type { InputOf, OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireTask } from "../../contract/shapes.js";
import { stateWord } from "../../contract/tasks/list.js";
import { given } from "./context.js";
import { usageError } from "./spec.js";

type List = OperationNamed<"tasks.list">;
type Filter = Omit<InputOf<List>, "state">;
type State = WireTask["state"];

interface Derived {
  among: readonly State[];
  is(task: WireTask, now: number): boolean;
}

const waits = ({ pendingDependencies, openChildren }: WireTask) =>
  pendingDependencies > 0 || openChildren > 0;
const isLater = ({ notBefore }: WireTask, now: number) => notBefore !== null && Date.parse(notBefore) > now;
const isWork = ({ type }: WireTask) => type === "task";

const blocked: Derived = { among: ["queued"], is: (task) => isWork(task) && waits(task) };
const scheduled: Derived = {
  among: ["queued"],
  is: (task, now) => isWork(task) && !waits(task) && isLater(task, now),
};
const ready: Derived = {
  among: ["queued"],
  is: (task, now) => isWork(task) && !waits(task) && !isLater(task, now),
};
const stale: Derived = {
  among: ["claimed", "running"],
  is: ({ claim }) => claim?.healthStatus === "stale",
};

const derivedWords = new Map(
  Object.entries({ blocked, scheduled, ready, claimable: ready, available: ready, stale }),
);

export const stateHelp =
  "queued, claimed, running, awaiting_response, submitted, completed, failed, cancelled; blocked, scheduled, ready, stale; or another tool's word";

/** Tasks in any of these states, in any seed's words. */
export async function tasksBy(
  dibs: Dibs,
  words: readonly string[] | undefined,
  filter: Filter,
  now: number,
): Promise<OutputOf<List>> {
  if (words?.length === 0) throw usageError("--status names no state.", `One of ${stateHelp}.`);
  const unknown = words?.find(
    (word) => !derivedWords.has(word.toLowerCase()) && !stateWord().safeParse(word).success,
  );
  if (unknown !== undefined) throw usageError(`Unknown state '${unknown}'.`, `One of ${stateHelp}.`);
  const derived = (words ?? []).flatMap((word) => derivedWords.get(word.toLowerCase()) ?? []);
  if (derived.length === 0) return dibs.tasks.list(given({ state: words as never, ...filter }));
  const named = words!.filter((word) => !derivedWords.has(word.toLowerCase()));
  const whole = new Set(named.map((word) => stateWord().safeParse(word).data));
  const state = [...new Set([...named, ...derived.flatMap(({ among }) => among)])] as never;
  const isMeant = (task: WireTask) =>
    whole.has(task.state) || derived.some(({ among, is }) => among.includes(task.state) && is(task, now));
  return pageOf((page) => dibs.tasks.list({ ...filter, state, ...page }), filter, isMeant);
}

const pageMax = 1000;
/** So many are looked through for one page of what is meant; it may end early, and its cursor goes on. */
const pagesMax = 100;

async function pageOf(
  list: (page: { limit: number; cursor?: string }) => Promise<OutputOf<List>>,
  { limit = 100, cursor }: Filter,
  isMeant: (task: WireTask) => boolean,
): Promise<OutputOf<List>> {
  const tasks: WireTask[] = [];
  let [at, size] = [cursor ?? null, Number(limit)];
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = await list({ limit: size, ...(at === null ? {} : { cursor: at }) });
    const found = page.tasks.filter(isMeant);
    const room = Number(limit) - tasks.length;
    if (found.length > room) {
      // The same page again, up to the last one that there is room for: only a page's end has a cursor.
      size = page.tasks.indexOf(found[room - 1]!) + 1;
      continue;
    }
    tasks.push(...found);
    at = page.nextCursor;
    size = pageMax;
    if (at === null || tasks.length === Number(limit)) break;
  }
  return { tasks, nextCursor: at };
}
