// Tasks that failed for good and that nobody has seen to: why, and what can be done.

import { useRef, useState } from "react";
import { registry } from "../../../../src/client/connect.js";
import type { Failure } from "../../../../src/client/view/inbox.js";
import { useStableList } from "../../components/stable-list.js";
import { act } from "../../components/toasts.js";
import { When } from "../../components/when.js";
import { whyNot } from "../../data/me.js";
import { hrefTo, Link, navigate, taskHref } from "../../router.js";
import { Retry } from "../task/actions.js";
import { Folded } from "../task/texts.js";
import { useItemKeys } from "./item-keys.js";
import { More } from "./more.js";
import { PartHead } from "./part-head.js";
import { markRead } from "./use-inbox.js";

interface FailuresProps {
  failures: Failure[];
  hasMore: boolean;
  /** Null: no more can be read at once. */
  onMore: (() => void) | null;
  isAllProjects: boolean;
  now: number;
}

const keyOf = ({ row }: Failure) => `${row.project} ${row.id}`;

export function Failures({ failures, hasMore, onMore, isAllProjects, now }: FailuresProps) {
  const stable = useStableList(failures, keyOf, "before");
  return (
    <section className="inbox-part" aria-labelledby="inbox-failures">
      <PartHead
        id="inbox-failures"
        title="Failures"
        count={failures.length}
        hasMore={hasMore}
        stable={stable}
      >
        <Link className="small" href={hrefTo("/queue", { q: "is:failed" })}>
          All failed tasks
        </Link>
      </PartHead>
      {stable.shown.length === 0 && <p className="quiet">No new failures.</p>}
      <ol className="inbox-list" {...stable.list}>
        {stable.shown.map((failure) => (
          <FailureItem
            key={keyOf(failure)}
            failure={failure}
            isGone={stable.gone.has(keyOf(failure))}
            isAllProjects={isAllProjects}
            now={now}
          />
        ))}
      </ol>
      {hasMore && <More what="failures" onMore={onMore} />}
    </section>
  );
}

interface ItemProps {
  failure: Failure;
  isGone: boolean;
  isAllProjects: boolean;
  now: number;
}

function FailureItem({ failure, isGone, isAllProjects, now }: ItemProps) {
  const { row, notes } = failure;
  const { message, createdAt: at } = notes[0];
  const { project, id, title } = row;
  const own = useRef<HTMLLIElement>(null);
  const [isAsked, setAsked] = useState(false);
  const dismiss = () =>
    void act(`${id} was set aside; it stays failed.`, () => markRead(notes.map((note) => note.id)));
  const href = taskHref(project, id);
  const notRetry = whyNot(registry.tasks.retry.role);
  const notRead = whyNot(registry.notifications.read.role);
  useItemKeys(own, {
    ...(isGone ? {} : { Enter: () => navigate(href) }),
    ...(isGone || notRetry ? {} : { r: () => setAsked(true) }),
    ...(isGone || notRead ? {} : { d: dismiss }),
  });
  return (
    <li ref={own} className="panel inbox-item inbox-failure" tabIndex={-1} data-gone={isGone || undefined}>
      <p className="row inbox-about">
        <Link className="cut" href={href}>
          <span className="mono">{isAllProjects ? `${project}/${id}` : id}</span> {title}
        </Link>
        <span className="quiet small inbox-when">
          failed <When at={at} now={now} />
        </span>
      </p>
      <Folded text={message} name="the error" linesMax={3} isCode />
      <div className="row">
        <button
          type="button"
          className="small"
          disabled={isGone || notRetry !== null}
          title={notRetry ?? "key: r"}
          onClick={() => setAsked(true)}
        >
          Retry
        </button>
        <button
          type="button"
          className="small"
          disabled={isGone || notRead !== null}
          title={notRead ?? "key: d"}
          onClick={dismiss}
        >
          Set aside
        </button>
        {isGone && <span className="quiet small">seen to</span>}
      </div>
      {isAsked && <Retry task={row} onClose={() => setAsked(false)} />}
    </li>
  );
}
