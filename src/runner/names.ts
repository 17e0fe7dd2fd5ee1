// What the sessions of a runner are called: as the caller says, or `<agent>-<n>@<host>` with the lowest numbers that are free.

import { hostname } from "node:os";
import { basename } from "node:path";
import type { Dibs } from "../client/client.js";
import type { WireSession } from "../contract/shapes.js";

export interface Naming {
  dibs: Dibs;
  project?: string | undefined;
  /** As given by the caller. */
  name?: string | undefined;
  agentType?: string | undefined;
  command: readonly string[];
}

/** Names by session id. */
export type Names = Map<string, string>;

const triesMax = 5;

/**
 * Names the sessions and registers them. Runners that start at the same time may choose the same name: whoever registered later
 * chooses again.
 */
export async function registerNamed(
  naming: Naming,
  sessionIds: readonly string[],
  register: (sessionId: string, name: string) => Promise<void>,
): Promise<Names> {
  const { name } = naming;
  if (name !== undefined) {
    const several = sessionIds.length > 1;
    const names = sessionIds.map((id, n) => [id, several ? `${name}-${n + 1}` : name] as const);
    for (const [id, each] of names) await register(id, each);
    return new Map(names);
  }
  const names: Names = new Map();
  let live = await liveSessions(naming);
  for (let tried = 1; names.size < sessionIds.length; tried++) {
    const unnamed = sessionIds.filter((id) => !names.has(id));
    const others = live.filter(({ id }) => !unnamed.includes(id));
    const free = freeNames(naming, new Set(others.flatMap((each) => each.name ?? [])), unnamed.length);
    for (const [n, id] of unnamed.entries()) {
      names.set(id, free[n]!);
      await register(id, free[n]!);
    }
    if (tried >= triesMax) break;
    live = await liveSessions(naming);
    for (const id of unnamed) if (isTaken(id, live)) names.delete(id);
  }
  return names;
}

/** Another session has the same name, and had it before. */
function isTaken(id: string, live: readonly WireSession[]): boolean {
  const own = live.find((each) => each.id === id);
  if (!own) return false;
  const rank = (each: WireSession) => `${each.startedAt} ${each.id}`;
  return live.some((each) => each.id !== id && each.name === own.name && rank(each) < rank(own));
}

function freeNames({ agentType, command }: Naming, taken: ReadonlySet<string>, count: number): string[] {
  const agent = wordOf(agentType ?? basename(command[0] ?? ""), "agent");
  const host = wordOf(hostname().split(".")[0]!, "host");
  const names: string[] = [];
  for (let n = 1; names.length < count; n++) {
    const name = `${agent}-${n}@${host}`;
    if (!taken.has(name)) names.push(name);
  }
  return names;
}

const wordOf = (text: string, fallback: string) =>
  text
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .slice(0, 48)
    .toWellFormed() || fallback;

async function liveSessions({ dibs, project }: Naming): Promise<WireSession[]> {
  const on = project === undefined ? {} : { project };
  const found: WireSession[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Awaited<ReturnType<Dibs["sessions"]["list"]>> = await dibs.sessions.list({
      ...on,
      limit: 1_000,
      ...(cursor === "" ? {} : { cursor }),
    });
    found.push(...page.sessions);
    cursor = page.nextCursor;
  }
  return found;
}
