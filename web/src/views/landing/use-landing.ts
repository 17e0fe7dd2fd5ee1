// What is submitted, by place: a repository's branch that one or several projects land on, with its lander and what holds it.

import { helpIn } from "../../../../src/client/view/inbox.js";
import { dibs, type Notification, type Project } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { useProjects } from "../../data/projects.js";

type Answer = Awaited<ReturnType<typeof dibs.landings.list>>;
export type Queued = Answer["queue"][number];
export type Lease = NonNullable<Answer["lease"]>;
export type Hold = Lease["holds"][number];

export interface Place {
  /** One of the projects that land here. */
  project: string;
  target: string;
  queue: Queued[];
  queueCount: number;
  /** Null: no lander runs. */
  lease: Lease | null;
  holds: Hold[];
}

const queueMax = 200;
/** Leases, intents and results of checks make no events. */
const againMs = 2_000;
const concerns = /^(?:task:(?:submitted|review|landed|returned|withdrawn|cancelled|updated)|notification:)/;

/** Null: the projects are not known yet. Empty: none of them lands. */
export function useLanding(project: string) {
  const projects = useProjects();
  const landing = projects ? placesOf(projects, project) : null;
  const key = landing?.map(({ id, settings }) => `${id}/${settings.land.target}`).join(" ");
  const live = useLive(
    `landing ${project} ${key}`,
    async () => landing && Promise.all(landing.map((each) => placeOf(each, project))),
    { on: ({ type }) => concerns.test(type), everyMs: againMs, calmMs: 150 },
  );
  return live;
}

/** One project for each place. */
function placesOf(projects: readonly Project[], project: string): Project[] {
  const places = new Map<string, Project>();
  for (const each of projects) {
    const { target, repository } = each.settings.land;
    if (target === null || (project !== "*" && each.id !== project)) continue;
    const key = `${repository ?? `project:${each.id}`}/${target}`;
    if (!places.has(key)) places.set(key, each);
  }
  return [...places.values()];
}

async function placeOf({ id, settings }: Project, wanted: string): Promise<Place> {
  const { queue, queueCount, lease } = await dibs.landings.list({ project: id, limit: queueMax });
  const own = queue.filter((each) => wanted === "*" || each.project === wanted);
  const isHeld = own.some(({ stage }) => stage === "held");
  return {
    project: id,
    target: settings.land.target!,
    queue: own,
    queueCount: queueCount - (queue.length - own.length),
    lease,
    holds: lease ? lease.holds : isHeld ? await notedHolds(id) : [],
  };
}

/** Holds belong to the lander's lease; without one, the inbox has them. That no lander runs is shown anyway. */
async function notedHolds(project: string): Promise<Hold[]> {
  const { notifications } = await dibs.notifications.list({ project, unread: true, limit: 100 });
  const holds = notifications.filter(({ type }) => type === "LANDING_HELD").map(holdOf);
  return holds.filter(({ fix }) => fix !== landCommand);
}

export const landCommand = "dibs land";

function holdOf({ message, title, createdAt, project, taskId }: Notification): Hold {
  const { text, command } = helpIn(message);
  const tasks = taskId === null ? [] : [{ project, taskId }];
  return { reason: title, message: text, fix: command, tasks, at: createdAt };
}

export type Section = "checking" | "review" | "waiting" | "landing" | "held";

/** Landing now: the intent to move the target to it is recorded. */
export function sectionOf({ stage, project, taskId }: Queued, { lease }: Place): Section {
  if (stage !== "landing") return stage;
  return isIn(lease, "intended", project, taskId) ? "landing" : "waiting";
}

/** The lander runs its checks at this moment. */
export const isBeingChecked = ({ project, taskId }: Queued, { lease }: Place) =>
  isIn(lease, "checking", project, taskId);

function isIn(lease: Lease | null, state: string, project: string, taskId: string): boolean {
  const landing = lease?.landing;
  return (
    landing?.state === state &&
    landing.tasks.some((task) => task.project === project && task.taskId === taskId)
  );
}
