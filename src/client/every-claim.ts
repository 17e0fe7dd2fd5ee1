// All that is claimed, page after page.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { Dibs } from "./client.js";

type Page = OutputOf<OperationNamed<"tasks.inFlight">>;

export async function* everyClaim(
  dibs: Dibs,
  filter: { project?: string } = {},
): AsyncGenerator<Page["inFlight"][number], void, undefined> {
  let cursor: string | undefined;
  do {
    const page: Page = await dibs.tasks.inFlight({ ...filter, ...(cursor ? { cursor } : {}) });
    yield* page.inFlight;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
