// The submissions before, and why they came back.

import { useState } from "react";
import { LoadError } from "../../components/load-error.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { DibsError, dibs } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { Folded } from "../task/texts.js";
import { EndBadge } from "./parts.js";
import type { Submission } from "./use-submission.js";

const shown = { first: 3, most: 50 };

interface EarlierProps {
  project: string;
  taskId: string;
  /** Those before this one. */
  before: number;
  now: number;
}

export function Earlier({ project, taskId, before, now }: EarlierProps) {
  const [isAll, setAll] = useState(false);
  const count = Math.min(before - 1, isAll ? shown.most : shown.first);
  const live = useLive(
    `earlier ${project} ${taskId} ${before} ${count}`,
    async () => {
      const numbers = Array.from({ length: count }, (_, at) => before - 1 - at);
      const found = await Promise.all(numbers.map((number) => read(project, taskId, number)));
      return found.filter((submission) => submission !== null);
    },
    // What has ended does not change.
    { on: () => false },
  );
  if (before <= 1) return null;
  return (
    <div className="submission-part">
      <h3>
        Earlier submissions <span className="quiet">{before - 1}</span>
      </h3>
      <LoadError live={live} />
      <ul className="submission-list">
        {live.data?.map((submission) => (
          <li key={submission.number}>
            <EarlierLine submission={submission} now={now} />
          </li>
        ))}
      </ul>
      {before - 1 > count && !isAll && (
        <button type="button" className="plain small" onClick={() => setAll(true)}>
          Show all {Math.min(before - 1, shown.most)}
        </button>
      )}
    </div>
  );
}

async function read(project: string, taskId: string, number: number): Promise<Submission | null> {
  try {
    return (await dibs.tasks.submission({ project, taskId, number })).submission;
  } catch (error) {
    if (error instanceof DibsError && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

function EarlierLine({
  submission: { number, end, submittedBy },
  now,
}: {
  submission: Submission;
  now: number;
}) {
  return (
    <>
      <p className="row wrapping">
        <span>Submission {number}</span>
        {end && <EndBadge end={end} />}
        <span className="quiet small">
          by {withUnseen(submittedBy)}
          {end && (
            <>
              {" · "}
              <When at={end.at} now={now} />
            </>
          )}
        </span>
      </p>
      {end?.detail && end.as !== "landed" && (
        <Folded text={withUnseen(end.detail)} name="the reason" linesMax={6} isCode />
      )}
    </>
  );
}
