import { z } from "zod";
import { holderPrecedence } from "../../core/refusal.js";
import { byHolder, result } from "../fields.js";
import { operation } from "../operation.js";
import { success, taskShape } from "../shapes.js";

export const completeTask = operation({
  name: "tasks.complete",
  summary: "Complete a task",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      ...byHolder(),
      result: result().default({ output: "", filesCreated: [], filesModified: [] }),
    }),
  output: () =>
    z.object({
      success: success(),
      task: taskShape(),
      unblocked: z.array(z.string()).describe("Tasks that became claimable, at most 100"),
      unblockedCount: z.number(),
    }),
  refusals: [...holderPrecedence, "CHILDREN_OPEN", "PAYLOAD_TOO_LARGE"],
  repeatable: true,
  http: { method: "POST", path: "/api/tasks/:taskId/complete" },
  cli: "done",
  mcp: "complete_task",
});
