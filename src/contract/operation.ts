// An operation is defined once, here: its input and output, who may call it, what it refuses, and how each surface
// spells it. Surfaces, the client and the documentation are derived from these definitions.

import type { z } from "zod";
import type { Code } from "../core/refusal.js";
import { type Role, roles } from "../core/role.js";
import { once } from "./once.js";

export { type Role, roles };

export interface Operation<
  Name extends string = string,
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  name: Name;
  summary: string;
  kind: "command" | "query";
  role: Role;
  /** Without this field in the input, the caller speaks as a person, and needs the role leader. */
  leaderWithout?: string;
  input: Input;
  output: Output;
  /** Besides VALIDATION_FAILED and PROJECT_NOT_FOUND, which every operation can answer. */
  refusals: readonly Code[];
  /** Said again by the same caller, it answers the same and nothing happens twice: a retry needs no key. */
  repeatable?: true;
  /** Not one of the calls of `calls.many`: it is many by itself, and its body can be larger. */
  alone?: true;
  http: {
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    path: string;
    status?: number;
    /** Another path that means the same. */
    also?: string;
    /** Other names for fields in a query. */
    aliases?: Readonly<Record<string, string>>;
    /** The field that is the whole answer, as plain text, for callers that do not ask for JSON. */
    text?: string;
  };
  cli?: string;
  mcp?: string;
}

/** As it is written down: its schemas are made when they are first looked at. */
type Definition<Name extends string, Input extends z.ZodType, Output extends z.ZodType> = Omit<
  Operation<Name>,
  "input" | "output"
> & { input: () => Input; output: () => Output };

export function operation<Name extends string, Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Name, Input, Output>,
): Operation<Name, Input, Output> {
  const input = once(definition.input);
  const output = once(definition.output);
  return {
    ...definition,
    get input() {
      return input();
    },
    get output() {
      return output();
    },
  };
}

export type InputOf<O extends Operation> = z.input<O["input"]>;
export type ParsedOf<O extends Operation> = z.output<O["input"]>;
export type OutputOf<O extends Operation> = z.output<O["output"]>;
