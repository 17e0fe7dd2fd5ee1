// Submissions that wait for a person's review, with what one needs to know and the verdict in place.

import { useRef, useState } from "react";
import type { WaitingReview } from "../../../../src/client/view/inbox.js";
import { LoadError } from "../../components/load-error.js";
import { useStableList } from "../../components/stable-list.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { hrefTo, Link, navigate, taskHref } from "../../router.js";
import { CheckBadges, Diffstat, EndBadge } from "../submission/parts.js";
import { openVerdicts, type Submission, useSubmission } from "../submission/use-submission.js";
import {
  type Judged,
  patchHref,
  type Verdict,
  VerdictButtons,
  VerdictDialog,
  whyNoVerdict,
} from "../submission/verdicts.js";
import { Folded } from "../task/texts.js";
import { useItemKeys } from "./item-keys.js";
import { More } from "./more.js";
import { PartHead } from "./part-head.js";

interface ReviewsProps {
  reviews: WaitingReview[];
  hasMore: boolean;
  /** Null: no more can be read at once. */
  onMore: (() => void) | null;
  isAllProjects: boolean;
  now: number;
}

const keyOf = ({ row, notes: [note] }: WaitingReview) => `${row.project} ${row.id} ${note.id}`;

/** Each reads its submission. */
const shown = { first: 20, step: 20 };

/** Not seen while there is nothing to review: most projects have no reviews. */
export function Reviews({ reviews, hasMore, onMore, isAllProjects, now }: ReviewsProps) {
  const [count, setCount] = useState(shown.first);
  const stable = useStableList(reviews.slice(0, count), keyOf, "after");
  const isCut = reviews.length > count;
  return (
    <section className="inbox-part" aria-labelledby="inbox-reviews" hidden={stable.shown.length === 0}>
      <PartHead id="inbox-reviews" title="Reviews" count={reviews.length} hasMore={hasMore} stable={stable}>
        <Link className="small" href={hrefTo("/landing")}>
          All submissions
        </Link>
      </PartHead>
      <ol className="inbox-list" {...stable.list}>
        {stable.shown.map((review) => (
          <ReviewItem
            key={keyOf(review)}
            review={review}
            isGone={stable.gone.has(keyOf(review))}
            isAllProjects={isAllProjects}
            now={now}
          />
        ))}
      </ol>
      {isCut ? (
        <button type="button" onClick={() => setCount(count + shown.step)}>
          Show more reviews
        </button>
      ) : (
        hasMore && <More what="reviews" onMore={onMore} />
      )}
    </section>
  );
}

interface ItemProps {
  review: WaitingReview;
  isGone: boolean;
  isAllProjects: boolean;
  now: number;
}

function ReviewItem({ review: { row }, isGone, isAllProjects, now }: ItemProps) {
  const { project, id, title } = row;
  const own = useRef<HTMLLIElement>(null);
  const live = useSubmission(project, id);
  const submission = live.data;
  const [judging, setJudging] = useState<(Judged & { verdict: Verdict }) | null>(null);
  const open = submission ? openVerdicts(submission) : { approve: true, reject: true };
  const canJudge = (verdict: Verdict) => submission && open[verdict] && whyNoVerdict() === null;
  const judge = (verdict: Verdict) =>
    submission && setJudging({ project, taskId: id, title, submission: submission.number, verdict });
  const patch = patchHref(project, id);
  useItemKeys(own, {
    Enter: () => navigate(patch),
    p: () => navigate(patch),
    ...(canJudge("approve") ? { a: () => judge("approve") } : {}),
    ...(canJudge("reject") ? { x: () => judge("reject") } : {}),
  });
  return (
    <li ref={own} className="panel inbox-item inbox-review" tabIndex={-1} data-gone={isGone || undefined}>
      <p className="row inbox-about">
        <Link className="cut" href={taskHref(project, id)}>
          <span className="mono">{isAllProjects ? `${project}/${id}` : id}</span> {title}
        </Link>
        {submission && (
          <span className="quiet small cut inbox-when">
            submission {submission.number} by{" "}
            <span className="mono">{withUnseen(submission.submittedBy)}</span>,{" "}
            <When at={submission.submittedAt} now={now} />
          </span>
        )}
      </p>
      {submission && <About submission={submission} />}
      <LoadError live={live} />
      <div className="row wrapping">
        <VerdictButtons open={open} isDisabled={!submission} onJudge={judge} />
        <Link className="small" href={patch} title="key: p">
          Open patch
        </Link>
        {isGone && <span className="quiet small">seen to</span>}
      </div>
      {judging && <VerdictDialog {...judging} onClose={() => setJudging(null)} />}
    </li>
  );
}

function About({ submission: { summary, checks, diff, end } }: { submission: Submission }) {
  const paths = diff?.reviewPaths ?? [];
  return (
    <>
      {summary && <Folded text={withUnseen(summary)} name="the summary" linesMax={4} />}
      <p className="row wrapping small">
        {end && <EndBadge end={end} />}
        <CheckBadges checks={checks} />
        {diff && <Diffstat diff={diff} />}
        {paths.length > 0 && (
          <span className="wait wraps">
            {paths.slice(0, 3).map(withUnseen).join(", ")}
            {paths.length > 3 && ` and ${paths.length - 3} more`}: only a person can approve changes to{" "}
            {paths.length === 1 ? "it" : "them"}
          </span>
        )}
      </p>
    </>
  );
}
