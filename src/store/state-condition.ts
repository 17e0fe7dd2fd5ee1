// Tasks (`t`, with their claims `c` joined) by state, as SQL stores ask for them.

import type { TaskState } from "../core/task.js";
import type { TaskFilter } from "../core/view.js";

const heldStates: readonly TaskState[] = ["claimed", "running", "awaiting_response"];

interface Asking {
  schema: "" | "dibs.";
  /** How a value is written. */
  value: "?" | "$";
  org: string;
}

/** A held task rests as queued; its state is the claim's. Literals, so that partial indexes can serve. */
export function stateCondition(
  states: readonly TaskState[],
  { schema, value, org }: Asking,
): { text: string; values: string[] } {
  const quoted = states.map((state) => `'${state}'`).join(",");
  if (states.every((state) => !heldStates.includes(state) && state !== "queued"))
    return { text: `t.state IN (${quoted})`, values: [] };
  if (states.length === 1 && states[0] === "queued")
    return { text: "t.state = 'queued' AND c.no IS NULL", values: [] };
  if (states.includes("queued") || states.some((state) => !heldStates.includes(state)))
    return { text: `coalesce(c.state, t.state) IN (${quoted})`, values: [] };
  // Few are held: start from their claims, and from the questions that nobody holds any more. Nothing in here may refer to `t`:
  // it would be worked out anew for every task.
  const held = `SELECT h.no FROM ${schema}claim h WHERE h.org = ${value} AND h.state IN (${quoted})`;
  if (!states.includes("awaiting_response")) return { text: `t.no IN (${held})`, values: [org] };
  const left = `SELECT w.no FROM ${schema}task w
    WHERE w.org = ${value} AND w.state = 'awaiting_response' AND w.state <> 'completed'`;
  return { text: `t.no IN (${held} UNION ALL ${left})`, values: [org, org] };
}

/** Of what is queued: ready, scheduled for later, or blocked by dependencies, children or being a group. */
export function queuedCondition(
  { as, at }: NonNullable<TaskFilter["queued"]>,
  value: Asking["value"],
): { text: string; values: number[] } {
  const queued = "t.state = 'queued' AND c.no IS NULL";
  const free = "t.type = 'task' AND t.pending_deps = 0 AND t.open_children = 0";
  if (as === "blocked") return { text: `${queued} AND NOT (${free})`, values: [] };
  const due = `coalesce(t.not_before, 0) ${as === "ready" ? "<=" : ">"} ${value}`;
  return { text: `${queued} AND ${free} AND ${due}`, values: [at] };
}
