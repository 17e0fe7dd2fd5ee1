// The sessions of a project that can be expected to claim.

import { limits } from "../core/limits.js";
import { type Who, whoIs } from "../core/ready.js";
import { isSilent, sessionShownMs } from "../core/session.js";
import type { Reads } from "../core/view.js";

export function liveWorkers(view: Reads, project: string, now: number): Who[] {
  const { orphanThresholdMs } = view.project(project)!.settings.claim;
  const seenSince = now - sessionShownMs;
  return view
    .sessions({ project, live: true, seenSince, limit: limits.pageMax, readableOnly: true })
    .filter((session) => !isSilent(session, orphanThresholdMs, now))
    .map((session) => whoIs(session));
}
