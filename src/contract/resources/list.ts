import { z } from "zod";
import { operation } from "../operation.js";
import { resourceShape } from "../shapes.js";

export const listResources = operation({
  name: "resources.list",
  summary: "List the resources of the org",
  kind: "query",
  role: "viewer",
  input: () => z.object({}),
  output: () => z.object({ resources: z.array(resourceShape()) }),
  refusals: [],
  http: { method: "GET", path: "/api/resources" },
  cli: "resources",
});
