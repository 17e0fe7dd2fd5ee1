import { DibsError } from "../contract/error.js";
import { type Operation, type Role, roles } from "../contract/operation.js";
import type { Caller } from "./environment.js";

/** The role an input needs: force is for leaders, whoever may release. */
function neededRole(operation: Operation, input: unknown): Role {
  const forced = (input as { force?: unknown }).force === true;
  return forced && roles.indexOf(operation.role) < roles.indexOf("leader") ? "leader" : operation.role;
}

export function authorise(caller: Caller, operation: Operation, input: unknown): void {
  const needed = neededRole(operation, input);
  if (roles.indexOf(caller.role) >= roles.indexOf(needed)) return;
  throw new DibsError(
    "FORBIDDEN",
    `${operation.name} needs the role ${needed}; this caller is ${caller.role}.`,
    {
      hint: "Use a token of that role.",
      details: { needed, role: caller.role },
    },
  );
}
