import { DibsError } from "../contract/error.js";
import type { Operation } from "../contract/operation.js";
import { isAtLeast, type Role } from "../core/role.js";
import type { Caller } from "./environment.js";

/** The role an input needs: force is for leaders, whoever may release. */
function neededRole(operation: Operation, input: unknown): Role {
  const forced = (input as { force?: unknown }).force === true;
  return forced && !isAtLeast(operation.role, "leader") ? "leader" : operation.role;
}

export function authorise(caller: Caller, operation: Operation, input: unknown): void {
  const needed = neededRole(operation, input);
  if (isAtLeast(caller.role, needed)) return;
  throw new DibsError(
    "FORBIDDEN",
    `${operation.name} needs the role ${needed}; this caller is ${caller.role}.`,
    {
      hint: "Use a token of that role.",
      details: { needed, role: caller.role },
    },
  );
}

/** The token whose sessions alone the caller may speak for; leaders, and callers without a token, may for all. */
export function boundTo({ token, role }: Caller): string | undefined {
  return isAtLeast(role, "leader") ? undefined : token;
}
