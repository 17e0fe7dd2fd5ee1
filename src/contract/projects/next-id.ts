import { z } from "zod";
import { id, project } from "../fields.js";
import { operation } from "../operation.js";

export const nextId = operation({
  name: "ids.next",
  summary: "Reserve the next id",
  kind: "command",
  role: "worker",
  input: () => z.object({ project: project(), parentId: id().optional() }),
  output: () => z.object({ id: z.string() }),
  refusals: ["TASK_NOT_FOUND", "COUNTER_EXHAUSTED"],
  http: { method: "POST", path: "/api/ids/next" },
  cli: "next-id",
});
