import { z } from "zod";
import { flag, id, limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { nothingShape, taskShape } from "../shapes.js";

export const claimableTasks = operation({
  name: "tasks.claimable",
  summary: "List what can be claimed now, in the order of claiming",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      sessionId: id().optional().describe("Only what fits this session"),
      asNew: flag()
        .optional()
        .describe("An unknown session is taken for one that comes now, with nothing but its name"),
      limit: limit(),
    }),
  output: () =>
    z.object({
      tasks: z.array(taskShape()),
      why: nothingShape().optional().describe("Of one project: why there are none"),
    }),
  refusals: ["SESSION_NOT_FOUND"],
  http: { method: "GET", path: "/api/tasks/claimable" },
  cli: "ready",
});
