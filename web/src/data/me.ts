// Who is signed in, and what that lets them do. Asked once, before anything is shown: what would be refused is not offered. The
// server judges every call by itself.

import { type Role, roles } from "../../../src/contract/operation.js";

export type { Role };

const answerMs = 10_000;

/** Null: not known, so everything is offered. */
let role: Role | null = null;
/** False: the server lets everybody in, and nobody out. */
let signedIn = true;

export async function learnRole(): Promise<void> {
  try {
    const answer = await fetch("/api/auth/me", { signal: AbortSignal.timeout(answerMs) });
    const said = answer.ok ? ((await answer.json()) as { role?: unknown; signedIn?: unknown }) : {};
    role = roles.find((each) => each === said.role) ?? null;
    signedIn = said.signedIn !== false;
  } catch {
    // The server is away: the page says so when it asks for more.
  }
}

export const ownRole = (): Role | null => role;

export const isSignedIn = (): boolean => signedIn;

/** Why somebody with this role may not, or null. */
export function whyNot(needed: Role): string | null {
  if (role === null || roles.indexOf(role) >= roles.indexOf(needed)) return null;
  return `You are signed in as ${role}; this needs ${needed}.`;
}
