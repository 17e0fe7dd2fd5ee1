// Schemas that work faster. An operation that is called again and again gets a parser of its own, which zod writes and compiles and
// which takes a third of the time. A lone command would pay more for the making than it saves (ADR 20).

import { z } from "zod";
import type { Operation } from "../contract/operation.js";

const callsBeforeMaking = 100;
const parsers = new Map<string, { calls: number; schema: z.ZodType }>();

/** What to judge this call of an operation by. */
export function parserOf({ name, input: schema }: Operation): z.ZodType {
  let parser = parsers.get(name);
  if (!parser) {
    parser = { calls: 0, schema };
    parsers.set(name, parser);
  }
  if (++parser.calls === callsBeforeMaking && !z.config().jitless) parser.schema = z.compile(schema);
  return parser.schema;
}
