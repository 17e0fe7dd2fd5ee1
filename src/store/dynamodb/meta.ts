// The item of an org that says how far the log is in the tables.

import type { Stored } from "./calls.js";
import { type Item, type Key, keyOf, type TransactWrite } from "./client.js";
import type { OrgKeys } from "./keys.js";

/** How items are laid out. A program refuses a newer number. */
export const layoutNumber = 1;
export const metaKey = "META";

export interface Meta {
  layout: number;
  /** Every row of the log up to this version is in the tables. */
  applied: number;
  /** Raised by each step of an applier: a late one fails. */
  step: number;
}

export function readMeta(item: Stored): Meta {
  const number = (name: string) => Number((item as unknown as Record<string, { N: string }>)[name]?.N ?? 0);
  return { layout: number("layout"), applied: number("applied"), step: number("step") };
}

const N = (value: number) => ({ N: String(value) });

export const newMeta = ({ root }: OrgKeys): Key & Item => ({
  ...keyOf(root, metaKey),
  layout: N(layoutNumber),
  applied: N(0),
  step: N(0),
});

export interface Move {
  from: Meta;
  to: Pick<Meta, "applied" | "step">;
  /** The row of the org, if it has changed. */
  org: string | null;
}

/** Moves `applied` and `step` from what the applier saw. */
export const moveMeta = (table: string, { root }: OrgKeys, { from, to, org }: Move): TransactWrite => ({
  update: {
    table,
    key: keyOf(root, metaKey),
    set: { applied: N(to.applied), step: N(to.step), ...(org !== null && { data: { S: org } }) },
    conditions: [
      { attribute: "applied", equals: N(from.applied) },
      { attribute: "step", equals: N(from.step) },
    ],
  },
});
