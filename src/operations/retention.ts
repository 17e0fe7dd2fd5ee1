import { olderBelow } from "../core/transitions/archive.js";
import type { Executor } from "./execute.js";

/** Archives the oldest events, at most `limit` of them, if they are older than that; answers how many. */
export async function retireEvents(
  executor: Executor,
  org: string,
  { olderThanMs, limit }: { olderThanMs: number; limit: number },
): Promise<number> {
  const below = await executor.store.read(org, (view, now) => {
    const after = view.org().eventMin - 1;
    return olderBelow(view.events({ after, limit }), now - olderThanMs);
  });
  if (below === 0) return 0;
  const outcome = await executor.system(org, { type: "archive-events", below });
  return outcome.ok ? (outcome.value as { archived: number }).archived : 0;
}
