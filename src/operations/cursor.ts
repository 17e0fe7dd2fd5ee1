import { accept, type Outcome, type Refusal, refuse } from "../core/refusal.js";

export function decodeCursor(cursor: string | undefined): Outcome<number> {
  if (cursor === undefined) return accept(0);
  const ordinal = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  return ordinal > 0 ? accept(ordinal) : foreignCursor();
}

export function foreignCursor(): Refusal {
  const message = "The cursor is not one that a list has returned.";
  return refuse("VALIDATION_FAILED", message, { details: { issues: [{ path: "cursor", message }] } });
}
