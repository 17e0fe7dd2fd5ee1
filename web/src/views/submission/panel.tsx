// What a task handed in, on its page: where it is on its way to the target, its checks and reviews, and its patch. While the patch
// is open, the submission that is read stays: a newer one is announced, and shown when somebody asks for it.

import "./submission.css";
import { type ReactNode, useRef, useState } from "react";
import { duration } from "../../../../src/client/view/words.js";
import { LoadError } from "../../components/load-error.js";
import { CopyText } from "../../components/parts.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import type { Task } from "../../data/dibs.js";
import { useNow } from "../../data/live.js";
import { useKeys } from "../../keys.js";
import { useParam } from "../../router.js";
import { Folded } from "../task/texts.js";
import { Earlier } from "./earlier.js";
import { Checks, Commit, Diffstat, EndBadge, Reviews, StageBadge } from "./parts.js";
import { Patch } from "./patch.js";
import { openVerdicts, type Submission, useSubmission } from "./use-submission.js";
import {
  type Judged,
  patchParam,
  type Verdict,
  VerdictButtons,
  VerdictDialog,
  whyNoVerdict,
} from "./verdicts.js";

type Submitted = Task & { submission: NonNullable<Task["submission"]> };

export const isSubmitted = (task: Task): task is Submitted => task.submission !== null;

export function SubmissionPanel({ task }: { task: Submitted }) {
  const { project, id } = task;
  const [patch, setPatch] = useParam("patch");
  const isPatchOpen = patch === patchParam.patch;
  const { number, isOld, showLast } = useReadNumber(task.submission.number, isPatchOpen);
  const live = useSubmission(project, id, number);
  return (
    <section className="panel task-part submission" aria-labelledby="task-submission">
      {isOld && (
        <p className="row wrapping submission-newer" role="status">
          <span className="grows">
            Submission {task.submission.number} has arrived. You are reading submission {number}.
          </span>
          <button type="button" className="small" onClick={showLast}>
            Show submission {task.submission.number}
          </button>
        </p>
      )}
      {live.data ? (
        <Known
          task={task}
          submission={live.data}
          isPatchOpen={isPatchOpen}
          onPatch={(isOpen) => setPatch(isOpen ? patchParam.patch : "")}
          onChange={live.reload}
        />
      ) : (
        <h2 id="task-submission">Submission {number}</h2>
      )}
      <LoadError live={live} />
    </section>
  );
}

/** The last one, unless another is being read. */
function useReadNumber(last: number, isReading: boolean) {
  const read = useRef(last);
  const [, again] = useState(0);
  if (!isReading) read.current = last;
  return {
    number: read.current,
    isOld: read.current !== last,
    showLast: () => {
      read.current = last;
      again((count) => count + 1);
    },
  };
}

interface KnownProps {
  task: Submitted;
  submission: Submission;
  isPatchOpen: boolean;
  onPatch: (isOpen: boolean) => void;
  onChange: () => void;
}

function Known({ task, submission, isPatchOpen, onPatch, onChange }: KnownProps) {
  const now = useNow(5_000);
  const [judging, setJudging] = useState<(Judged & { verdict: Verdict }) | null>(null);
  const { project, id: taskId, title } = task;
  const { number, stage, end, summary, diff, checks, heldReason, landed } = submission;
  const open = openVerdicts(submission);
  const judge = (verdict: Verdict) => setJudging({ project, taskId, title, submission: number, verdict });
  const canJudge = (verdict: Verdict) => open[verdict] && whyNoVerdict() === null;
  useKeys({
    ...(canJudge("approve") ? { a: () => judge("approve") } : {}),
    ...(canJudge("reject") ? { x: () => judge("reject") } : {}),
    p: () => onPatch(!isPatchOpen),
  });
  return (
    <>
      <div className="row wrapping">
        <h2 id="task-submission">Submission {number}</h2>
        {stage !== null && <StageBadge stage={stage} />}
        {end && <EndBadge end={end} />}
        <span className="grows" />
        <VerdictButtons open={open} onJudge={judge} />
      </div>
      {heldReason !== undefined && <p className="submission-held wraps">Held: {withUnseen(heldReason)}</p>}
      {end?.detail && end.as !== "landed" && (
        <Folded text={withUnseen(end.detail)} name="the reason" isCode />
      )}
      {summary && <Folded text={withUnseen(summary)} name="the summary" linesMax={8} />}
      <Facts submission={submission} now={now} />
      {landed && <CopyText text={`git show ${landed.commit}`} label="the command that shows the commit" />}
      <div className="submission-part">
        <h3>Checks</h3>
        <Checks checks={checks} />
      </div>
      <div className="submission-part">
        <h3>Review</h3>
        <Reviews submission={submission} now={now} />
      </div>
      <Earlier project={project} taskId={taskId} before={number} now={now} />
      {submission.commit !== null && (
        <details
          className="submission-patch"
          open={isPatchOpen}
          onToggle={({ currentTarget, target }) => {
            // Files within it fold, too.
            if (target === currentTarget && currentTarget.open !== isPatchOpen) onPatch(currentTarget.open);
          }}
        >
          <summary title="key: p">
            <h3>Patch</h3> {diff ? <Diffstat diff={diff} /> : <span className="quiet">not recorded yet</span>}
          </summary>
          {isPatchOpen && <Patch project={project} taskId={taskId} submission={number} />}
        </details>
      )}
      {judging && (
        <VerdictDialog
          {...judging}
          onClose={() => {
            setJudging(null);
            onChange();
          }}
        />
      )}
    </>
  );
}

function Facts({ submission, now }: { submission: Submission; now: number }) {
  const { commit, branch, base, host, submittedBy, submittedAt, durationMs, landed } = submission;
  const facts: [string, ReactNode][] = [
    [
      "Submitted",
      <span key="at">
        <When at={submittedAt} now={now} /> by <span className="mono">{withUnseen(submittedBy)}</span>
        {durationMs >= 1_000 && ` after ${duration(durationMs)} of work`}
      </span>,
    ],
    ["Commit", commit === null ? "none: nothing was changed" : <Commit key="commit" id={commit} />],
    ["Branch", branch !== null && <span className="mono">{withUnseen(branch)}</span>],
    ["Base", base !== null && <Commit key="base" id={base} />],
    ["Host", host !== null && withUnseen(host)],
    [
      "Landed",
      landed && (
        <span key="landed">
          <Commit id={landed.commit} /> on <span className="mono">{withUnseen(landed.target)}</span>,{" "}
          <When at={landed.at} now={now} />
        </span>
      ),
    ],
  ];
  return (
    <dl className="task-facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt className="quiet">{name}</dt>
              <dd className="wraps">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
