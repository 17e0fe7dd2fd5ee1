import { z } from "zod";
import { limits } from "../../core/limits.js";
import { commit, id, project, text } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";
import { onLanding } from "./fields.js";

/** What a lander can record of one submission. */
export const diffBounds = {
  filesMax: limits.diffFilesMax,
  reviewPathsMax: limits.reviewPathsMax,
  pathLengthMax: limits.pathLengthMax,
  patchBytesMax: limits.patchBytesMax,
};

const count = () => z.number().int().min(0);
const path = () => text(limits.pathLengthMax).min(1);

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
      diff: z.strictObject({
        base: commit(),
        files: z
          .array(
            z.strictObject({ path: path(), insertions: count().nullable(), deletions: count().nullable() }),
          )
          .max(limits.diffFilesMax),
        fileCount: count(),
        insertions: count(),
        deletions: count(),
        reviewPaths: z.array(path()).max(limits.reviewPathsMax),
        patchId: commit().nullable(),
      }),
      patch: z.strictObject({ text: text(limits.patchBytesMax), omitted: count() }),
    }),
  output: () => z.object({ success: success(), approved: z.boolean() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "TASK_NOT_FOUND", "STALE_SUBMISSION", "INVALID_STATE"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/diff" },
});
