import type { Store } from "../../src/store/store.js";
import { exportOrg } from "../../src/transfer/export.js";
import type { Lines } from "../../src/transfer/import.js";
import { org } from "./history.js";

/** So small that even a short history has several. */
export const smallPages = { light: 3, heavy: 2 };
export const smallBatches = { rows: 3, length: 2000 };

export async function exported(store: Store, pageMax?: typeof smallPages): Promise<string[]> {
  return collected(exportOrg(store, org, pageMax));
}

export async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

/** Lines that can be read again and again. */
export function again(lines: readonly string[]): Lines {
  return async function* () {
    yield* lines;
  };
}
