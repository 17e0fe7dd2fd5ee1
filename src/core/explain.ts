// Why is this not running? `blockers` is the claim predicate: a task is claimable by a session exactly when it is empty.
// Claiming asks it, and explain says its answer in words with the command that would help.

import { Availability, type Obstacle, type ObstacleCode } from "./availability.js";
import { keyOf } from "./changes.js";
import { type Claim, dueAt, isOver } from "./claim.js";
import { reachable, waitsFor } from "./dependency.js";
import { Draft } from "./draft.js";
import { holdOf, isLeaseLive, landingPlace, leaseOf, placeInLine, submissionOf } from "./landing.js";
import { limits } from "./limits.js";
import type { Project } from "./project.js";
import { type Misfit, misfits, usesOfClaim, type Who, wantsOf } from "./ready.js";
import {
  globOf,
  hiddenId,
  inUse,
  isHidden,
  openHolds,
  ownUses,
  resourceOf,
  sumOfUses,
  type Uses,
} from "./resource.js";
import { isForAgents, isReviewLive, waitsForReview } from "./review.js";
import { isLive, isSilent } from "./session.js";
import { isOpenChild, isTerminal, stateOf, type Task } from "./task.js";
import type { Reads } from "./view.js";

export const reasonCodes = [
  "TERMINAL",
  "IS_GROUP",
  "CLAIMED",
  "AWAITING_RESPONSE",
  "WAITING_FOR_REVIEW",
  "WAITING_TO_LAND",
  "LANDING_HELD",
  "NO_LANDER",
  "WAITING_ON_DEPENDENCIES",
  "WAITING_ON_CHILDREN",
  "SCHEDULED",
  "PROJECT_PAUSED",
  "ASSIGNED_TO_OTHER",
  "WRONG_AGENT_TYPE",
  "MISSING_CAPABILITY",
  "ON_OTHER_HOST",
  "RESOURCE_TOO_SMALL",
  "RESOURCE_HELD",
  "RESOURCE_BUSY",
  "AGENT_HELD_BACK",
  "NO_LIVE_SESSION_FITS",
  "OVERLAPS",
] as const;
export type ReasonCode = (typeof reasonCodes)[number];
export type Blocker = Exclude<
  ReasonCode,
  | "AGENT_HELD_BACK"
  | "NO_LIVE_SESSION_FITS"
  | "OVERLAPS"
  | "WAITING_FOR_REVIEW"
  | "LANDING_HELD"
  | "NO_LANDER"
>;

export interface Reason {
  code: ReasonCode;
  message: string;
  taskIds?: string[];
  count?: number;
  until?: number | null;
  /** Who holds it. */
  sessionId?: string;
  holderAlive?: boolean;
  /** Which one it lacks. */
  resource?: string;
  /** What it waits for, directly or not, and only a person can bring back. */
  ended?: Ended;
  fix?: string;
}

interface Ended {
  taskId: string;
  state: "failed" | "cancelled";
}

export interface Situation {
  claim: Claim | undefined;
  project: Project;
  /** Without a session, what depends on one is left out. */
  who: Who | null;
  resources: Availability;
  now: number;
}

/** The claim predicate. */
export function blockers(task: Task, { claim, project, who, resources, now }: Situation): Blocker[] {
  const state = stateOf(task, claim);
  const found: Blocker[] = [];
  if (isTerminal(state)) return ["TERMINAL"];
  if (state === "submitted")
    return project.paused ? ["WAITING_TO_LAND", "PROJECT_PAUSED"] : ["WAITING_TO_LAND"];
  if (task.type === "group") found.push("IS_GROUP");
  if (state === "awaiting_response") found.push("AWAITING_RESPONSE");
  else if (claim) found.push("CLAIMED");
  if (task.pendingDeps > 0) found.push("WAITING_ON_DEPENDENCIES");
  if (task.openChildren > 0) found.push("WAITING_ON_CHILDREN");
  if (task.notBefore !== null && task.notBefore > now && !claim) found.push("SCHEDULED");
  if (project.paused) found.push("PROJECT_PAUSED");
  if (who) found.push(...misfits(wantsOf(task), who, project.settings));
  if (!claim && task.type === "task") {
    for (const { code } of obstaclesOf(task, project, who, resources))
      if (!found.includes(code)) found.push(code);
  }
  return found;
}

function obstaclesOf(task: Task, project: Project, who: Who | null, resources: Availability): Obstacle[] {
  const uses = sumOfUses(ownUses(task), usesOfClaim(who, project.settings));
  return resources.obstacles(uses, keyOf(task.project, task.id));
}

/** The claim predicate in words. */
export function explainReasons(draft: Draft, task: Task, who: Who | null): Reason[] {
  const open = draft.claim(task.project, task.id);
  // A lease that is over holds nothing: the next claim ends it first.
  const claim = open && isOver(open, draft.now) && open.state !== "awaiting_response" ? undefined : open;
  const project = draft.project(task.project);
  const resources = new Availability(draft, draft.now);
  return blockers(task, { claim, project, who, resources, now: draft.now }).map((code) =>
    describe[code](draft, task, claim, who),
  );
}

/** The same for a query, which can also see what is ahead of a submitted task. */
export function explainTask(view: Reads, task: Task, who: Who | null, now: number): Reason[] {
  const reasons = explainReasons(new Draft(view, { now, actor: "system" }), task, who).map((reason) =>
    reason.code === "RESOURCE_BUSY" ? withHolders(view, task, reason) : reason,
  );
  if (task.submission?.landing) return reasons;
  return reasons.map((reason) =>
    reason.code === "WAITING_TO_LAND" ? withPlace(view, task, reason, now) : reason,
  );
}

const holdersShownMax = 3;

/** A query can also see who has the units, and which open question they wait for. */
function withHolders(view: Reads, { project }: Task, reason: Reason): Reason {
  const { resource } = reason;
  // Reserved units are free: the task that they are for is named already.
  if (resource === undefined || (reason.until ?? null) !== null) return reason;
  const ids = [resource, hiddenId(project, resource)];
  const claims = view
    .openClaims({ project: null, limit: limits.openClaimsMax, readableOnly: true })
    .filter(({ uses }) => uses !== null && ids.some((id) => Object.hasOwn(uses, id)));
  if (claims.length === 0) return withSubmitted(view, project, reason, ids);
  const nameOf = (held: { project: string; taskId: string }) =>
    held.project === project ? held.taskId : `${held.taskId} of project ${held.project}`;
  const asking = claims.find(({ state }) => state === "awaiting_response");
  const holders = claims.slice(0, holdersShownMax).map((held) => `${held.sessionId} (${nameOf(held)})`);
  const more = claims.length > holdersShownMax ? ` and ${claims.length - holdersShownMax} more` : "";
  const question = asking ? ` Task ${nameOf(asking)} keeps its units while it waits for an answer.` : "";
  const [first] = asking ? [asking] : claims;
  const where = first!.project === project ? "" : ` --project ${first!.project}`;
  const isExclusive = !claims.some(({ uses }) => Object.hasOwn(uses!, resource));
  const taskIds = claims.filter((held) => held.project === project).map(({ taskId }) => taskId);
  return {
    ...reason,
    message: `${reason.message.replace(/\.$/, "")}: held by ${holders.join(", ")}${more}.${question}`,
    ...(taskIds.length > 0 ? { taskIds: taskIds.slice(0, limits.transitiveMax) } : {}),
    count: claims.length,
    ...(asking || isExclusive ? { fix: `dibs show ${first!.taskId}${where}` } : {}),
  };
}

/** An exclusive path is kept by a task that was submitted, until its change has landed or come back. */
function withSubmitted(view: Reads, project: string, reason: Reason, ids: readonly string[]): Reason {
  const submitted = { project, states: ["submitted" as const], afterOrdinal: 0, limit: limits.openClaimsMax };
  const keeper = view
    .tasks(submitted)
    .find(({ submission }) => submission?.alone?.some((id) => ids.includes(id)));
  if (!keeper) return reason;
  return {
    ...reason,
    message: `${reason.message.replace(/\.$/, "")}: task ${keeper.id}, until its change has landed or come back.`,
    taskIds: [keeper.id],
    fix: `dibs show ${keeper.id}`,
  };
}

const aheadMax = 3;

function withPlace(view: Reads, task: Task, reason: Reason, now: number): Reason {
  const { place, ahead, isPartial } = placeInLine(view, task, now);
  const count = place - 1;
  const more = count > aheadMax ? ` and ${count - aheadMax} more` : "";
  const named = count > 0 ? `; ahead: ${ahead.slice(0, aheadMax).join(", ")}${more}` : "";
  const line = `${ordinal(place)} in line${isPartial ? " or later" : ""}`;
  return {
    ...reason,
    message: `${reason.message.replace(/\.$/, "")}: ${line}${named}.`,
    taskIds: ahead.slice(0, aheadMax),
    count,
  };
}

function ordinal(number: number): string {
  const isTeen = number % 100 > 10 && number % 100 < 14;
  return `${number}${(isTeen ? undefined : ["th", "st", "nd", "rd"][number % 10]) ?? "th"}`;
}

/** The default, ready for a shell; else a word that `dibs answer` does not take for an answer. */
function answerTo(question: Task["question"]): string {
  const own = question?.default;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a line cannot show is not to be pasted.
  const isPlain = own !== undefined && own.length <= 200 && !/[\u0000-\u001f\u007f]/.test(own);
  return isPlain ? `-- '${own.replaceAll("'", "'\\''")}'` : '"<your answer>"';
}

function optionsIn(question: Task["question"]): string {
  const options = question?.options ?? [];
  return options.length === 0 ? "" : ` (${options.join(" | ").slice(0, 200)})`;
}

type Describe = (draft: Draft, task: Task, claim: Claim | undefined, who: Who | null) => Reason;

function marked(draft: Draft, project: string, id: string): string {
  const task = draft.task(project, id);
  const state = task && stateOf(task, draft.claim(project, id));
  return state === "failed" || state === "cancelled" ? `${id} (${state})` : id;
}

function few(ids: string[]): string {
  return ids.length > 10 ? `${ids.slice(0, 10).join(", ")} and ${ids.length - 10} more` : ids.join(", ");
}

/** What a person can change comes first; a task that runs needs nothing but time. */
const causeRanks = { ended: 0, asking: 1, lost: 2, scheduled: 3, ready: 4, group: 5, running: 6 };

interface Cause {
  rank: number;
  says: string;
  fix: string;
  ended?: Ended;
}

/** Of tasks that wait for each other, the one where something can be done, and what. */
function rootCause(draft: Draft, project: string, ids: readonly string[]): Cause | null {
  let found: Cause | null = null;
  for (const id of ids) {
    const task = draft.task(project, id);
    const cause = task ? causeOf(draft, task) : null;
    if (cause && (!found || cause.rank < found.rank)) found = cause;
  }
  return found;
}

/** Null for a task that waits for others itself. */
function causeOf(draft: Draft, task: Task): Cause | null {
  const { id } = task;
  if (task.state === "failed" || task.state === "cancelled") {
    const { state } = task;
    const says = state === "failed" ? `${id} failed` : `${id} was cancelled`;
    return { rank: causeRanks.ended, says, fix: `dibs retry ${id}`, ended: { taskId: id, state } };
  }
  if (task.state === "completed" || task.pendingDeps > 0 || task.openChildren > 0) return null;
  const reason = explainReasons(draft, task, null).find(({ code }) => code !== "PROJECT_PAUSED");
  switch (reason?.code) {
    case "AWAITING_RESPONSE":
      return { rank: causeRanks.asking, says: `${id} is waiting for an answer`, fix: reason.fix! };
    case "WAITING_FOR_REVIEW":
      return { rank: causeRanks.asking, says: `${id} waits for a review`, fix: reason.fix! };
    case "WAITING_TO_LAND":
    case "LANDING_HELD":
      return { rank: causeRanks.running, says: `${id} is submitted and has not landed`, fix: reason.fix! };
    case "NO_LANDER":
      return { rank: causeRanks.lost, says: `${id} is submitted and no lander runs`, fix: reason.fix! };
    case "RESOURCE_TOO_SMALL":
    case "RESOURCE_HELD":
    case "RESOURCE_BUSY": {
      const { resource } = reason;
      const says = resource === undefined ? `${id} uses too many resources` : `${id} waits for ${resource}`;
      return { rank: causeRanks.lost, says, fix: reason.fix! };
    }
    case "SCHEDULED":
      return { rank: causeRanks.scheduled, says: `${id} is scheduled for later`, fix: reason.fix! };
    case "IS_GROUP":
      return { rank: causeRanks.group, says: `group ${id} has no subtasks`, fix: reason.fix! };
    case "CLAIMED":
      return reason.holderAlive
        ? { rank: causeRanks.running, says: `${id} is claimed by a live session`, fix: `dibs show ${id}` }
        : { rank: causeRanks.lost, says: `${id} is claimed by a session that ended`, fix: reason.fix! };
    default:
      return { rank: causeRanks.ready, says: `${id} is ready and not claimed`, fix: `dibs claim ${id}` };
  }
}

const endedIn = (cause: Cause | null) => (cause?.ended ? { ended: cause.ended } : {});

/** Where the task waits for one other only, the list says it all. */
function causeText(cause: Cause | null, count: number): string {
  return cause && count > 1 ? ` Root cause: ${cause.says}.` : "";
}

const misfit =
  (code: Misfit, say: (task: Task, who: Who | null) => string, fix: (task: Task) => string): Describe =>
  (_draft, task, _claim, who) => ({ code, message: say(task, who), fix: fix(task) });

const holdWords = { manual: "by hand", quota: "for its quota", budget: "for its budget" };

/** Of several resources of which one lacks, the first. */
const lack =
  (
    code: ObstacleCode,
    say: (
      draft: Draft,
      task: Task,
      obstacle: Obstacle,
      uses: Uses,
    ) => Pick<Reason, "message"> & { fix: string },
  ): Describe =>
  (draft, task, _claim, who) => {
    const project = draft.project(task.project);
    const all = obstaclesOf(task, project, who, new Availability(draft, draft.now));
    const obstacle = all.find((each) => each.code === code) ?? { code, id: "", until: null };
    const uses = sumOfUses(ownUses(task), usesOfClaim(who, project.settings));
    const { id, until } = obstacle;
    return {
      code,
      until,
      ...(id === "" ? {} : { resource: isHidden(id) ? globOf(id) : id }),
      ...say(draft, task, obstacle, uses),
    };
  };

/** A submission that waits for a verdict. */
function reviewReason(draft: Draft, task: Task, project: Project): Reason | null {
  const submission = task.submission?.landing ? null : submissionOf(draft, task);
  if (!submission || !waitsForReview(draft, project, submission, draft.now)) return null;
  const { number } = submission;
  const reviewer = submission.reviews.find((each) =>
    isReviewLive(draft, project.id, each, draft.now),
  )?.sessionId;
  const code = "WAITING_FOR_REVIEW";
  if (reviewer) {
    const message = `${reviewer} reviews its submission ${number}.`;
    return { code, message, sessionId: reviewer, holderAlive: true, fix: `dibs review ${task.id}` };
  }
  const { reviewPaths = [] } = submission.diff ?? {};
  const why = reviewPaths.length > 0 ? ` because it changes ${few(reviewPaths)}` : "";
  const isForPeople = !isForAgents(draft, project, submission, draft.now);
  const whose = isForPeople ? "a person's review" : "a review";
  return {
    code,
    message: `Its submission ${number} waits for ${whose}${why}.`,
    fix: isForPeople ? `dibs review ${task.id}` : "dibs work --review -- <command>",
  };
}

const endedAs = { completed: "is completed", failed: "failed", cancelled: "was cancelled" };

const describe: Record<Blocker, Describe> = {
  TERMINAL: (_draft, task) => ({
    code: "TERMINAL",
    message: `It ${endedAs[task.state as keyof typeof endedAs]}${task.error ? `: ${task.error.split("\n", 1)[0]?.slice(0, 200)}` : ""}.`,
    ...(task.state === "completed" ? {} : { fix: `dibs retry ${task.id}` }),
  }),
  IS_GROUP: (_draft, task) => ({
    code: "IS_GROUP",
    message: "It is a group: it completes when its subtasks do.",
    fix: `dibs list --parent ${task.id}`,
  }),
  CLAIMED: (draft, task, claim) => {
    const session = draft.session(task.project, claim?.sessionId ?? "");
    const { orphanThresholdMs } = draft.project(task.project).settings.claim;
    const alive = isLive(session) && !isSilent(session, orphanThresholdMs, draft.now);
    return {
      code: "CLAIMED",
      message: `${claim?.sessionId} holds it, ${alive ? "and is alive" : "but that session has ended"}.`,
      until: claim ? dueAt(claim) : null,
      ...(claim && { sessionId: claim.sessionId }),
      holderAlive: alive,
      // Somebody is at work: taking it away would not help.
      ...(alive ? {} : { fix: `dibs release ${task.id} --force` }),
    };
  },
  AWAITING_RESPONSE: (_draft, { id, question }) => ({
    code: "AWAITING_RESPONSE",
    message: `It waits for an answer: ${question?.text.slice(0, 200) ?? ""}${optionsIn(question)}`,
    fix: `dibs answer ${id} ${answerTo(question)}`,
  }),
  WAITING_TO_LAND: (draft, task) => {
    const project = draft.project(task.project);
    const hold = holdOf(draft, task, project);
    if (hold) {
      const fix = hold.fix ?? `dibs show ${task.id}`;
      const place = landingPlace(project);
      // The hold stays as it was found until a lander looks again.
      const isLooking = isLeaseLive(place && leaseOf(draft, place), draft.now);
      const next = isLooking ? "" : " After that, run: dibs land";
      return { code: "LANDING_HELD", message: `Its landing is held: ${hold.message}${next}`, fix };
    }
    const review = reviewReason(draft, task, project);
    if (review) return review;
    const place = landingPlace(project);
    if (!isLeaseLive(place && leaseOf(draft, place), draft.now)) {
      const message = `It is submitted, and no lander runs for ${place?.target ?? "this project"}.`;
      return { code: "NO_LANDER", message, fix: "dibs land" };
    }
    const message = task.submission?.landing
      ? `It is being landed on ${place?.target} by ${task.submission.landing}.`
      : `It waits to land on ${place?.target}.`;
    return { code: "WAITING_TO_LAND", message, fix: `dibs show ${task.id}` };
  },
  WAITING_ON_DEPENDENCIES: (draft, task) => {
    const { project } = task;
    const direct = task.dependsOn.filter((id) => draft.task(project, id)?.state !== "completed");
    const bounds = { max: limits.transitiveMax, walkMax: limits.graphWalkMax };
    const chain = reachable(
      [task.id],
      (id) => (id === task.id ? direct : waitsFor(draft.view, project, id)),
      bounds,
    );
    const cause = rootCause(draft, project, chain.ids);
    return {
      code: "WAITING_ON_DEPENDENCIES",
      message: `It waits for ${few(chain.ids.map((id) => marked(draft, project, id)))}.${causeText(cause, chain.count)}`,
      taskIds: chain.ids,
      count: chain.count,
      ...endedIn(cause),
      fix: cause?.fix ?? `dibs graph ${task.id}`,
    };
  },
  WAITING_ON_CHILDREN: (draft, task) => {
    const { project } = task;
    const ids = draft.view.children(project, task.id).filter((id) => {
      const child = draft.task(project, id);
      return child && isOpenChild(stateOf(child, draft.claim(project, id)));
    });
    const bounds = { max: limits.transitiveMax, walkMax: limits.graphWalkMax };
    const below = reachable(ids, (id) => waitsFor(draft.view, project, id), bounds);
    const cause = rootCause(draft, project, [...ids, ...below.ids]);
    return {
      code: "WAITING_ON_CHILDREN",
      message: `It waits for its subtasks ${few(ids.map((id) => marked(draft, project, id)))}.${causeText(cause, ids.length + below.count)}`,
      taskIds: ids.slice(0, limits.transitiveMax),
      count: ids.length,
      ...endedIn(cause),
      fix: cause && cause.rank < causeRanks.ready ? cause.fix : `dibs list --parent ${task.id}`,
    };
  },
  SCHEDULED: (_draft, task) => ({
    code: "SCHEDULED",
    message: task.retryCount > 0 ? "It waits before its next attempt." : "It is scheduled for later.",
    until: task.notBefore,
    fix: `dibs edit ${task.id} --not-before now`,
  }),
  PROJECT_PAUSED: (_draft, task) => ({
    code: "PROJECT_PAUSED",
    message: `Project ${task.project} is paused.`,
    fix: `dibs project resume ${task.project}`,
  }),
  ASSIGNED_TO_OTHER: misfit(
    "ASSIGNED_TO_OTHER",
    (task) => `It is assigned to ${task.assignee}.`,
    (task) => `dibs edit ${task.id} --assignee ""`,
  ),
  WRONG_AGENT_TYPE: misfit(
    "WRONG_AGENT_TYPE",
    (task, who) => `It is for agents of type ${task.agentType}, not ${who?.agentType ?? "an unnamed type"}.`,
    (task) => `dibs edit ${task.id} --agent-type ""`,
  ),
  MISSING_CAPABILITY: misfit(
    "MISSING_CAPABILITY",
    (task, who) => `It needs ${task.requires.filter((each) => !who?.capabilities.has(each)).join(", ")}.`,
    (task) => `dibs edit ${task.id} --requires ""`,
  ),
  RESOURCE_TOO_SMALL: lack("RESOURCE_TOO_SMALL", (draft, task, { id }, uses) => {
    if (id === "") {
      const message = `A claim would use more than ${limits.usesMax} resources.`;
      return { message, fix: `dibs edit ${task.id} --uses ""` };
    }
    const capacity = resourceOf(draft, id)?.capacity ?? 1;
    const units = uses?.[id] ?? 0;
    const message = `It needs ${units} units of resource ${id}, which has ${capacity}.`;
    return { message, fix: `dibs resource set ${id} --capacity ${units}` };
  }),
  RESOURCE_HELD: lack("RESOURCE_HELD", (draft, _task, { id }) => {
    const resource = resourceOf(draft, id);
    const holds = resource ? openHolds(resource, draft.now) : [];
    const why = holds.find(({ reason }) => reason !== null)?.reason;
    if (holds.length === 0) {
      const message = `The hold of resource ${id} has just ended: one claim goes first.`;
      return { message, fix: `dibs resource resume ${id}` };
    }
    const sources = holds.map(({ source }) => holdWords[source]).join(" and ");
    return {
      message: `Resource ${id} is held ${sources}${why ? `: ${why}` : "."}`,
      fix: `dibs resource resume ${id}`,
    };
  }),
  RESOURCE_BUSY: lack("RESOURCE_BUSY", (draft, task, { id, reservedFor }, uses) => {
    if (isHidden(id)) {
      const message = `Another task has ${globOf(id)} alone.`;
      return { message, fix: `dibs edit ${task.id} --files ""` };
    }
    if (reservedFor !== undefined) {
      const { project, taskId } = reservedFor;
      const isOwn = project === task.project;
      const name = isOwn ? taskId : `${taskId} of project ${project}`;
      const message = `Units of resource ${id} are reserved for task ${name}, which has waited longer.`;
      return { message, fix: `dibs show ${taskId}${isOwn ? "" : ` --project ${project}`}` };
    }
    const capacity = resourceOf(draft, id)?.capacity ?? 0;
    const free = Math.max(0, capacity - inUse(draft, id).units);
    const message = `It needs ${uses?.[id] ?? 0} of the ${capacity} units of resource ${id}; ${free} ${free === 1 ? "is" : "are"} free.`;
    return { message, fix: "dibs resources" };
  }),
  ON_OTHER_HOST: misfit(
    "ON_OTHER_HOST",
    () => "Its change was handed in on another machine, and land.remote is not set.",
    () => "dibs project set land.remote origin",
  ),
};
