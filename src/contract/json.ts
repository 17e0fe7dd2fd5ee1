// Objects of any JSON, as callers of the library may hand them in. zod has a schema for that, but it is recursive: every call that
// could carry such a value, also if it does not, would pay for the memory in which zod looks for circles.

import { z } from "zod";
import { limits } from "../core/limits.js";

export type JsonObject = Record<string, z.core.util.JSONType>;

interface Problem {
  path: PropertyKey[];
  message: string;
}

const tooMuch = `must have at most ${limits.metadataBytesMax} characters as JSON`;
const tooDeep = `is nested more than ${limits.metadataDepthMax} levels deep, or refers to itself`;
/** A long path says no more, and what is deep may have a long one. */
const pathMax = 3;

/** What is no JSON in a value. Each value that is looked at would be a character at least: nobody looks at more than are kept. */
function problemIn(value: unknown, looked = { count: 0 }, depth = 0): Problem | null {
  if (++looked.count > limits.metadataBytesMax) return { path: [], message: tooMuch };
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
    return null;
  }
  if (!Array.isArray(value) && !z.core.util.isPlainObject(value))
    return { path: [], message: "must be JSON" };
  if (depth === limits.metadataDepthMax) return { path: [], message: tooDeep };
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const problem = problemIn(inner, looked, depth + 1);
    if (problem) return { ...problem, path: [key, ...problem.path].slice(0, pathMax) };
  }
  return null;
}

/** As zod does: nobody means to set that. */
const withoutPrototype = (key: string, value: unknown) => (key === "__proto__" ? undefined : value);

/** A copy of it: what the caller changes later does not change what we were given. */
export function jsonObject(check: (written: string) => string | null): z.ZodType<JsonObject, JsonObject> {
  return z.record(z.string(), z.unknown()).transform((value, context) => {
    const strange = problemIn(value);
    const written = strange ? "{}" : JSON.stringify(value);
    const isTooMuch = written.length > limits.metadataBytesMax;
    const message = strange?.message ?? (isTooMuch ? tooMuch : check(written));
    if (message !== null) {
      context.issues.push({ code: "custom", input: value, message, path: strange?.path ?? [] });
    }
    return JSON.parse(written, withoutPrototype);
  }) as unknown as z.ZodType<JsonObject, JsonObject>;
}
