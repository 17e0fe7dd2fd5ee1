// Idempotency keys: with one a call can be sent again when its answer was lost, and acts once.

import { DibsError } from "../contract/error.js";

const made = "auto-";

export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return made + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Made here for one call: nobody else will use it again. */
export const isOurs = (key: string) => key.startsWith(made);

/** A key travels in a header. */
export function refuseBadKey(key: unknown): void {
  if (typeof key === "string" && /^[!-~](?:[ -~]*[!-~])?$/.test(key)) return;
  const message = "must be printable ASCII, not empty, without blanks around it";
  throw new DibsError("VALIDATION_FAILED", `idempotencyKey: ${message}`, {
    details: { issues: [{ path: "idempotencyKey", message }] },
  });
}
