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
    `The role ${needed} is required; this token has the role ${caller.role}.`,
    {
      hint: `To create a token, an admin runs: dibs token create --role ${needed}`,
      details: { needed, role: caller.role },
    },
  );
}

/** The token whose sessions alone the caller may speak for; leaders, and callers without a token, may for all. */
export function boundTo({ token, role }: Caller): string | undefined {
  return isAtLeast(role, "leader") ? undefined : token;
}
