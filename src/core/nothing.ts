// Why a claim gets nothing: how many open tasks each reason keeps back, and the command that helps most. The sentence has no text of
// users in it: agents read it as ours.

import { Availability } from "./availability.js";
import type { Project } from "./project.js";
import { laneMisfit, laneObstacle, lanePrefix, type ReadyCount, type Who } from "./ready.js";
import { canRead } from "./refusal.js";
import { resourcesOf } from "./resource.js";
import type { Session } from "./session.js";
import type { OpenBreaker } from "./transitions/breaker.js";
import type { OpenCounts, Reads } from "./view.js";

const texts = {
  RUNNING: (n: number) => `${n} running`,
  CLAIMED: (n: number) => `${n} claimed`,
  AWAITING_RESPONSE: (n: number) => `${n} waiting for an answer`,
  SUBMITTED: (n: number) => `${n} submitted`,
  BLOCKED: (n: number) => `${n} blocked`,
  SCHEDULED: (n: number) => `${n} scheduled`,
  RETRY_SCHEDULED: (n: number) => `${n} waiting for a retry`,
  FAILED: (n: number) => `${n} failed`,
  ASSIGNED_TO_OTHER: (n: number) => `${n} assigned to others`,
  WRONG_AGENT_TYPE: (n: number) => `${n} for another agent type`,
  MISSING_CAPABILITY: (n: number) => `${n} ${n === 1 ? "needs" : "need"} other capabilities`,
  ON_OTHER_HOST: (n: number) => `${n} with a change on another machine`,
  RESOURCE_HELD: (n: number) => `${n} ${n === 1 ? "waits" : "wait"} for a held resource`,
  RESOURCE_BUSY: (n: number) => `${n} ${n === 1 ? "waits" : "wait"} for a busy resource`,
  RESOURCE_TOO_SMALL: (n: number) => `${n} ${n === 1 ? "needs" : "need"} more of a resource than there is`,
  OTHER_LABELS: (n: number) => `${n} with other labels`,
  RELEASED_JUST_NOW: (n: number) => `${n} released by this session less than a minute ago`,
  READY: (n: number) => `${n} ready`,
  SESSION_AT_CAPACITY: (n: number) => `session at its capacity of ${n}`,
  AGENT_HELD_BACK: (n: number) => `agent type held back after ${n} quick failures in a row`,
  PROJECT_PAUSED: () => "project paused",
  NO_OPEN_TASKS: () => "no open tasks",
};

export type NothingCode = keyof typeof texts;
export const nothingCodes = Object.keys(texts) as [NothingCode];

export interface NothingReason {
  code: NothingCode;
  /** How many tasks; of a capacity and of failures, how many of these. */
  count?: number;
  message: string;
}

export interface WhyNothing {
  message: string;
  fix: string;
  reasons: NothingReason[];
}

/** Counting takes longest; what was counted serves every session that gets nothing at about the same time. */
export interface ProjectCounts {
  open: OpenCounts;
  ready: ReadyCount[];
}

export function countProject(view: Reads, project: string, now: number): ProjectCounts {
  return { open: view.openCounts(project), ready: view.readyCounts(project, now) };
}

/** How many tasks count against a session's capacity: one that waits for its own subtasks does not. */
export function heldCount(view: Reads, { project, id }: Session): number {
  const held = view.claimsOf(project, id);
  return held.filter(({ taskId }) => (view.task(project, taskId)?.openChildren ?? 0) === 0).length;
}

interface Claimant {
  session: Pick<Session, "id" | "capacity" | "avoid">;
  /** How many tasks count against its capacity. */
  held: number;
}

interface Query {
  project: Project;
  counts: ProjectCounts;
  who: Who | null;
  claimant?: Claimant | undefined;
  labels?: string[] | undefined;
  breaker?: Pick<OpenBreaker, "failures"> | undefined;
  now: number;
}

export function whyNothing(view: Reads, query: Query): WhyNothing {
  const found = reasonCounts(view, query);
  const { project, claimant, breaker } = query;
  if (breaker) found.AGENT_HELD_BACK = breaker.failures;
  if (claimant && claimant.held >= claimant.session.capacity)
    found.SESSION_AT_CAPACITY = claimant.session.capacity;
  const reasons: NothingReason[] = nothingCodes.flatMap((code) => {
    const count = found[code] ?? 0;
    return count > 0 ? [{ code, count, message: texts[code](count) }] : [];
  });
  if (project.paused) reasons.push(paused);
  if (reasons.length === 0) reasons.push({ code: "NO_OPEN_TASKS", message: texts.NO_OPEN_TASKS() });
  return saying(reasons, fixFor(view, query, new Set(reasons.map(({ code }) => code))));
}

const paused: NothingReason = { code: "PROJECT_PAUSED", message: texts.PROJECT_PAUSED() };

/** Of a claim of a review, which looks at no tasks. */
export const whyPaused = (project: Project): WhyNothing => saying([paused], resumeFix(project));

const resumeFix = ({ id }: Project) => `dibs project resume ${id}`;

const saying = (reasons: NothingReason[], fix: string): WhyNothing => ({
  message: `Nothing to claim: ${reasons.map(({ message }) => message).join(", ")}. Run: ${fix}`,
  fix,
  reasons,
});

type Counts = Partial<Record<NothingCode, number>>;

function reasonCounts(view: Reads, query: Query): Counts {
  const { project, counts, who, labels, claimant, now } = query;
  const { open } = counts;
  const found: Counts = {
    RUNNING: open.running,
    CLAIMED: open.claimed,
    AWAITING_RESPONSE: open.awaiting_response,
    SUBMITTED: open.submitted,
    FAILED: open.failed,
  };
  const resources = new Availability(view, now);
  const hasLabels = labels !== undefined && labels.length > 0;
  const meant = hasLabels ? labelledCounts(view, project.id, labels, now) : counts.ready;
  let meantReady = 0;
  let fitting = 0;
  for (const { lane, ready } of meant) {
    const misfit = who && laneMisfit(lane, who, project.settings);
    const code = misfit ?? laneObstacle(lane, { who, settings: project.settings, resources })?.code;
    if (code) found[code] = (found[code] ?? 0) + ready;
    else fitting += ready;
    meantReady += ready;
  }
  let ready = 0;
  let scheduled = 0;
  for (const lane of counts.ready) {
    ready += lane.ready;
    scheduled += lane.scheduled;
  }
  const retried = scheduled > 0 ? countRetried(view, query) : 0;
  const released = claimant?.session.avoid.filter(({ until }) => until > now).length ?? 0;
  return {
    ...found,
    BLOCKED: (open.queued ?? 0) - ready - scheduled,
    SCHEDULED: scheduled - retried,
    RETRY_SCHEDULED: retried,
    OTHER_LABELS: ready - meantReady,
    // The pause says it all.
    RELEASED_JUST_NOW: project.paused ? 0 : Math.min(released, fitting),
    READY: project.paused ? 0 : fitting - Math.min(released, fitting),
  };
}

/** So many ready tasks with a label are counted; the rest counts as those with other labels. */
const labelledMax = 1_000;

/** Ready tasks that have one of the labels, each once. */
function labelledCounts(
  view: Reads,
  project: string,
  labels: readonly string[],
  now: number,
): Pick<ReadyCount, "lane" | "ready">[] {
  const counted = new Set<string>();
  const lanes: Pick<ReadyCount, "lane" | "ready">[] = [];
  for (const label of labels) {
    for (const lane of view.readyLanes(project, lanePrefix(label))) {
      const before = counted.size;
      for (const level of view.readyLevels(project, lane)) {
        for (const { id, notBefore } of view.readyEntries(project, lane, level)) {
          if (notBefore <= now) counted.add(id);
          if (counted.size >= labelledMax) break;
        }
      }
      lanes.push({ lane, ready: counted.size - before });
    }
  }
  return lanes;
}

/** So many rows of the queue are searched for tasks that wait for a retry; others count as scheduled. */
const searchedMax = 200;

function countRetried(view: Reads, { project, counts, now }: Query): number {
  let retried = 0;
  let searched = 0;
  for (const { lane, scheduled } of counts.ready) {
    if (scheduled === 0) continue;
    for (const level of view.readyLevels(project.id, lane)) {
      for (const { id, notBefore } of view.readyEntries(project.id, lane, level)) {
        if (++searched > searchedMax) return retried;
        if (notBefore <= now) continue;
        canRead(() => {
          if ((view.task(project.id, id)?.retryCount ?? 0) > 0) retried++;
        });
      }
    }
  }
  return retried;
}

function fixFor(view: Reads, { project, counts, claimant }: Query, codes: ReadonlySet<NothingCode>): string {
  const has = (...any: NothingCode[]) => any.some((code) => codes.has(code));
  const where = project.id === view.org().defaultProject ? "" : ` --project ${project.id}`;
  if (has("PROJECT_PAUSED")) return resumeFix(project);
  if (has("SESSION_AT_CAPACITY")) return `dibs in-flight --session ${claimant?.session.id}${where}`;
  if (has("AGENT_HELD_BACK", "AWAITING_RESPONSE")) return `dibs inbox${where}`;
  if (has("RESOURCE_HELD", "RESOURCE_TOO_SMALL")) return "dibs resources";
  if (has("FAILED")) {
    const [only] = counts.open.failed === 1 ? failedTask(view, project.id) : [];
    return only === undefined ? `dibs list --status failed${where}` : `dibs retry ${only}${where}`;
  }
  if (
    has(
      "ASSIGNED_TO_OTHER",
      "WRONG_AGENT_TYPE",
      "MISSING_CAPABILITY",
      "ON_OTHER_HOST",
      "OTHER_LABELS",
      "READY",
    )
  )
    return `dibs ready${where}`;
  if (has("RESOURCE_BUSY")) return resourcesOf(view).length > 0 ? "dibs resources" : `dibs list${where}`;
  if (has("SUBMITTED") && !has("RUNNING", "CLAIMED")) return `dibs list --status submitted${where}`;
  if (has("BLOCKED") && !has("RUNNING", "CLAIMED", "SCHEDULED", "RETRY_SCHEDULED", "RELEASED_JUST_NOW")) {
    const [first] = blockedTask(view, project.id);
    return first === undefined ? `dibs list --status blocked${where}` : `dibs explain ${first}${where}`;
  }
  if (has("RUNNING", "CLAIMED", "BLOCKED", "RELEASED_JUST_NOW")) return `dibs list${where}`;
  if (has("SCHEDULED", "RETRY_SCHEDULED")) return `dibs list --status scheduled${where}`;
  return `dibs add "Write the docs"${where}`;
}

const failedTask = (view: Reads, project: string) => firstIn("failed", 1, view, project);

/** Nothing is ready, so what is queued and no group is blocked. */
const blockedTask = (view: Reads, project: string) => firstIn("queued", 20, view, project);

function firstIn(state: "failed" | "queued", limit: number, view: Reads, project: string): string[] {
  let ids: string[] = [];
  canRead(() => {
    const tasks = view.tasks({ project, states: [state], afterOrdinal: 0, limit });
    ids = tasks.filter(({ type }) => type === "task").map(({ id }) => id);
  });
  return ids;
}
