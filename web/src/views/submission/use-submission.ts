// A submission of a task, kept up to date while it is on its way to the target.

import { useEffect } from "react";
import { dibs } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";

export type Submission = Awaited<ReturnType<typeof dibs.tasks.submission>>["submission"];
export type Check = Submission["checks"][number];
export type Review = Submission["reviews"][number];

/** Results of checks and holds make no events of the task. */
const againMs = 3_000;

/** Without a number: the last one. */
export function useSubmission(project: string, taskId: string, number?: number): Live<Submission> {
  const live = useLive(
    `submission ${project} ${taskId} ${number}`,
    async () => (await dibs.tasks.submission({ project, taskId, ...(number ? { number } : {}) })).submission,
    { on: (event) => event.project === project && event.taskId === taskId, calmMs: 150 },
  );
  const { reload } = live;
  const isOpen = live.data?.stage != null;
  useEffect(() => {
    if (!isOpen) return;
    const timer = setInterval(() => !document.hidden && reload(), againMs);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  return live;
}

/** Which verdicts can still be given. */
export function openVerdicts({ stage, reviewNeeded, approved, reviews }: Submission) {
  const isOpen = stage !== null;
  const isReviewed = reviews.some(({ verdict }) => verdict === "approve");
  return {
    approve: isOpen && !approved,
    reject: isOpen && (reviewNeeded === "none" ? !isReviewed : !approved),
  };
}
