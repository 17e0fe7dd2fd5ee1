import { type Refusal, refuse } from "../refusal.js";

export const pathAt = (index: number, field: string) => (index === 0 ? field : `tasks[${index}].${field}`);

/** A field of one task of a batch. */
export function at(index: number, field: string, message: string): Refusal {
  return refuse("VALIDATION_FAILED", message, {
    details: { issues: [{ path: pathAt(index, field), message }] },
  });
}
