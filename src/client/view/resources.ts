// How resources are said to people: the same words on the dashboard, in `dibs watch` and in `dibs resources`.

import type { WireResource } from "../../contract/shapes.js";
import { flagWords, shellWord } from "./shell.js";
import { ago } from "./words.js";

/** Those that keep somebody waiting first. */
export function byNeed(resources: readonly WireResource[]): WireResource[] {
  const rank = ({ state, waiting }: WireResource) => (state === "held" ? 0 : waiting > 0 ? 1 : 2);
  return [...resources].sort((a, b) => rank(a) - rank(b) || b.waiting - a.waiting || (a.id < b.id ? -1 : 1));
}

export const isHeld = ({ state }: WireResource) => state === "held";

/** `2/3`, or `2` where there is no limit. */
export const unitsText = ({ inUse, capacity }: WireResource) =>
  capacity === null ? `${inUse}` : `${inUse}/${capacity}`;

/** `claude-max-1, gpu=2` */
export const usesText = (uses: Readonly<Record<string, number>>): string =>
  Object.entries(uses)
    .map(([id, units]) => (units === 1 ? id : `${id}=${units}`))
    .join(", ");

/** `12.5 of 20 usd/day`, one for each budget. */
export const budgetTexts = ({ budgets }: WireResource) =>
  budgets.map(({ amount, unit, period, spent }) => `${spent} of ${amount} ${unit}/${period}`);

/** `held (quota) until 2026-11-19T14:00:00.000Z (in 2h): limit reached`. */
export function stateText({ state, holds }: WireResource, now: number): string {
  if (state !== "held") return state;
  return holds
    .map(({ source, until, reason }) => {
      const end = until === null ? "" : ` until ${until} (${ago(until, now)})`;
      return `held (${source})${end}${reason === null ? "" : `: ${reason}`}`;
    })
    .join("; ");
}

interface HoldDetails {
  /** A duration; absent: until it is resumed. */
  lasts?: string | undefined;
  reason?: string | undefined;
}

export function holdCommand(id: string, { lasts, reason }: HoldDetails = {}): string {
  const words = ["dibs", "resource", "hold", id, ...flagWords("for", lasts), ...flagWords("reason", reason)];
  return words.map(shellWord).join(" ");
}

export const resumeCommand = (id: string) => ["dibs", "resource", "resume", id].map(shellWord).join(" ");
