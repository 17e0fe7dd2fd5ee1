import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";
import { onLanding, recordedDiff, recordedPatch } from "./fields.js";

/** What a lander can record of one submission. */
export const diffBounds = {
  filesMax: limits.diffFilesMax,
  reviewPathsMax: limits.reviewPathsMax,
  pathLengthMax: limits.pathLengthMax,
  patchBytesMax: limits.patchBytesMax,
};

export const recordDiff = operation({
  name: "landings.diff",
  summary:
    "Record what a submission changes, as found in the repository; after its checks, if it needs a review",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...onLanding(),
      taskId: id(),
      submission: z.number().int().min(1).describe("Its number"),
      diff: recordedDiff(),
      patch: recordedPatch(),
    }),
  output: () => z.object({ success: success(), approved: z.boolean() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "TASK_NOT_FOUND", "STALE_SUBMISSION", "INVALID_STATE"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/diff" },
});
