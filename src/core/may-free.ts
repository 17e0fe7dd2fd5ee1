// Whether a commit may let a waiting claim succeed, or end it. Waiting claims try again only after such commits: a wrong yes
// costs them a try, a wrong no leaves them waiting until something else wakes them.

import type { Changes, Key } from "./changes.js";
import { resourceKind } from "./resource.js";
import type { Session } from "./session.js";
import { tokenKind } from "./token.js";
import { breakerKind } from "./transitions/breaker.js";

interface Facts {
  /** A task has joined the ready queue, or moved within it. */
  joinedQueue: boolean;
  /** As it was before the changes. */
  session(key: Key): Session | undefined;
}

export function mayFree(changes: Changes, { joinedQueue, session }: Facts): boolean {
  // A project may be resumed, or ordered in another way.
  if (joinedQueue || changes.projects.size > 0) return true;
  // A claim that closes gives its session room for another.
  for (const claim of changes.claims.values()) if (claim === null) return true;
  // What has landed, or is cancelled, no longer keeps its exclusive paths.
  for (const { state, submission } of changes.tasks.values())
    if (submission?.alone && state !== "submitted") return true;
  for (const [key, after] of changes.sessions) if (canDoMore(session(key), after)) return true;
  // Claims that wait with a token end with it; those that heed a breaker, or lack a resource, try again when it has changed.
  for (const { kind, value } of changes.documents.values()) {
    if (kind === breakerKind || kind === resourceKind || (kind === tokenKind && value === null)) return true;
  }
  return false;
}

/** A session that has ended, or changed in what it can claim; not only in when it was last seen. */
function canDoMore(before: Session | undefined, after: Session): boolean {
  return (
    before?.capacity !== after.capacity ||
    before.endedAt !== after.endedAt ||
    before.agentType !== after.agentType ||
    before.name !== after.name ||
    before.capabilities !== after.capabilities ||
    before.uses !== after.uses
  );
}
