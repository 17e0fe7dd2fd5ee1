import { type Refusal, refuse } from "../refusal.js";

/** A field of one task of a batch. */
export function at(index: number, field: string, message: string): Refusal {
  return refuse("VALIDATION_FAILED", message, {
    details: { issues: [{ path: index === 0 ? field : `tasks[${index}].${field}`, message }] },
  });
}
