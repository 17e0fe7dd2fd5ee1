import { z } from "zod";
import { commit, project } from "../fields.js";
import { operation } from "../operation.js";
import { landingShape, success } from "../shapes.js";
import { landingTasks, onLanding } from "./fields.js";

export const intendLanding = operation({
  name: "landings.intent",
  summary: "Record the intent to move the target to a checked commit",
  kind: "command",
  role: "leader",
  input: () =>
    z.object({
      project: project(),
      ...onLanding(),
      commit: commit(),
      tree: commit().nullable().default(null),
      tasks: landingTasks(),
    }),
  output: () => z.object({ success: success(), landing: landingShape() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "TASK_NOT_FOUND", "INVALID_STATE", "LANDING_NOW"],
  repeatable: true,
  http: { method: "POST", path: "/api/landings/:id/intent" },
});
