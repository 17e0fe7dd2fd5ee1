import { z } from "zod";
import { limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { notificationShape, taskShape } from "../shapes.js";

export const showInbox = operation({
  name: "notifications.inbox",
  summary: "Show what needs a human: open questions first",
  kind: "query",
  role: "viewer",
  input: () => z.object({ project: projectOrAll(), limit: limit() }),
  output: () =>
    z.object({
      questions: z.array(taskShape()),
      notifications: z.array(notificationShape()),
      unread: z.number(),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/inbox" },
  cli: "inbox",
});
