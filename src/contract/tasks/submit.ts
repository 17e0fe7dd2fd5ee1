import { z } from "zod";
import { limits } from "../../core/limits.js";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, commit, gitName, result, text } from "../fields.js";
import { operation } from "../operation.js";
import { submissionShape, success, taskShape } from "../shapes.js";

export const submitTask = operation({
  name: "tasks.submit",
  summary: "Hand in the change of a task, to be landed on the target branch",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      commit: commit().optional().describe("The last commit; none, or the base: nothing was changed"),
      branch: gitName().optional().describe("The branch that has it"),
      base: commit().optional().describe("The commit on which the work began"),
      summary: text(limits.summaryLengthMax)
        .optional()
        .describe("What was done; default: the result's output"),
      result: result().default({ output: "", filesCreated: [], filesModified: [] }),
      host: text(limits.wordLengthMax).optional().describe("The machine that has the commit"),
    }),
  output: () => z.object({ success: success(), task: taskShape(), submission: submissionShape() }),
  refusals: [...holderPrecedence, "CHILDREN_OPEN", "PAYLOAD_TOO_LARGE", "REMOTE_REQUIRED"],
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/submit" },
  cli: "submit",
});
