// claim-next of a review. Candidates are read first; the transaction takes the first one that the session can still review.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { landingOrder } from "../core/landing.js";
import { whyPaused } from "../core/nothing.js";
import { stageOf } from "../core/review.js";
import { isLive } from "../core/session.js";
import type { Executor } from "./execute.js";
import type { CommandCall } from "./handler.js";
import { recoverSessions } from "./preparations.js";
import { tryAgain } from "./try-again.js";

type ClaimNext = CommandCall<"tasks.claimNext">;
type Answer = OutputOf<OperationNamed<"tasks.claimNext">>;

const submittedMax = 1_000;
const candidatesMax = 100;

export async function claimNextReview(executor: Executor, call: ClaimNext): Promise<Answer> {
  await recoverSessions(executor, call);
  // Asking counts, once per wait: somebody reviews.
  let hasAsked = false;
  return tryAgain(
    executor,
    call,
    () => true,
    async (isOver) => {
      const { candidates, hasNoSession } = await candidatesFor(executor, call);
      if (!hasAsked || hasNoSession || candidates.length > 0) {
        const { answer } = await executor.transact(call, candidates);
        hasAsked = true;
        if (answer.claim) return answer;
      }
      return isOver() ? nothing(executor, call) : null;
    },
  );
}

/** Of a paused project with the reason, as every claim. */
async function nothing({ store }: Executor, { caller, input }: ClaimNext): Promise<Answer> {
  const answer = { success: true, claim: null, task: null, resumed: false } as const;
  const project = await store.read(caller.org, (view) => view.project(input.project ?? caller.project));
  return project?.paused && input.why !== false ? { ...answer, why: whyPaused(project) } : answer;
}

interface Found {
  /** Submitted tasks that wait for a review, in the order of landing. */
  candidates: string[];
  /** The session has ended, or is unknown: the store refuses the claim. */
  hasNoSession: boolean;
}

function candidatesFor({ store }: Executor, { caller, input }: ClaimNext): Promise<Found> {
  const id = input.project ?? caller.project;
  return store.read(caller.org, (view, now) => {
    const project = view.project(id);
    const hasNoSession = !isLive(view.session(id, input.sessionId));
    if (!project || project.settings.land.target === null) return { candidates: [], hasNoSession };
    const candidates = view
      .tasks({ project: id, states: ["submitted"], afterOrdinal: 0, limit: submittedMax })
      .filter((task) => stageOf(view, task, project, now) === "review")
      .sort(landingOrder(now))
      .slice(0, candidatesMax)
      .map((task) => task.id);
    return { candidates, hasNoSession };
  });
}
