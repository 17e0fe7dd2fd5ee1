// What waits on the way to the target now: holds of landers, and submissions without a verdict. Counted by each read, among the
// submitted tasks only; what happened before is counted by the recorder.

import { landingPlace, leaseOf, submissionOf } from "../../core/landing.js";
import type { Project } from "../../core/project.js";
import { waitsForReview } from "../../core/review.js";
import type { Totals } from "../../core/tally.js";
import type { Reads } from "../../core/view.js";

interface Waiting {
  held: number;
  reviewsWaiting: number;
  /** Null: none waits. */
  oldestReviewMs: number | null;
}

/** More are not looked at, in each project. */
const submittedMax = 1000;

/** null: of all projects. */
export function landingWaits(view: Reads, project: string | null, now: number): Waiting {
  const projects = view
    .projects({ readableOnly: true })
    .filter(({ id, settings: { land } }) => land.target !== null && (project === null || id === project));
  const reviewsSince = projects.flatMap((each) => reviewsOf(view, each, now));
  const oldest = reviewsSince.length === 0 ? null : Math.min(...reviewsSince);
  return {
    held: heldIn(view, projects),
    reviewsWaiting: reviewsSince.length,
    oldestReviewMs: oldest === null ? null : Math.max(0, now - oldest),
  };
}

/** Projects can share a lander: each of its holds counts once. */
function heldIn(view: Reads, projects: readonly Project[]): number {
  const places = projects.map((project) => landingPlace(project)!);
  const unique = new Map(places.map((place) => [`${place.repository}/${place.target}`, place]));
  const ids = new Set(projects.map(({ id }) => id));
  return [...unique.values()].reduce((sum, place) => {
    const lease = leaseOf(view, place);
    const holds = (lease?.holds ?? []).filter(
      ({ tasks }) => tasks.length === 0 || tasks.some((task) => ids.has(task.project)),
    );
    return sum + holds.length + (lease?.missingId ? 1 : 0);
  }, 0);
}

/** Since when each submission waits for a review. */
function reviewsOf(view: Reads, project: Project, now: number): number[] {
  const tasks = view.tasks({
    project: project.id,
    states: ["submitted"],
    afterOrdinal: 0,
    limit: submittedMax,
  });
  return tasks.flatMap((task) => {
    const submission = submissionOf(view, task);
    return submission && waitsForReview(view, project, submission, now) ? [submission.submittedAt] : [];
  });
}

/** As in `stats.get`. */
export function landingStats(view: Reads, totals: Totals, project: string | null, now: number) {
  const { submissions, landings, returns, flakyChecks, landingWaits: waits, notLanded, states } = totals;
  const count = waits.counts.reduce((sum, each) => sum + each, 0);
  const { held, reviewsWaiting, oldestReviewMs } = landingWaits(view, project, now);
  return {
    submitted: states.submitted,
    submissions,
    landed: landings,
    returned: { ...returns },
    held,
    flaky_checks: flakyChecks,
    avg_landing_time_seconds: count === 0 ? null : waits.sumMs / count / 1000,
    conflicts_per_100_landings: landings === 0 ? null : (100 * returns.conflict) / landings,
    done_not_landed: notLanded,
    reviews_waiting: reviewsWaiting,
    oldest_review_seconds: oldestReviewMs === null ? null : oldestReviewMs / 1000,
  };
}
