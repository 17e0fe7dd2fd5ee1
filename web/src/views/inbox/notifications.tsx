// Everything that was told to people, read and unread, newest first.

import { useEffect, useRef, useState } from "react";
import { registry } from "../../../../src/client/connect.js";
import { asksForReview } from "../../../../src/client/view/reviews.js";
import { LoadError } from "../../components/load-error.js";
import { useStableList } from "../../components/stable-list.js";
import { say, sayTrouble } from "../../components/toasts.js";
import { When } from "../../components/when.js";
import { dibs, type Notification } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { whyNot } from "../../data/me.js";
import { Link, navigate, taskHref, useParam } from "../../router.js";
import { useItemKeys } from "./item-keys.js";
import { markAllRead, markRead } from "./use-inbox.js";

const pageSize = 30;
const requestMax = 500;

/** The newest `count`, in as few calls as it takes. */
async function newest(project: string, unread: boolean, count: number) {
  const found: Notification[] = [];
  let cursor: string | null = null;
  let total = 0;
  do {
    const limit = Math.min(requestMax, count - found.length);
    const page: Awaited<ReturnType<typeof dibs.notifications.list>> = await dibs.notifications.list({
      project,
      limit,
      ...(unread ? { unread } : {}),
      ...(cursor === null ? {} : { cursor }),
    });
    found.push(...page.notifications);
    cursor = page.nextCursor;
    total = page.unread;
  } while (cursor !== null && found.length < count);
  return { notifications: found, unread: total, hasMore: cursor !== null };
}

function useNotifications(project: string, unread: boolean) {
  const [count, setCount] = useState(pageSize);
  const live = useLive(`notifications ${project} ${unread}`, () => newest(project, unread, count), {
    on: ({ type }) => type.startsWith("notification:"),
    calmMs: 150,
  });
  const { reload } = live;
  useEffect(() => {
    if (count > pageSize) reload();
  }, [count, reload]);
  return { live, more: () => setCount(count + pageSize) };
}

const keyOf = ({ id }: Notification) => id;

export function Notifications({ project, now }: { project: string; now: number }) {
  const [shows, setShows] = useParam("show");
  const isUnreadOnly = shows === "unread";
  const { live, more } = useNotifications(project, isUnreadOnly);
  const stable = useStableList(live.data?.notifications ?? [], keyOf, "before");
  const [isBusy, setBusy] = useState(false);
  const unread = live.data?.unread ?? 0;
  const notRead = whyNot(registry.notifications.read.role);
  const readAll = async () => {
    setBusy(true);
    await markAllRead(project).then((count) => say(`${count} marked as read.`), sayTrouble);
    setBusy(false);
  };
  return (
    <section className="inbox-part" aria-labelledby="inbox-notifications">
      <div className="row wrapping">
        <h2 id="inbox-notifications">
          Notifications <span className="quiet">{unread} unread</span>
        </h2>
        {stable.waiting > 0 && (
          <button type="button" className="small" onClick={stable.release}>
            {stable.waiting} new
          </button>
        )}
        <span className="grows" />
        <label className="row small">
          <input
            type="checkbox"
            checked={isUnreadOnly}
            onChange={(event) => setShows(event.target.checked ? "unread" : "")}
          />
          only unread
        </label>
        <button
          type="button"
          className="small"
          disabled={isBusy || unread === 0 || notRead !== null}
          title={notRead ?? undefined}
          onClick={() => void readAll()}
        >
          Mark all as read
        </button>
      </div>
      <LoadError live={live} />
      {live.data && stable.shown.length === 0 && <p className="quiet">No notifications.</p>}
      <ol className="panel inbox-notes" {...stable.list} hidden={stable.shown.length === 0}>
        {stable.shown.map((note) => (
          <Note key={note.id} note={note} isGone={stable.gone.has(note.id)} project={project} now={now} />
        ))}
      </ol>
      {live.data?.hasMore && (
        <button type="button" onClick={more}>
          Show older
        </button>
      )}
    </section>
  );
}

const kinds: Record<Notification["type"], [string, string]> = {
  TASK_AWAITING_RESPONSE: ["question", "wait"],
  TASK_ERROR: ["failed", "bad"],
  WORKER_LOST: ["lost", "bad"],
  AGENT_FAILING: ["agent", "bad"],
  LANDING_HELD: ["landing", "wait"],
  REVIEW_NEEDED: ["review", "wait"],
  BUDGET_SPENT: ["budget", "wait"],
  BUDGET_UNKNOWN: ["budget", "wait"],
  TASKS_OVERLAP: ["overlap", "wait"],
  TASK_COMPLETED: ["completed", "good"],
};

interface NoteProps {
  note: Notification;
  /** Not in this list any more: it was read. */
  isGone: boolean;
  project: string;
  now: number;
}

function Note({ note, isGone, project, now }: NoteProps) {
  const { id, type, message, title, taskId, createdAt, readAt } = note;
  const own = useRef<HTMLLIElement>(null);
  const isRead = readAt !== null || isGone;
  const notRead = whyNot(registry.notifications.read.role);
  const href = taskId === null ? null : taskHref(note.project, taskId);
  const read = () => void markRead([id]).catch(sayTrouble);
  useItemKeys(own, {
    ...(href === null ? {} : { Enter: () => navigate(href) }),
    ...(isRead || notRead || asksForReview(note) ? {} : { d: read }),
  });
  const [word, tone] = kinds[type];
  return (
    <li ref={own} className="inbox-item inbox-note" tabIndex={-1} data-read={isRead || undefined}>
      <span className={`small inbox-kind ${isRead ? "quiet" : tone}`} title={title}>
        {word}
      </span>
      {href && (
        <Link className="mono small" href={href}>
          {project === "*" ? `${note.project}/${taskId}` : taskId}
        </Link>
      )}
      <span className="cut grows" title={message.slice(0, 1_000)}>
        {message}
      </span>
      <span className="quiet small inbox-when">
        <When at={createdAt} now={now} />
      </span>
      {isRead || !asksForReview(note) ? (
        <button
          type="button"
          className="plain small"
          disabled={isRead || notRead !== null}
          aria-label={isRead ? "read" : `mark read: ${taskId ?? id}`}
          title={isRead ? (readAt ?? "read") : (notRead ?? "key: d")}
          onClick={read}
        >
          {isRead ? "read" : "mark read"}
        </button>
      ) : (
        <span className="quiet small">open</span>
      )}
    </li>
  );
}
