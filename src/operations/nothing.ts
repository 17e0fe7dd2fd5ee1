// Says why a claim got nothing. Counting takes longer the more tasks are open, and idle agents ask again and
// again: what was counted serves all of them until something changes, and with many tasks for a second
// longer.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { countProject, heldCount, type ProjectCounts, whyNothing } from "../core/nothing.js";
import { whoIs } from "../core/ready.js";
import { isLive } from "../core/session.js";
import type { Reads } from "../core/view.js";
import type { Executor } from "./execute.js";
import type { CommandCall } from "./handler.js";

type Answer = OutputOf<OperationNamed<"tasks.claimNext">>;

/** The answer of a claim that got nothing, with the reason unless the caller does not want it. */
export async function withReason(
  executor: Executor,
  { input, caller }: CommandCall<"tasks.claimNext">,
  answer: Answer,
): Promise<Answer> {
  if (answer.claim || input.why === false) return answer;
  const breaker = "breaker" in answer ? answer.breaker : undefined;
  const why = await executor.readSwept(caller.org, (view, now) => {
    const project = view.project(input.project ?? caller.project);
    const session = project && view.session(project.id, input.sessionId);
    if (!project || !isLive(session)) return null;
    return whyNothing(view, {
      project,
      counts: countsOf(executor, view, project.id, now),
      who: whoIs(session, input.agentType),
      claimant: { session, held: heldCount(view, session) },
      labels: input.labels,
      breaker,
      now,
    });
  });
  return why ? { ...answer, why } : answer;
}

interface Counted {
  seq: number;
  at: number;
  counts: ProjectCounts;
}

/** Counts are reused this long: as long as nothing changes, or if there are many tasks. */
const keptMs = 1_000;
const manyTasks = 10_000;
const projectsMax = 1_000;

const known = new WeakMap<Executor, Map<string, Counted>>();

function countsOf(executor: Executor, view: Reads, project: string, now: number): ProjectCounts {
  const { org, eventSeq: seq } = view.org();
  const key = `${org}/${project}`;
  const byProject = known.get(executor) ?? new Map<string, Counted>();
  known.set(executor, byProject);
  const before = byProject.get(key);
  const isFresh = before && Math.abs(now - before.at) < keptMs;
  if (isFresh && (before.seq === seq || (before.counts.open.queued ?? 0) >= manyTasks)) return before.counts;
  const counts = countProject(view, project, now);
  if (byProject.size >= projectsMax) byProject.clear();
  byProject.set(key, { seq, at: now, counts });
  return counts;
}
