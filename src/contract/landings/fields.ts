import { z } from "zod";
import { checkStates } from "../../core/landing.js";
import { limits } from "../../core/limits.js";
import { commit, epoch, gitName, id, ms, text } from "../fields.js";
import { once } from "../once.js";

/** Where work lands: the root commit of the repository, and the branch. */
export const place = once(() => ({ repository: commit(), target: gitName() }));

export const leaseEpoch = once(() => epoch().describe("Of the lander's lease"));

export const onLanding = once(() => ({ id: id(), epoch: leaseEpoch() }));

const landingTask = once(() =>
  z.strictObject({
    project: id().optional(),
    taskId: id(),
    submission: z.number().int().min(1).describe("Its number"),
    commit: commit()
      .nullable()
      .default(null)
      .describe(
        "What it becomes on the target; null: it is part of the landing's commit, or changes nothing",
      ),
  }),
);

export const landingTasks = once(() => z.array(landingTask()).max(limits.landingTasksMax));

export const checkResult = once(() =>
  z.strictObject({
    name: text(limits.wordLengthMax).min(1),
    state: z.enum(checkStates),
    exitCode: z.number().int().nullable(),
    durationMs: ms(),
    tree: text(limits.wordLengthMax),
    ranBy: text(limits.wordLengthMax),
    logTail: text(limits.logTailLengthMax),
  }),
);

const count = () => z.number().int().min(0);
const path = () => text(limits.pathLengthMax).min(1);

/** What a submission changes, as a lander found it in the repository. */
export const recordedDiff = once(() =>
  z.strictObject({
    base: commit(),
    files: z
      .array(z.strictObject({ path: path(), insertions: count().nullable(), deletions: count().nullable() }))
      .max(limits.diffFilesMax),
    fileCount: count(),
    insertions: count(),
    deletions: count(),
    reviewPaths: z.array(path()).max(limits.reviewPathsMax),
    patchId: commit().nullable(),
  }),
);

export const recordedPatch = once(() =>
  z.strictObject({ text: text(limits.patchBytesMax), omitted: count() }),
);
