import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const removeResource = operation({
  name: "resources.remove",
  summary: "Remove a resource that no claim, open task, live session or project uses",
  kind: "command",
  role: "leader",
  input: () => z.object({ id: id() }),
  output: () => z.object({ success: success(), id: z.string() }),
  refusals: ["RESOURCE_NOT_FOUND", "RESOURCE_IN_USE"],
  http: { method: "DELETE", path: "/api/resources/:id" },
  cli: "resource remove",
});
