import type {
  AskCommand,
  CancelCommand,
  ClaimCommand,
  ClaimNextCommand,
  ClaimReviewCommand,
  CompleteCommand,
  CreateCommand,
  FailCommand,
  HeartbeatCommand,
  LoadPlanCommand,
  ProgressCommand,
  ReleaseCommand,
  ReserveIdCommand,
  RespondCommand,
  RetryCommand,
  StartCommand,
  TaskPatch,
  UpdateCommand,
} from "../core/command.js";
import { submissionOf } from "../core/landing.js";
import { limits } from "../core/limits.js";
import { assert } from "../core/refusal.js";
import { isAtLeast } from "../core/role.js";
import { isTerminal, type Task } from "../core/task.js";
import type { NothingClaimed } from "../core/transitions/claim.js";
import type { NoReview, ReviewClaimed } from "../core/transitions/review.js";
import type { View } from "../core/view.js";
import { claimNamed, claimNext } from "./claim-wait.js";
import { type CallContext, forCommand } from "./handler.js";
import { wireSubmission } from "./landing-operations.js";
import { recoverTask } from "./preparations.js";
import { iso, wireBreaker, wireClaim, wireReviewClaim, wireTask } from "./render.js";
import { claimNextReview } from "./review-claims.js";

function project(input: { project?: string | undefined }, { caller }: CallContext): string {
  return input.project ?? caller.project;
}

function spread({ environment }: CallContext): number {
  return environment.random() * 2 - 1;
}

function shown(view: View, on: { project: string; taskId: string }, now: number) {
  const task = view.task(on.project, on.taskId);
  assert(task, `task ${on.taskId} was just changed`);
  return wireTask(view, task, now);
}

const taskAnswer = (
  view: View,
  _value: unknown,
  command: { project: string; taskId: string },
  now: number,
) => ({
  success: true as const,
  task: shown(view, command, now),
});

function nothingClaimed({ scheduledAt, breaker }: NothingClaimed | (NoReview & Partial<NothingClaimed>)) {
  return {
    success: true as const,
    claim: null,
    task: null,
    resumed: false as const,
    ...(scheduledAt === undefined ? {} : { scheduledAt: iso(scheduledAt) }),
    ...(breaker ? { breaker: wireBreaker(breaker) } : {}),
  };
}

/** What waits for one of these, and can be edited or unblocked. */
function openDependents(view: View, project: string, ids: readonly string[]): string[] {
  const dependents = new Set(ids.flatMap((id) => view.dependents(project, id)));
  return [...dependents].filter((id) => {
    const task = view.task(project, id);
    return task && !isTerminal(task.state);
  });
}

function registration(
  input: { register?: boolean | undefined; agentType?: string | undefined },
  { caller }: CallContext,
) {
  if (!input.register) return undefined;
  return {
    ...(input.agentType ? { agentType: input.agentType } : {}),
    ...(caller.token === undefined ? {} : { owner: caller.token }),
    ...caller.process,
  };
}

/** The lease of the review that a session holds on a submitted task. */
function heldReview(view: View, task: Task, sessionId: string, now: number) {
  const review = submissionOf(view, task)?.reviews.findLast((each) => each.sessionId === sessionId);
  assert(review, `${sessionId} reviews ${task.id}`);
  return wireReviewClaim(view, { project: task.project, taskId: task.id }, { ...review, sessionId }, now);
}

const isReview = (value: object): value is ReviewClaimed => "submission" in value;

function reviewClaimed(
  view: View,
  project: string,
  { taskId, submission: number, resumed, epoch }: ReviewClaimed,
  now: number,
) {
  const task = view.task(project, taskId);
  const submission = task && submissionOf(view, task, number);
  const review = submission?.reviews.find((each) => each.epoch === epoch);
  assert(task && submission && review?.sessionId, `a review of ${taskId} was just claimed`);
  const { sessionId } = review;
  return {
    success: true as const,
    claim: wireReviewClaim(view, { project, taskId }, { ...review, sessionId }, now),
    task: wireTask(view, task, now),
    resumed,
    review: wireSubmission(view, task, submission, now),
  };
}

export const taskCommands = {
  "tasks.create": forCommand("tasks.create", {
    command: ({ project: _, sessionId, ...task }, context): CreateCommand => ({
      type: "create",
      project: project({ project: _ }, context),
      sessionId,
      tasks: [task],
      correlationId: context.environment.newCorrelationId(),
    }),
    answer: (view, { ids }, command, now) => ({
      success: true,
      task: shown(view, { project: command.project, taskId: ids[0]! }, now),
    }),
  }),
  "tasks.batch": forCommand<"tasks.batch", CreateCommand | LoadPlanCommand>("tasks.batch", {
    command: ({ plan, prune, dryRun, tasks, ...on }, context) => {
      const origin = {
        project: project(on, context),
        correlationId: context.environment.newCorrelationId(),
      };
      if (plan === undefined) return { type: "create", ...origin, tasks };
      const mayEdit = isAtLeast(context.caller.role, "leader");
      return { type: "load-plan", ...origin, plan, tasks, prune, dryRun, mayEdit };
    },
    answer: (view, value, command, now) => {
      const { project, tasks } = command;
      const idAt = new Map(value.ids.flatMap((id, index) => (id === null ? [] : [[index, id]])));
      const isThere = (taskId: string) => view.task(project, taskId) !== undefined;
      return {
        success: true,
        tasks: [...idAt.values()].filter(isThere).map((taskId) => shown(view, { project, taskId }, now)),
        ids: Object.fromEntries(
          tasks.flatMap(({ key }, index) =>
            key === undefined || !idAt.has(index) ? [] : [[key, idAt.get(index)!]],
          ),
        ),
        ...("plan" in value && { plan: value.plan }),
      };
    },
  }),
  "tasks.update": forCommand<"tasks.update", UpdateCommand>("tasks.update", {
    command: ({ project: of, taskId, ...patch }, context): UpdateCommand => ({
      type: "update",
      project: project({ project: of }, context),
      taskId,
      patch: patch as TaskPatch,
    }),
    answer: taskAnswer,
  }),
  "tasks.claim": forCommand("tasks.claim", {
    run: claimNamed,
    command: (input, context): ClaimCommand => ({
      type: "claim",
      ...input,
      project: project(input, context),
      register: registration(input, context),
    }),
    answer: (view, _value, command, now) => {
      const task = shown(view, command, now);
      assert(task.claim, `task ${command.taskId} was just claimed`);
      return { success: true, claim: task.claim, task };
    },
  }),
  "tasks.claimNext": forCommand<"tasks.claimNext", ClaimNextCommand | ClaimReviewCommand>("tasks.claimNext", {
    // A claim that got nothing has changed nothing: a repeated call can get a task.
    isRemembered: ({ claim }) => claim !== null,
    run: (executor, call) =>
      call.input.kind === "review" ? claimNextReview(executor, call) : claimNext(executor, call),
    command: (input, context) => {
      const by = { project: project(input, context), register: registration(input, context) };
      if (input.kind === "review")
        return { type: "claim-review", ...input, ...by, candidates: context.candidates ?? [] };
      return { type: "claim-next", ...input, ...by };
    },
    answer: (view, value, command, now) => {
      if (value.taskId === null) return nothingClaimed(value);
      if (isReview(value)) return reviewClaimed(view, command.project, value, now);
      const task = shown(view, { project: command.project, taskId: value.taskId }, now);
      assert(task.claim, `task ${value.taskId} was just claimed`);
      return { success: true, claim: task.claim, task, resumed: value.resumed };
    },
  }),
  "tasks.start": forCommand<"tasks.start", StartCommand>("tasks.start", {
    command: (input, context): StartCommand => ({
      type: "start",
      ...input,
      project: project(input, context),
    }),
    answer: taskAnswer,
  }),
  "tasks.heartbeat": forCommand("tasks.heartbeat", {
    command: (input, context): HeartbeatCommand => ({
      type: "heartbeat",
      ...input,
      project: project(input, context),
    }),
    answer: (view, _value, command, now) => {
      const claim = view.claim(command.project, command.taskId);
      const task = view.task(command.project, command.taskId);
      assert(task, `task ${command.taskId} was just renewed`);
      const response = task.responsePending ? task.response : null;
      const renewed = claim ? wireClaim(view, claim, now) : heldReview(view, task, command.sessionId, now);
      return { success: true, claim: renewed, response };
    },
  }),
  "tasks.progress": forCommand<"tasks.progress", ProgressCommand>("tasks.progress", {
    command: (input, context): ProgressCommand => ({
      type: "progress",
      ...input,
      project: project(input, context),
    }),
    answer: taskAnswer,
  }),
  "tasks.ask": forCommand<"tasks.ask", AskCommand>("tasks.ask", {
    command: (input, context): AskCommand => ({ type: "ask", ...input, project: project(input, context) }),
    answer: taskAnswer,
  }),
  "tasks.respond": forCommand<"tasks.respond", RespondCommand>("tasks.respond", {
    prepare: recoverTask,
    command: (input, context): RespondCommand => ({
      type: "respond",
      ...input,
      project: project(input, context),
    }),
    answer: taskAnswer,
  }),
  "tasks.complete": forCommand("tasks.complete", {
    command: (input, context): CompleteCommand => ({
      type: "complete",
      ...input,
      project: project(input, context),
    }),
    answer: (view, value, command, now) => ({ success: true, task: shown(view, command, now), ...value }),
  }),
  "tasks.fail": forCommand("tasks.fail", {
    command: (input, context): FailCommand => ({
      type: "fail",
      ...input,
      project: project(input, context),
      spread: spread(context),
    }),
    answer: (view, { willRetry, retryAt }, command, now) => ({
      success: true,
      task: shown(view, command, now),
      willRetry,
      retryAt: retryAt === null ? null : iso(retryAt),
    }),
  }),
  "tasks.release": forCommand("tasks.release", {
    command: (input, context): ReleaseCommand => ({
      type: "release",
      ...input,
      project: project(input, context),
      spread: spread(context),
    }),
    answer: (view, { reason, claimDurationMs }, command, now) => ({
      success: true,
      released: { taskId: command.taskId, reason, claimDuration: claimDurationMs },
      task: shown(view, command, now),
    }),
  }),
  "tasks.cancel": forCommand("tasks.cancel", {
    command: (input, context): CancelCommand => ({
      type: "cancel",
      ...input,
      project: project(input, context),
    }),
    answer: (view, { cancelled }, command, now) => {
      const blocked = openDependents(view, command.project, cancelled);
      return {
        success: true,
        task: shown(view, command, now),
        cancelled: cancelled.slice(0, limits.transitiveMax),
        blocked: blocked.slice(0, limits.unblockedMax),
        blockedCount: blocked.length,
      };
    },
  }),
  "tasks.retry": forCommand<"tasks.retry", RetryCommand>("tasks.retry", {
    command: (input, context): RetryCommand => ({
      type: "retry",
      ...input,
      project: project(input, context),
    }),
    answer: taskAnswer,
  }),
  "ids.next": forCommand("ids.next", {
    command: (input, context): ReserveIdCommand => ({
      type: "reserve-id",
      ...input,
      project: project(input, context),
    }),
    answer: (_view, { id }) => ({ id }),
  }),
};
