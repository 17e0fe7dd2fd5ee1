// Objects of any JSON, as callers of the library may hand them in. zod has a schema for that, but it is recursive: every call that
// could carry such a value, also if it does not, would pay for the memory in which zod looks for circles.

import { z } from "zod";

export type JsonObject = Record<string, z.core.util.JSONType>;

const depthMax = 100;

interface Problem {
  path: PropertyKey[];
  message: string;
}

function problemIn(value: unknown, depth: number): Problem | null {
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
    return null;
  }
  if (!Array.isArray(value) && !z.core.util.isPlainObject(value))
    return { path: [], message: "must be JSON" };
  if (depth === depthMax) {
    return { path: [], message: `is nested more than ${depthMax} levels deep, or refers to itself` };
  }
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const problem = problemIn(inner, depth + 1);
    if (problem) return { ...problem, path: [key, ...problem.path] };
  }
  return null;
}

/** As zod does: nobody means to set that. */
const withoutPrototype = (key: string, value: unknown) => (key === "__proto__" ? undefined : value);

/** A copy of it: what the caller changes later does not change what we were given. */
export function jsonObject(check: (written: string) => string | null): z.ZodType<JsonObject, JsonObject> {
  return z.record(z.string(), z.unknown()).transform((value, context) => {
    const strange = problemIn(value, 0);
    const written = strange ? "{}" : JSON.stringify(value);
    const message = strange?.message ?? check(written);
    if (message !== null) {
      context.issues.push({ code: "custom", input: value, message, path: strange?.path ?? [] });
    }
    return JSON.parse(written, withoutPrototype);
  }) as unknown as z.ZodType<JsonObject, JsonObject>;
}
