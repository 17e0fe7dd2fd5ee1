import { z } from "zod";
import { returnReasons } from "../../core/landing.js";
import { limits } from "../../core/limits.js";
import { onTask, text } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";
import { onLanding, recordedDiff, recordedPatch } from "./fields.js";

export const returnSubmission = operation({
  name: "landings.returned",
  summary: "Return a submission: its task is queued again, with the reason",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      ...onTask(),
      ...onLanding(),
      submission: z.number().int().min(1),
      reason: z.enum(returnReasons),
      detail: text(limits.detailLengthMax).optional(),
      diff: recordedDiff().optional().describe("What it changes, for the next attempt and its reviewers"),
      patch: recordedPatch().optional(),
    }),
  output: () => z.object({ success: success(), task: taskShape() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "TASK_NOT_FOUND", "INVALID_STATE", "LANDING_NOW"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/returned" },
});
