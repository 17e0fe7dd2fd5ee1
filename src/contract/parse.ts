// Input against its schema. An operation that is called again and again gets a parser of its own, which zod writes and compiles
// and which takes a third of the time. A lone command would pay more for the making than it saves.

import { z } from "zod";
import { DibsError } from "./error.js";
import type { Operation } from "./operation.js";

const callsBeforeMaking = 100;
const parsers = new Map<string, { calls: number; schema: z.ZodType }>();

function parserOf({ name, input: schema }: Operation): z.ZodType {
  let parser = parsers.get(name);
  if (!parser) {
    parser = { calls: 0, schema };
    parsers.set(name, parser);
  }
  if (++parser.calls === callsBeforeMaking) parser.schema = z.compile(schema);
  return parser.schema;
}

/** The input as the operation takes it, or the refusal that says what is wrong with it. */
export function parseInput(operation: Operation, input: unknown): unknown {
  const result = parserOf(operation).safeParse(input ?? {});
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 20).map(({ path, message }) => ({
    path: path.map(String).join("."),
    message,
  }));
  const [first] = issues;
  const where = first?.path ? `${first.path}: ` : "";
  throw new DibsError("VALIDATION_FAILED", `${operation.name}: ${where}${first?.message}`, {
    details: { issues },
  });
}
