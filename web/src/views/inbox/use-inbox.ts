// The inbox of a project, kept up to date, and marking notifications as read.

import { useEffect, useState } from "react";
import { type InboxContent, readInbox, staysUnread } from "../../../../src/client/view/inbox.js";
import { dibs } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";

/** Questions, reviews, holds and failures each: at first, with each step, and at most. */
const shown = { first: 100, step: 300, max: 1_000 };

const concerns =
  /^(?:task:(?:awaiting|response|completed|failed|cancelled|released|retr|updated|claim-|submitted|review|landed|returned|withdrawn)|notification:)/;

export function useInboxContent(
  project: string,
  { count = shown.first, calmMs = 150 } = {},
): Live<InboxContent> {
  return useLive(`inbox ${project}`, () => readInbox(dibs, project, count), {
    on: ({ type }) => concerns.test(type),
    calmMs,
  });
}

/** `more` is null where no more can be shown. */
export function useInbox(project: string) {
  const [count, setCount] = useState(shown.first);
  const live = useInboxContent(project, { count });
  const { reload } = live;
  useEffect(() => {
    if (count > shown.first) reload();
  }, [count, reload]);
  const more = count < shown.max ? () => setCount(Math.min(shown.max, count + shown.step)) : null;
  return { live, more };
}

/** Few at a time; one that is gone already is as good as read. */
export async function markRead(ids: readonly string[]): Promise<void> {
  const rest = [...ids];
  const reader = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) await dibs.notifications.read({ id });
  };
  await Promise.all(Array.from({ length: 6 }, reader));
}

/** How many there were. Those that wait for a review or hold a landing stay. */
export async function markAllRead(project: string): Promise<number> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof dibs.notifications.list>> = await dibs.notifications.list({
      project,
      unread: true,
      limit: 500,
      ...(cursor === null ? {} : { cursor }),
    });
    const read = page.notifications.filter((note) => !staysUnread(note));
    await markRead(read.map(({ id }) => id));
    count += read.length;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return count;
}
