import { DibsError } from "../contract/error.js";
import type { Operation } from "../contract/operation.js";
import { isAtLeast, type Role } from "../core/role.js";
import type { Caller } from "./environment.js";

/** The role an input needs: force is for leaders, and so is a verdict that names no session. */
function neededRole({ role, leaderWithout }: Operation, input: Record<string, unknown>): Role {
  const needsLeader =
    input.force === true || (leaderWithout !== undefined && input[leaderWithout] === undefined);
  return needsLeader && !isAtLeast(role, "leader") ? "leader" : role;
}

/** Without an input: whether the caller is allowed any call of the operation. */
export function authorise(caller: Caller, operation: Operation, input?: unknown): void {
  const needed =
    input === undefined ? operation.role : neededRole(operation, input as Record<string, unknown>);
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
