// Submissions in one section of the landing view.

import { useRef } from "react";
import { useStableList } from "../../components/stable-list.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import { Link, navigate, taskHref } from "../../router.js";
import { useItemKeys } from "../inbox/item-keys.js";
import { patchHref } from "../submission/verdicts.js";

export const itemClass = "landing-item";

export interface LandingItem {
  key: string;
  project: string;
  taskId: string;
  title: string;
  number: number;
  author: string | null;
  at: string;
  note: string | null;
  isToReview: boolean;
}

interface ListProps {
  id: string;
  title: string;
  /** What an empty section says. */
  nothing: string;
  items: readonly LandingItem[];
  isNewestFirst?: boolean;
  isAllProjects: boolean;
  now: number;
}

const keyOf = ({ key }: LandingItem) => key;

export function ItemList(props: ListProps) {
  const { id, title, nothing, items, isNewestFirst = false, isAllProjects, now } = props;
  const stable = useStableList(items, keyOf, isNewestFirst ? "before" : "after");
  return (
    <section className="panel landing-section" aria-labelledby={id}>
      <div className="row">
        <h2 id={id}>
          {title} <span className="quiet">{items.length}</span>
        </h2>
        {stable.waiting > 0 && (
          <button type="button" className="small" onClick={stable.release}>
            {stable.waiting} new
          </button>
        )}
      </div>
      {stable.shown.length === 0 && <p className="quiet small">{nothing}</p>}
      <ol className="landing-list" {...stable.list}>
        {stable.shown.map((item) => (
          <Item
            key={item.key}
            item={item}
            isGone={stable.gone.has(item.key)}
            isAllProjects={isAllProjects}
            now={now}
          />
        ))}
      </ol>
    </section>
  );
}

interface ItemProps {
  item: LandingItem;
  /** It has left the section, and is shown only so that nothing moves. */
  isGone: boolean;
  isAllProjects: boolean;
  now: number;
}

function Item({ item, isGone, isAllProjects, now }: ItemProps) {
  const { project, taskId, title, number, author, at, note, isToReview } = item;
  const own = useRef<HTMLLIElement>(null);
  const href = isToReview ? patchHref(project, taskId) : taskHref(project, taskId);
  useItemKeys(own, { Enter: () => navigate(href) });
  return (
    <li ref={own} className={itemClass} tabIndex={-1} data-gone={isGone || undefined}>
      <Link className="cut" href={href} title={title}>
        <span className="mono">{isAllProjects ? `${project}/${taskId}` : taskId}</span> {title}
      </Link>
      <p className="row quiet small">
        <span>submission {number}</span>
        <span className="cut grows">{author !== null && `by ${withUnseen(author)}`}</span>
        <When at={at} now={now} />
      </p>
      {note !== null && (
        <p className="small cut" title={note}>
          {note}
        </p>
      )}
    </li>
  );
}
