import { z } from "zod";
import { word } from "../fields.js";
import { operation } from "../operation.js";
import { notificationShape, success } from "../shapes.js";

export const readNotification = operation({
  name: "notifications.read",
  summary: "Mark a notification as read; reviews and held landings stay until they are seen to",
  kind: "command",
  role: "worker",
  input: () => z.object({ id: word() }),
  output: () => z.object({ success: success(), notification: notificationShape() }),
  refusals: ["NOT_FOUND", "INVALID_STATE"],
  http: { method: "POST", path: "/api/notifications/:id/read" },
});
