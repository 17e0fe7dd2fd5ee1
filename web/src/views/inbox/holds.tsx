// Why nothing lands, for reasons that are no task's fault, and the command that helps. An item leaves when its reason has ended.

import { useRef } from "react";
import { helpIn } from "../../../../src/client/view/inbox.js";
import { CopyText } from "../../components/parts.js";
import { useStableList } from "../../components/stable-list.js";
import { withUnseen } from "../../components/unseen.js";
import { When } from "../../components/when.js";
import type { Notification } from "../../data/dibs.js";
import { hrefTo, Link, navigate, taskHref } from "../../router.js";
import { useItemKeys } from "./item-keys.js";
import { PartHead } from "./part-head.js";

interface HoldsProps {
  holds: Notification[];
  hasMore: boolean;
  isAllProjects: boolean;
  now: number;
}

const keyOf = ({ id }: Notification) => id;

export function Holds({ holds, hasMore, isAllProjects, now }: HoldsProps) {
  const stable = useStableList(holds, keyOf, "before");
  return (
    <section className="inbox-part" aria-labelledby="inbox-holds" hidden={stable.shown.length === 0}>
      <PartHead
        id="inbox-holds"
        title="Held landings"
        count={holds.length}
        hasMore={hasMore}
        stable={stable}
      />
      <ol className="inbox-list" {...stable.list}>
        {stable.shown.map((hold) => (
          <HoldItem
            key={hold.id}
            hold={hold}
            isGone={stable.gone.has(hold.id)}
            isAllProjects={isAllProjects}
            now={now}
          />
        ))}
      </ol>
    </section>
  );
}

interface ItemProps {
  hold: Notification;
  isGone: boolean;
  isAllProjects: boolean;
  now: number;
}

function HoldItem({ hold, isGone, isAllProjects, now }: ItemProps) {
  const { project, taskId, title, message, createdAt } = hold;
  const own = useRef<HTMLLIElement>(null);
  const { text, command } = helpIn(message);
  const href = taskId === null ? hrefTo("/landing", { project }) : taskHref(project, taskId);
  useItemKeys(own, { Enter: () => navigate(href) });
  return (
    <li ref={own} className="panel inbox-item inbox-hold" tabIndex={-1} data-gone={isGone || undefined}>
      <p className="row inbox-about">
        <Link className="cut" href={href}>
          {isAllProjects && <span className="mono">{project} </span>}
          {taskId !== null && <span className="mono">{taskId} </span>}
          {withUnseen(title)}
        </Link>
        <span className="quiet small inbox-when">
          {isGone && "ended, "}
          <When at={createdAt} now={now} />
        </span>
      </p>
      <p className="wraps">{withUnseen(text)}</p>
      {command && <CopyText text={withUnseen(command)} label="the command that helps" />}
    </li>
  );
}
