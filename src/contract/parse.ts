import type { z } from "zod";
import { DibsError } from "./error.js";
import type { Operation } from "./operation.js";
import { plainly } from "./plain.js";

/** The input as the operation takes it, or the refusal that says what is wrong with it. */
export function parseInput(
  operation: Operation,
  input: unknown,
  schema: z.ZodType = operation.input,
): unknown {
  const result = schema.safeParse(input ?? {});
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 20).map(({ path, message }) => ({
    path: path.map(String).join("."),
    message: plainly(message),
  }));
  throw new DibsError("VALIDATION_FAILED", sentence(issues[0]!), { details: { issues } });
}

/** `limit must be at least 1.` */
function sentence({ path, message }: { path: string; message: string }): string {
  const text = `${path === "" ? "The input" : path} ${message}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
