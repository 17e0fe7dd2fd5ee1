// Submissions and the lander, as every surface calls them.

import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type {
  AcquireLanderCommand,
  DropLandingCommand,
  HoldLandingCommand,
  IntendLandingCommand,
  LandCommand,
  OpenLandingCommand,
  RecordChecksCommand,
  RecordDiffCommand,
  ReleaseLanderCommand,
  ReturnCommand,
  ReviewCommand,
  SubmitCommand,
  WithdrawCommand,
} from "../core/command.js";
import {
  type Hold,
  holdOf,
  isLeaseLive,
  type LanderLease,
  type Landing,
  type LandingPlace,
  landingOf,
  landingOrder,
  landingPlace,
  landsOn,
  leaseOf,
  newestLandings,
  patchOf,
  type Submission,
  submissionOf,
  submittedTasks,
} from "../core/landing.js";
import { accept, assert, refuse } from "../core/refusal.js";
import { isApproved, isReviewLive, type Review, reviewNeed, stageOf } from "../core/review.js";
import type { Task } from "../core/task.js";
import { noSuchTask } from "../core/transitions/holder.js";
import type { Reads, View } from "../core/view.js";
import { type CallContext, forCommand, forQuery } from "./handler.js";
import { endDeadLanders } from "./preparations.js";
import { iso, maybeIso, wireTask } from "./render.js";

const projectOf = (input: { project?: string | undefined }, { caller }: CallContext) =>
  input.project ?? caller.project;

/** Tasks of a landing name their project where it is not the caller's own. */
const named = <T extends { project?: string | undefined }>(tasks: readonly T[], project: string) =>
  tasks.map((task) => ({ ...task, project: task.project ?? project }));

type WireLanding = OutputOf<OperationNamed<"landings.open">>["landing"];
type WireLease = OutputOf<OperationNamed<"landings.lease">>["lease"];
type WireSubmission = OutputOf<OperationNamed<"tasks.submission">>["submission"];

const wireLanding = (landing: Landing): WireLanding => ({
  ...landing,
  openedAt: iso(landing.openedAt),
  intendedAt: maybeIso(landing.intendedAt),
  landedAt: maybeIso(landing.landedAt),
});

const wireHold = ({ notificationId: _, at, ...hold }: Hold) => ({ ...hold, at: iso(at) });

function wireLease(view: View, lease: LanderLease): WireLease {
  const { repository, target, epoch, holder, host, expiresAt, lastLanded, holds } = lease;
  const landing = lease.landing === null ? null : landingOf(view, lease.landing);
  return {
    repository,
    target,
    epoch,
    holder: holder ?? "",
    host,
    expiresAt: iso(expiresAt),
    landing: landing && wireLanding(landing),
    lastLanded: lastLanded && { ...lastLanded, at: iso(lastLanded.at) },
    holds: holds.map(wireHold),
  };
}

function wireReview(
  view: View,
  project: string,
  review: Review,
  now: number,
): WireSubmission["reviews"][number] {
  const {
    epoch,
    kind,
    sessionId,
    by,
    claimedAt,
    expiresAt,
    verdict,
    comment,
    verdictAt,
    own,
    inheritedFrom,
  } = review;
  return {
    epoch,
    kind,
    sessionId,
    by,
    claimedAt: iso(claimedAt),
    expiresAt: iso(expiresAt),
    live: isReviewLive(view, project, review, now),
    verdict,
    comment,
    verdictAt: maybeIso(verdictAt),
    own,
    inheritedFrom,
  };
}

function wireDiff(diff: Submission["diff"]): WireSubmission["diff"] {
  if (!diff) return null;
  const { patchId: _, onTarget: _isMerged, ...rest } = diff;
  return rest;
}

export function wireSubmission(view: View, task: Task, submission: Submission, now: number): WireSubmission {
  const project = view.project(task.project);
  assert(project, `the project of ${task.id} exists`);
  const isOpen = submission.end === null && task.state === "submitted";
  const hold = isOpen ? holdOf(view, task, project) : null;
  const isLanded = submission.end?.as === "landed" && task.landed !== null;
  const { reviewNotice: _, diff, reviews, ...rest } = submission;
  return {
    ...rest,
    submittedAt: iso(submission.submittedAt),
    stage: isOpen ? stageOf(view, task, project, now) : null,
    reviewNeeded: reviewNeed(project, submission),
    approved: isApproved(project, submission),
    reviews: reviews.map((review) => wireReview(view, task.project, review, now)),
    diff: wireDiff(diff),
    end: submission.end && { ...submission.end, at: iso(submission.end.at) },
    ...(isLanded ? { landed: { ...task.landed!, at: iso(task.landed!.at) } } : {}),
    ...(hold ? { heldReason: hold.message } : {}),
  };
}

function submittedIn(view: Reads, place: LandingPlace): Task[] {
  return view
    .projects({ readableOnly: true })
    .filter(({ settings }) => landsOn(settings.land, place))
    .flatMap(({ id }) => [...submittedTasks(view, id)]);
}

function wireQueued(view: View, task: Task, now: number) {
  const submission = submissionOf(view, task);
  assert(submission && task.submission, `task ${task.id} is submitted`);
  const { number, commit, branch, base, summary, submittedBy, epoch, submittedAt } = submission;
  const project = view.project(task.project)!;
  const live = submission.reviews.find((review) => isReviewLive(view, task.project, review, now));
  return {
    project: task.project,
    taskId: task.id,
    title: task.title,
    priority: task.priority,
    stage: stageOf(view, task, project, now),
    number,
    commit,
    branch,
    base,
    summary,
    submittedBy,
    epoch,
    submittedAt: iso(submittedAt),
    firstSubmittedAt: iso(task.submission.firstSubmittedAt),
    inspected: submission.diff !== null,
    reviewNeeded: reviewNeed(project, submission),
    approved: isApproved(project, submission),
    reviewing: live?.sessionId ?? null,
  };
}

const landingAnswer = (_view: View, landing: Landing) => ({
  success: true as const,
  landing: wireLanding(landing),
});

const taskAnswer = (view: View, _value: unknown, on: { project: string; taskId: string }, now: number) => ({
  success: true as const,
  task: wireTask(view, view.task(on.project, on.taskId)!, now),
});

function reviewAnswer(
  view: View,
  _value: unknown,
  { project, taskId, submission: number }: ReviewCommand,
  now: number,
) {
  const task = view.task(project, taskId)!;
  const submission = submissionOf(view, task, number);
  assert(submission, `submission ${number} of ${taskId} exists`);
  return {
    success: true as const,
    task: wireTask(view, task, now),
    submission: wireSubmission(view, task, submission, now),
  };
}

export const landingOperations = {
  "tasks.submit": forCommand("tasks.submit", {
    command: (input, context): SubmitCommand => ({
      type: "submit",
      ...input,
      project: projectOf(input, context),
    }),
    answer: (view, { number }, { project, taskId }, now) => {
      const task = view.task(project, taskId)!;
      const submission = submissionOf(view, task, number);
      assert(submission, `submission ${number} of ${taskId} exists`);
      return {
        success: true,
        task: wireTask(view, task, now),
        submission: wireSubmission(view, task, submission, now),
      };
    },
  }),
  "tasks.withdraw": forCommand<"tasks.withdraw", WithdrawCommand>("tasks.withdraw", {
    command: (input, context): WithdrawCommand => ({
      type: "withdraw",
      ...input,
      project: projectOf(input, context),
    }),
    answer: taskAnswer,
  }),
  "tasks.submission": forQuery("tasks.submission", {
    query: (view, { taskId, number, ...input }, context, now) => {
      const project = projectOf(input, context);
      const task = view.task(project, taskId);
      if (!task) return noSuchTask(view, project, taskId);
      const submission = submissionOf(view, task, number);
      if (submission) return accept({ submission: wireSubmission(view, task, submission, now) });
      const which = number === undefined ? "no submission" : `no submission ${number}`;
      return refuse("NOT_FOUND", `Task ${taskId} has ${which}.`, { details: { taskId } });
    },
  }),
  "tasks.patch": forQuery("tasks.patch", {
    query: (view, { taskId, ...input }, context) => {
      const project = projectOf(input, context);
      const task = view.task(project, taskId);
      if (!task) return noSuchTask(view, project, taskId);
      const patch = patchOf(view, task);
      if (patch) {
        const { submission, text, omitted } = patch;
        return accept({ taskId, submission, patch: text, omitted });
      }
      const hint = task.state === "submitted" ? "Run: dibs land --once" : `Run: dibs show ${taskId}`;
      return refuse("NOT_FOUND", `No lander has recorded a patch of task ${taskId}.`, {
        hint,
        details: { taskId },
      });
    },
  }),
  "tasks.approve": forCommand<"tasks.approve", ReviewCommand>("tasks.approve", {
    command: (input, context): ReviewCommand => ({
      type: "review",
      verdict: "approve",
      ...input,
      project: projectOf(input, context),
      token: context.caller.token,
    }),
    answer: reviewAnswer,
  }),
  "tasks.requestChanges": forCommand<"tasks.requestChanges", ReviewCommand>("tasks.requestChanges", {
    command: ({ reason, ...input }, context): ReviewCommand => ({
      type: "review",
      verdict: "request-changes",
      ...input,
      comment: reason,
      project: projectOf(input, context),
      token: context.caller.token,
    }),
    answer: reviewAnswer,
  }),
  "landings.list": forQuery("landings.list", {
    prepare: endDeadLanders,
    query: (view, { repository, target, offset, limit, stage, ...input }, context, now) => {
      const project = view.project(projectOf(input, context));
      const own = project && landingPlace(project);
      const place = repository && target ? { repository, target } : own;
      const submitted = place ? submittedIn(view, place).sort(landingOrder(now)) : [];
      const isMeant = (task: Task) =>
        stage === undefined || stageOf(view, task, view.project(task.project)!, now) === stage;
      const waiting = submitted.filter(isMeant);
      const lease = place ? leaseOf(view, place) : null;
      const isOfPlace = (landing: Landing) =>
        landing.repository === place?.repository && landing.target === place.target;
      return accept({
        queue: waiting.slice(offset, offset + limit).map((task) => wireQueued(view, task, now)),
        queueCount: waiting.length,
        landings: newestLandings(view, limit).filter(isOfPlace).map(wireLanding),
        lease: lease && isLeaseLive(lease, now) ? wireLease(view, lease) : null,
      });
    },
  }),
  "landings.lease": forCommand("landings.lease", {
    command: (input, context): AcquireLanderCommand => ({
      type: "acquire-lander",
      ...input,
      project: projectOf(input, context),
    }),
    answer: (view, lease) => ({ success: true, lease: wireLease(view, lease) }),
  }),
  "landings.release": forCommand("landings.release", {
    command: (input): ReleaseLanderCommand => ({ type: "release-lander", ...input }),
    answer: () => ({ success: true }),
  }),
  "landings.open": forCommand("landings.open", {
    command: ({ project: _, ...input }, context): OpenLandingCommand => ({
      type: "open-landing",
      ...input,
      tasks: named(input.tasks, projectOf({ project: _ }, context)),
    }),
    answer: landingAnswer,
  }),
  "landings.intent": forCommand("landings.intent", {
    command: ({ project: _, ...input }, context): IntendLandingCommand => ({
      type: "intend-landing",
      ...input,
      tasks: named(input.tasks, projectOf({ project: _ }, context)),
    }),
    answer: landingAnswer,
  }),
  "landings.checks": forCommand("landings.checks", {
    command: ({ project: _, ...input }, context): RecordChecksCommand => ({
      type: "record-checks",
      ...input,
      tasks: input.tasks && named(input.tasks, projectOf({ project: _ }, context)),
    }),
    answer: landingAnswer,
  }),
  "landings.diff": forCommand<"landings.diff", RecordDiffCommand>("landings.diff", {
    command: (input, context): RecordDiffCommand => ({
      type: "record-diff",
      ...input,
      project: projectOf(input, context),
    }),
    answer: (_view, { approved }) => ({ success: true, approved }),
  }),
  "landings.landed": forCommand("landings.landed", {
    command: (input): LandCommand => ({ type: "land", ...input }),
    answer: (_view, { landing, ...unblocked }) => ({
      success: true,
      landing: wireLanding(landing),
      ...unblocked,
    }),
  }),
  "landings.dropped": forCommand("landings.dropped", {
    command: (input): DropLandingCommand => ({ type: "drop-landing", ...input }),
    answer: () => ({ success: true }),
  }),
  "landings.returned": forCommand<"landings.returned", ReturnCommand>("landings.returned", {
    command: (input, context): ReturnCommand => ({
      type: "return",
      ...input,
      project: projectOf(input, context),
    }),
    answer: taskAnswer,
  }),
  "landings.held": forCommand("landings.held", {
    command: (input, context): HoldLandingCommand => {
      const project = projectOf(input, context);
      const holds = input.holds.map((hold) => ({ ...hold, tasks: named(hold.tasks, project) }));
      return { type: "hold-landing", ...input, project, holds };
    },
    answer: (_view, holds) => ({ success: true, holds: holds.map(wireHold) }),
  }),
};
