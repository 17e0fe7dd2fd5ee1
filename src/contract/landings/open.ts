import { z } from "zod";
import { commit, project } from "../fields.js";
import { operation } from "../operation.js";
import { landingShape, success } from "../shapes.js";
import { landingTasks, leaseEpoch, place } from "./fields.js";

export const openLanding = operation({
  name: "landings.open",
  summary: "Begin a landing; with its commit, the intent to move the target is recorded",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...place(),
      epoch: leaseEpoch(),
      base: commit().optional().describe("The target's commit"),
      tasks: landingTasks(),
      commit: commit().optional().describe("The commit that the target moves to"),
      tree: commit().optional(),
    }),
  output: () => z.object({ success: success(), landing: landingShape() }),
  refusals: ["STALE_EPOCH", "TASK_NOT_FOUND", "INVALID_STATE", "LANDING_NOW"],
  http: { method: "POST", path: "/api/landings", status: 201 },
});
