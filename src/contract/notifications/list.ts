import { z } from "zod";
import { cursor, flag, limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { notificationShape } from "../shapes.js";

export const listNotifications = operation({
  name: "notifications.list",
  summary: "List notifications, newest first",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({ project: projectOrAll(), unread: flag().optional(), limit: limit(), cursor: cursor() }),
  output: () =>
    z.object({
      notifications: z.array(notificationShape()),
      unread: z.number(),
      nextCursor: z.string().nullable(),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/notifications" },
});
