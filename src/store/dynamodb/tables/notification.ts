import type { Notification } from "../../../core/event.js";
import type { Lists } from "../../../core/view.js";
import { matchesNotification } from "../../filters.js";
import { notificationNumber } from "../../layouts.js";
import { endOf, type Place, type Write } from "../items.js";
import { type OrgKeys, ordered } from "../keys.js";
import { first } from "../listing.js";
import type { Reader } from "../reader.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<Notification>("notification", {
  id: stored,
  type: stored,
  severity: stored,
  title: stored,
  message: stored,
  taskId: null,
  project: stored,
  createdAt: stored,
  readAt: null,
});

const prefix = "N#";
const placeOf = (keys: OrgKeys, number: number): Place =>
  keys.at("notifications", `${prefix}${ordered(number)}`);

export const place = (keys: OrgKeys, id: string): Place => placeOf(keys, notificationNumber(id));

export const write = (keys: OrgKeys, notification: Notification): Write => ({
  ...place(keys, notification.id),
  data: codec.encode(notification),
});

export function list(
  keys: OrgKeys,
  reader: Reader,
  filter: Parameters<Lists["notifications"]>[0],
): Notification[] {
  const { before, limit } = filter;
  const { sk: lowest, ...partition } = placeOf(keys, 0);
  const to = before === undefined ? endOf(prefix) : `${prefix}${ordered(before)}`;
  const notifications = function* () {
    const page = Math.min(Math.max(limit, 16), 200);
    for (const { data, sk } of reader.scan({ ...partition, from: lowest, to }, { descending: true, page })) {
      const notification = codec.decode(data, sk);
      if (matchesNotification(filter, notification)) yield notification;
    }
  };
  return first(notifications(), limit);
}
