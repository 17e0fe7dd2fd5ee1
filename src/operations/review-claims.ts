// claim-next of a review. Candidates are read first; the transaction takes the first one that the session can still review.

import { Wake } from "../common/wake.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { landingOrder } from "../core/landing.js";
import { whyPaused } from "../core/nothing.js";
import { stageOf } from "../core/review.js";
import type { Executor } from "./execute.js";
import type { CommandCall } from "./handler.js";
import { recoverSessions } from "./preparations.js";
import { monotonicMs } from "./sweep.js";

type ClaimNext = CommandCall<"tasks.claimNext">;
type Answer = OutputOf<OperationNamed<"tasks.claimNext">>;

const submittedMax = 1_000;
const candidatesMax = 100;
/** Expired reviews and dead reviewers cause no commit that could wake a wait. */
const retryMs = 1_000;

export async function claimNextReview(executor: Executor, call: ClaimNext): Promise<Answer> {
  const { caller, input, signals = [] } = call;
  await recoverSessions(executor, call);
  const until = monotonicMs() + (input.waitMs ?? 0);
  const wake = new Wake();
  const ring = () => wake.ring();
  const stopListening = executor.store.onChange(caller.org, ring);
  for (const signal of signals) signal.addEventListener("abort", ring);
  try {
    for (let isFirst = true; ; isFirst = false) {
      wake.arm();
      const candidates = await candidatesFor(executor, call);
      // Asking counts, once per wait: somebody reviews.
      const answer =
        isFirst || candidates.length > 0 ? (await executor.transact(call, candidates)).answer : null;
      const leftMs = until - monotonicMs();
      if (answer?.claim) return answer;
      if (leftMs <= 0 || signals.some((signal) => signal.aborted)) return nothing(executor, call);
      await wake.wait(Math.min(retryMs, leftMs));
    }
  } finally {
    stopListening();
    for (const signal of signals) signal.removeEventListener("abort", ring);
  }
}

/** Of a paused project with the reason, as every claim. */
async function nothing({ store }: Executor, { caller, input }: ClaimNext): Promise<Answer> {
  const answer = { success: true, claim: null, task: null, resumed: false } as const;
  const project = await store.read(caller.org, (view) => view.project(input.project ?? caller.project));
  return project?.paused && input.why !== false ? { ...answer, why: whyPaused(project) } : answer;
}

/** Submitted tasks that wait for a review, in the order of landing. */
function candidatesFor({ store }: Executor, { caller, input }: ClaimNext): Promise<string[]> {
  const id = input.project ?? caller.project;
  return store.read(caller.org, (view, now) => {
    const project = view.project(id);
    if (!project || project.settings.land.target === null) return [];
    return view
      .tasks({ project: id, states: ["submitted"], afterOrdinal: 0, limit: submittedMax })
      .filter((task) => stageOf(view, task, project, now) === "review")
      .sort(landingOrder(now))
      .slice(0, candidatesMax)
      .map((task) => task.id);
  });
}
