import { z } from "zod";
import { limits } from "../../core/limits.js";
import { id, leaseMs, metadata, ms, project, word } from "../fields.js";
import { operation } from "../operation.js";
import {
  breakerShape,
  claimShape,
  handoverShape,
  nothingShape,
  submissionShape,
  success,
  taskShape,
  time,
} from "../shapes.js";

export const claimNextTask = operation({
  name: "tasks.claimNext",
  summary: "Claim the next task that fits the session",
  kind: "command",
  role: "worker",
  input: () =>
    z.object({
      project: project(),
      sessionId: id(),
      kind: z
        .enum(["task", "review"])
        .optional()
        .describe("review: a submission of another agent to review; default: a task"),
      ttlMs: leaseMs().optional().describe("Lease length; default and bounds are the project's"),
      agentType: word().optional(),
      start: z.boolean().optional().describe("Go to running in the same step"),
      register: z.boolean().optional().describe("Register the session if it is unknown"),
      metadata: metadata().optional(),
      waitMs: ms().max(limits.waitMsMax).optional().describe("Wait this long for something to claim"),
      labels: z
        .array(word())
        .max(limits.labelsMax)
        .optional()
        .describe("Only tasks with one of these labels"),
      heedBreaker: z
        .boolean()
        .optional()
        .describe(
          "Claim nothing while the session's agent type fails at once on its host, except as a probe",
        ),
      why: z
        .boolean()
        .optional()
        .describe("False: leave out why there is nothing to claim, for polling loops"),
      resume: z.boolean().optional().describe("False: at capacity answer nothing instead of what is held"),
    }),
  output: () =>
    z.union([
      z.object({
        success: success(),
        claim: claimShape().describe("Of a review: its own lease; renew it with the task's heartbeat"),
        task: taskShape(),
        resumed: z.boolean(),
        handover: handoverShape().optional(),
        review: submissionShape().optional().describe("The submission to review"),
      }),
      z.object({
        success: success(),
        claim: z.null(),
        task: z.null(),
        resumed: z.literal(false),
        scheduledAt: time()
          .optional()
          .describe(
            "When the next scheduled task that fits becomes ready, or the hold of a resource that it lacks ends",
          ),
        breaker: breakerShape().optional().describe("Why a claim with `heedBreaker` got nothing"),
        why: nothingShape().optional().describe("Why there is nothing to claim"),
      }),
    ]),
  refusals: ["SESSION_NOT_FOUND"],
  http: { method: "POST", path: "/api/tasks/claim-next" },
  cli: "claim",
  mcp: "claim_task",
});
