// Approving a submission and requesting changes. Both name the submission that was shown: a newer one is refused.

import { useState } from "react";
import { cliFor } from "../../../../src/client/view/commands.js";
import { Confirm } from "../../components/confirm.js";
import { DibsError, dibs } from "../../data/dibs.js";
import { whyNot } from "../../data/me.js";
import { useProjectToName } from "../../data/projects.js";
import { taskHref } from "../../router.js";

/** Verdicts of people need it; agents give theirs under a session. */
export const whyNoVerdict = () => whyNot("leader");

/** In the address: a link can lead to the open patch. */
export const patchParam = { patch: "open" };

export function patchHref(project: string, taskId: string): string {
  const href = taskHref(project, taskId);
  return `${href}${href.includes("?") ? "&" : "?"}patch=${patchParam.patch}`;
}

export type Verdict = "approve" | "reject";

/** What a verdict is about, as it was shown when it was begun. */
export interface Judged {
  project: string;
  taskId: string;
  title: string;
  submission: number;
}

interface VerdictProps extends Judged {
  onClose: () => void;
}

const textLengthMax = 16 * 1024;

/** A refusal, with what to do on this page in place of a command. */
function explained(error: unknown): unknown {
  if (!(error instanceof DibsError) || error.code !== "STALE_SUBMISSION") return error;
  return new DibsError(error.code, error.message, {
    hint: "Your verdict was not recorded. Close this dialog and look at the last submission.",
  });
}

function Approve({ project, taskId, title, submission, onClose }: VerdictProps) {
  const named = useProjectToName(project);
  const [comment, setComment] = useState("");
  const [isAuthor, setAuthor] = useState(false);
  const [own, setOwn] = useState(false);
  const text = comment.trim() || undefined;
  const run = async () => {
    try {
      const more = { ...(text ? { comment: text } : {}), ...(own ? { own } : {}) };
      await dibs.tasks.approve({ project, taskId, submission, ...more });
    } catch (error) {
      if (error instanceof DibsError && error.code === "SELF_REVIEW") setAuthor(true);
      throw explained(error);
    }
  };
  return (
    <Confirm
      title={`Approve submission ${submission} of ${taskId}?`}
      verb="Approve"
      command={cliFor("approve", { taskId, project: named, own })}
      done={`Submission ${submission} of ${taskId} was approved.`}
      run={run}
      onClose={onClose}
    >
      <p className="wraps">{title}</p>
      <label className="field">
        Comment (optional)
        <input
          value={comment}
          maxLength={textLengthMax}
          onChange={(event) => setComment(event.target.value)}
        />
      </label>
      {isAuthor && (
        <label className="row">
          <input type="checkbox" checked={own} onChange={(event) => setOwn(event.target.checked)} />
          Approve my own work; this is recorded
        </label>
      )}
    </Confirm>
  );
}

function RequestChanges({ project, taskId, title, submission, onClose }: VerdictProps) {
  const named = useProjectToName(project);
  const [reason, setReason] = useState("");
  const text = reason.trim();
  const run = () =>
    dibs.tasks.requestChanges({ project, taskId, submission, reason: text }).catch((error: unknown) => {
      throw explained(error);
    });
  return (
    <Confirm
      title={`Request changes to submission ${submission} of ${taskId}?`}
      verb="Request changes"
      isDanger
      isIncomplete={text === ""}
      command={cliFor("reject", { taskId, project: named, text: text || undefined })}
      done={`Changes to ${taskId} were requested.`}
      run={run}
      onClose={onClose}
    >
      <p className="wraps">{title}</p>
      <p>The task returns to the queue. The next attempt gets your reason.</p>
      <label className="field">
        What must change
        <textarea
          required
          value={reason}
          maxLength={textLengthMax}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
    </Confirm>
  );
}

interface VerdictButtonsProps {
  /** Which of them can be given; others are not offered. */
  open: Record<Verdict, boolean>;
  isDisabled?: boolean;
  onJudge: (verdict: Verdict) => void;
}

export function VerdictButtons({ open, isDisabled = false, onJudge }: VerdictButtonsProps) {
  const notAllowed = whyNoVerdict();
  const off = isDisabled || notAllowed !== null;
  return (
    <>
      {open.approve && (
        <button
          type="button"
          className="small primary"
          disabled={off}
          title={notAllowed ?? "key: a"}
          onClick={() => onJudge("approve")}
        >
          Approve
        </button>
      )}
      {open.reject && (
        <button
          type="button"
          className="small"
          disabled={off}
          title={notAllowed ?? "key: x"}
          onClick={() => onJudge("reject")}
        >
          Request changes
        </button>
      )}
    </>
  );
}

/** The dialog of a verdict that was begun. */
export function VerdictDialog({ verdict, ...judged }: Judged & { verdict: Verdict; onClose: () => void }) {
  return verdict === "approve" ? <Approve {...judged} /> : <RequestChanges {...judged} />;
}
