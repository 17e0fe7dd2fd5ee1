// What was handed in, on its way to the target branch: checked, reviewed, landed or sent back; and what holds it.

import "./landing.css";
import type { ReactNode } from "react";
import { withFlag } from "../../../../src/client/view/commands.js";
import { LoadError } from "../../components/load-error.js";
import { Badge, CopyText, Empty } from "../../components/parts.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { useNow } from "../../data/live.js";
import { useProjectToName } from "../../data/projects.js";
import { Link, taskHref, usePlace } from "../../router.js";
import { useItemSteps } from "../inbox/item-keys.js";
import { Commit, reasonWord } from "../submission/parts.js";
import { ItemList, itemClass, type LandingItem } from "./items.js";
import { type Ended, useEnded } from "./use-ended.js";
import {
  type Hold,
  isBeingChecked,
  landCommand,
  type Place,
  type Queued,
  type Section,
  sectionOf,
  useLanding,
} from "./use-landing.js";

export function Landing() {
  const { project } = usePlace();
  const now = useNow(5_000);
  const live = useLanding(project);
  const places = live.data ?? null;
  const ended = useEnded(project, places !== null && places.length > 0);
  useItemSteps(itemClass);
  return (
    <div className="landing">
      <h1>Landing</h1>
      <LoadError live={live.error === undefined ? ended : live} />
      {places === null && live.error === undefined && <Empty title="Loading…" />}
      {places?.length === 0 && <Off project={project} />}
      {places && places.length > 0 && (
        <>
          {places.map((place) => (
            <Lander key={`${place.project}/${place.target}`} place={place} now={now} />
          ))}
          <Sections places={places} isAllProjects={project === "*"} now={now}>
            <Done ended={ended.data} isAllProjects={project === "*"} now={now} />
          </Sections>
        </>
      )}
    </div>
  );
}

function Off({ project }: { project: string }) {
  const what = project === "*" ? "No project lands its work" : `Project ${project} does not land its work`;
  return (
    <Empty title={`${what} on a branch.`}>
      <p>With landing on, a task is completed when its change is on the target branch, checked there.</p>
      <p>Turn it on in the project's repository:</p>
      <div className="landing-first">
        <CopyText text="dibs init --land main" label="the command that turns landing on" />
      </div>
    </Empty>
  );
}

/** Whether somebody lands here, what that lander does, and what holds it. */
function Lander({ place, now }: { place: Place; now: number }) {
  const { project, target, lease, holds, queue, queueCount } = place;
  const isHeld = holds.some(({ tasks }) => tasks.length === 0);
  const named = useProjectToName(project);
  const command = named === undefined ? landCommand : withFlag(landCommand, "project", named);
  return (
    <section className="panel landing-lander" aria-label={`Lander of ${target}`}>
      <div className="row wrapping">
        <span>
          Target <span className="strong mono">{withUnseen(target)}</span>
        </span>
        {lease ? (
          <>
            <Badge tone={isHeld ? "bad" : "good"}>{isHeld ? "held" : "runs"}</Badge>
            <span className="wraps">
              Lander <span className="mono">{withUnseen(lease.holder)}</span>
              {lease.host !== null && <span className="quiet"> on {withUnseen(lease.host)}</span>}
            </span>
            <span className="quiet small">{doingOf(place)}</span>
          </>
        ) : (
          <Badge tone={queueCount > 0 ? "bad" : "wait"}>No lander runs</Badge>
        )}
        {lease?.lastLanded && (
          <span className="quiet small">
            Last landed <Commit id={lease.lastLanded.commit} /> <When at={lease.lastLanded.at} now={now} />
          </span>
        )}
        {queue.length < queueCount && (
          <span className="quiet small">
            The first {queue.length} of {queueCount} submissions are shown.
          </span>
        )}
      </div>
      {!lease && <CopyText text={command} label="the command that starts a lander" />}
      {holds.map((hold) => (
        <HoldLine key={`${hold.reason} ${hold.message}`} hold={hold} now={now} />
      ))}
    </section>
  );
}

function doingOf({ lease }: Place): string {
  const landing = lease?.landing;
  if (!landing || landing.tasks.length === 0) return "waits for submissions";
  const count = `${landing.tasks.length} ${landing.tasks.length === 1 ? "submission" : "submissions"}`;
  return landing.state === "intended" ? `lands ${count}` : `checks ${count}`;
}

const tasksShown = 5;

function HoldLine({ hold: { reason, message, fix, tasks, at }, now }: { hold: Hold; now: number }) {
  return (
    <div className="landing-hold" role="status">
      <p className="wraps">
        <span className="strong">{withUnseen(reason)}</span>: {withUnseen(message)}{" "}
        <span className="small">
          <When at={at} now={now} />
        </span>
      </p>
      {tasks.length > 0 && (
        <p className="row wrapping small">
          Waiting for it:
          {tasks.slice(0, tasksShown).map(({ project, taskId }) => (
            <Link key={`${project}/${taskId}`} className="mono" href={taskHref(project, taskId)}>
              {taskId}
            </Link>
          ))}
          {tasks.length > tasksShown && `and ${tasks.length - tasksShown} more`}
        </p>
      )}
      {fix && <CopyText text={withUnseen(fix)} label="the command that helps" />}
    </div>
  );
}

type Heading = [section: Section, title: string, nothing: string];

const headings: Heading[] = [
  ["checking", "Checking", "Nothing is checked."],
  ["review", "Review", "Nothing waits for a review."],
  ["waiting", "Waiting to land", "Nothing waits to land."],
  ["landing", "Landing now", "Nothing lands at this moment."],
];
const heldHeading: Heading = ["held", "Held", "Nothing is held."];

interface SectionsProps {
  places: readonly Place[];
  isAllProjects: boolean;
  now: number;
  /** What has ended, before what is held. */
  children: ReactNode;
}

function Sections({ places, isAllProjects, now, children }: SectionsProps) {
  const by: Record<Section, LandingItem[]> = { checking: [], review: [], waiting: [], landing: [], held: [] };
  for (const place of places)
    for (const queued of place.queue) by[sectionOf(queued, place)].push(itemOf(queued, place));
  const list = ([section, title, nothing]: Heading) => (
    <ItemList
      key={section}
      id={`landing-${section}`}
      title={title}
      nothing={nothing}
      items={by[section]}
      isAllProjects={isAllProjects}
      now={now}
    />
  );
  return (
    <div className="landing-sections">
      {headings.map(list)}
      {children}
      {list(heldHeading)}
    </div>
  );
}

function itemOf(queued: Queued, place: Place): LandingItem {
  const { project, taskId, title, number, submittedBy, submittedAt } = queued;
  return {
    key: `${project}/${taskId}/${number}`,
    project,
    taskId,
    title,
    number,
    author: submittedBy,
    at: submittedAt,
    note: noteOf(queued, place),
    isToReview: queued.stage === "review",
  };
}

function noteOf(queued: Queued, place: Place): string | null {
  const { stage, reviewing, reviewNeeded, project, taskId } = queued;
  if (stage === "review") {
    if (reviewing !== null) return `${withUnseen(reviewing)} reviews it`;
    return reviewNeeded === "human" ? "needs a person" : `needs ${needed[reviewNeeded]}`;
  }
  if (stage === "held") {
    const isAbout = ({ tasks }: Hold) =>
      tasks.length === 0 || tasks.some((task) => task.project === project && task.taskId === taskId);
    return withUnseen(place.holds.find(isAbout)?.message ?? "") || null;
  }
  if (isBeingChecked(queued, place)) return "checks run now";
  return null;
}

const needed = { none: "nothing", human: "a person", agent: "an agent", any: "a person or an agent" };

function Done({
  ended,
  isAllProjects,
  now,
}: {
  ended: { landed: Ended[]; returned: Ended[] } | undefined;
  isAllProjects: boolean;
  now: number;
}) {
  const item = (end: Ended): LandingItem => ({ ...end, key: String(end.seq), note: null, isToReview: false });
  const returned = (end: Ended): LandingItem => {
    const reason = reasonWord(end.reason ?? "returned");
    const detail = end.detail?.trim().split("\n", 1)[0];
    return { ...item(end), note: detail ? `${reason}: ${withUnseen(detail)}` : reason };
  };
  const landed = (end: Ended): LandingItem => ({
    ...item(end),
    note:
      end.commit === null
        ? "nothing was changed"
        : `${end.commit.slice(0, 12)} on ${withUnseen(end.target ?? "")}`,
  });
  const lists = { isAllProjects, now };
  return (
    <>
      <ItemList
        id="landing-landed"
        title="Landed"
        nothing="Nothing has landed yet."
        items={ended?.landed.map(landed) ?? []}
        isNewestFirst
        {...lists}
      />
      <ItemList
        id="landing-returned"
        title="Returned"
        nothing="Nothing came back."
        items={ended?.returned.map(returned) ?? []}
        isNewestFirst
        {...lists}
      />
    </>
  );
}
