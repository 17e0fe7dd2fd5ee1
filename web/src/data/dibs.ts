// The server behind this page. Every call goes through the same typed client as everybody's; the cookie says who we are.

import { connectDibs, type Dibs, DibsError } from "../../../src/client/connect.js";
import { judgeWithoutCompiling } from "../../../src/contract/brief.js";

export type * from "../../../src/client/connect.js";
export { DibsError };

// The page's policy forbids to compile anything.
judgeWithoutCompiling();

// A person is waiting: trying twice is enough, and what went wrong is shown.
export const dibs: Dibs = connectDibs({ url: "/", retry: { tries: 2 }, timeoutMs: 20_000 });

/** Signed out, or the sign-in is over. */
export const isSignedOut = (error: unknown) => error instanceof DibsError && error.code === "UNAUTHENTICATED";

/** What to say about something that went wrong. */
export function troubleOf(error: unknown): { message: string; hint?: string; code?: string } {
  if (error instanceof DibsError) return { message: error.message, hint: error.hint, code: error.code };
  return { message: error instanceof Error ? error.message : String(error) };
}
