// A session belongs to the token that registered it: no other worker speaks for it. It belongs to nobody when it was registered
// without a token, and when its token is gone: whoever was given a new one goes on under the old name.

import type { Command } from "./command.js";
import { type Refusal, refuse } from "./refusal.js";
import { isLive, type Session } from "./session.js";
import { validToken } from "./token.js";
import type { View } from "./view.js";

/** The token that alone may speak for the session, or null. */
export function ownerOf(view: Pick<View, "document">, session: Session, now: number): string | null {
  return session.owner !== null && validToken(view, session.owner, now) ? session.owner : null;
}

/** The refusal for a caller with this token, if the command speaks for a session of another one. */
export function notOwner(view: View, command: Command, token: string, now: number): Refusal | null {
  const id = spokenFor(command);
  if (id === undefined || !("project" in command)) return null;
  const session = view.session(command.project, id);
  // Of an ended session only usage is accepted; under its id another one can register.
  const isOwned = isLive(session) || (session !== undefined && command.type === "report-usage");
  if (!isOwned || session.owner === token || ownerOf(view, session, now) === null) return null;
  return refuse("FORBIDDEN", `Session ${id} belongs to another token.`, {
    hint: "Use a session id of your own, or the token that registered it; a leader can act for any session.",
    details: { sessionId: id },
  });
}

function spokenFor(command: Command): string | undefined {
  if (command.type === "register-session") return command.session.id;
  return "sessionId" in command ? command.sessionId : undefined;
}
