// The newest events that are meant. A list goes forward from a number, and numbers count the whole org: how far back the last fifty
// of a project are is found by looking further and further back, and then nearer, a page at a time.

import type { Dibs } from "../../client/client.js";
import type { InputOf, OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";

type List = OperationNamed<"events.list">;
type Filter = Omit<InputOf<List>, "after" | "limit">;

const pageMax = 1000;

export async function newestEvents(dibs: Dibs, filter: Filter, count: number): Promise<OutputOf<List>> {
  const list = (after: number, limit = pageMax) => dibs.events.list({ ...filter, after, limit });
  const hasMore = async (after: number) => (await list(after, 1)).events.length > 0;
  const first = await list(0, count);
  if (first.events.length < count) return first;
  const oldest = Math.max(0, first.firstAvailable - 1);
  let tooFar: number | null = null;
  let tooNear = first.lastSeq;
  let after = Math.max(oldest, tooNear - count);
  for (;;) {
    const page = await list(after);
    const isWhole = page.events.length < pageMax || !(await hasMore(page.nextAfter));
    const isEnough = isWhole && (page.events.length >= count || after <= oldest);
    if (isWhole) tooNear = after;
    else tooFar = after;
    if (isEnough || (tooFar !== null && tooNear - tooFar <= 1)) {
      return { ...page, events: page.events.slice(-count) };
    }
    after =
      tooFar === null
        ? Math.max(oldest, first.lastSeq - 4 * (first.lastSeq - after))
        : Math.floor((tooFar + tooNear) / 2);
  }
}
