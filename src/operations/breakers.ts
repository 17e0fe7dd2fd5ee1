// Agent types whose runners are held back, for people.

import { limits } from "../core/limits.js";
import { breakerKind, openBreakers } from "../core/transitions/breaker.js";
import type { Reads } from "../core/view.js";
import { wireBreaker } from "./render.js";

/** As a member of an answer; absent where no agent type is held back. */
export function openBreakersIn(view: Reads, project: string | null, now: number) {
  const page = { kind: breakerKind, limit: limits.pageMax, readableOnly: true };
  const projects = project === null ? view.documents(page).map(({ key }) => key) : [project];
  const breakers = projects.flatMap((id) => openBreakers(view, id, now)).map(wireBreaker);
  return breakers.length === 0 ? {} : { breakers };
}
