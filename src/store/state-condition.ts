// Tasks (`t`, with their claims `c` joined) by state, as SQL stores ask for them. Values are literals, so that partial indexes
// can be used.

import type { TaskState } from "../core/task.js";
import type { TaskFilter } from "../core/view.js";

const heldStates: readonly TaskState[] = ["claimed", "running", "awaiting_response"];

/** `isReady` of the core, but for the claim. */
const unblocked = "t.type = 'task' AND t.pending_deps = 0 AND t.open_children = 0";

/** `isReady` of the core, where claims are not joined. */
export const readyCondition = (noClaim: string) => `t.state = 'queued' AND ${unblocked} AND ${noClaim}`;

interface Asking {
  /** The table of claims, and one in which tasks have the state that they have without a claim. */
  claims: string;
  states: string;
  org: string;
}

/** Whether the states are those of tasks without a claim. */
export function areWithoutClaim(states: readonly TaskState[]): boolean {
  const isQueued = states.length === 1 && states[0] === "queued";
  return isQueued || states.every((state) => !heldStates.includes(state) && state !== "queued");
}

/** A held task rests as queued; its state is the claim's. */
export function stateCondition(
  states: readonly TaskState[],
  { claims, states: stateTable, org }: Asking,
): { text: string; values: string[] } {
  const quoted = states.map((state) => `'${state}'`).join(",");
  if (areWithoutClaim(states))
    return {
      text: states[0] === "queued" ? "t.state = 'queued' AND c.no IS NULL" : `t.state IN (${quoted})`,
      values: [],
    };
  if (states.includes("queued") || states.some((state) => !heldStates.includes(state)))
    return { text: `coalesce(c.state, t.state) IN (${quoted})`, values: [] };
  // Few are held: start from their claims, and from the questions without a holder. Nothing in here may refer to `t`:
  // it would be evaluated again for every task.
  const held = `SELECT h.no FROM ${claims} h WHERE h.org = ? AND h.state IN (${quoted})`;
  if (!states.includes("awaiting_response")) return { text: `t.no IN (${held})`, values: [org] };
  const left = `SELECT w.no FROM ${stateTable} w
    WHERE w.org = ? AND w.state = 'awaiting_response' AND w.state <> 'completed'`;
  return { text: `t.no IN (${held} UNION ALL ${left})`, values: [org, org] };
}

/** Of what is queued: ready, scheduled for later, or blocked by dependencies, children or being a group. */
export function queuedCondition({ as, at }: NonNullable<TaskFilter["queued"]>): {
  text: string;
  values: number[];
} {
  const noClaim = "c.no IS NULL";
  if (as === "blocked")
    return { text: `t.state = 'queued' AND ${noClaim} AND NOT (${unblocked})`, values: [] };
  const due = `coalesce(t.not_before, 0) ${as === "ready" ? "<=" : ">"} ?`;
  return { text: `${readyCondition(noClaim)} AND ${due}`, values: [at] };
}
