// Small questions about rows that the workspace asks.

import type { Edge } from "../core/changes.js";
import type { Session } from "../core/session.js";
import type { TaskText } from "../core/task.js";

/** A session that changed in what it may take, not only in when it was heard of. */
export function canDoMore(before: Session | undefined, after: Session): boolean {
  return (
    before?.capacity !== after.capacity ||
    before.agentType !== after.agentType ||
    before.name !== after.name ||
    before.capabilities !== after.capabilities
  );
}

/** How much memory a cached text takes, roughly. */
export function lengthOf({ prompt, description, metadata }: TaskText): number {
  return prompt.length + (description?.length ?? 0) + (metadata ? JSON.stringify(metadata).length : 0);
}

export function edgeKey({ project, taskId, dependsOn }: Edge): string {
  return `${project}/${taskId}/${dependsOn}`;
}
