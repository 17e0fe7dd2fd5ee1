// Tasks (`t`, with their claims `c` joined) by state, as SQL stores ask for them.

import type { TaskState } from "../core/task.js";

const heldStates: readonly TaskState[] = ["claimed", "running", "awaiting_response"];

/** A held task rests as queued; its state is the claim's. Literals, so that partial indexes can serve. */
export function stateCondition(states: readonly TaskState[], schema: "" | "dibs."): string {
  const quoted = states.map((state) => `'${state}'`).join(",");
  if (states.every((state) => !heldStates.includes(state) && state !== "queued"))
    return `t.state IN (${quoted})`;
  if (states.length === 1 && states[0] === "queued") return "t.state = 'queued' AND c.no IS NULL";
  if (states.includes("queued") || states.some((state) => !heldStates.includes(state))) {
    return `coalesce(c.state, t.state) IN (${quoted})`;
  }
  // Few are held: start from their claims, and from the questions that nobody holds any more.
  return `t.no IN (SELECT h.no FROM ${schema}claim h WHERE h.org = t.org AND h.state IN (${quoted})
    UNION ALL SELECT w.no FROM ${schema}task w WHERE w.org = t.org AND w.state = 'awaiting_response' AND w.state IN (${quoted}))`;
}
