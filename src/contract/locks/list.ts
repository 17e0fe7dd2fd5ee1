import { z } from "zod";
import { id, limit } from "../fields.js";
import { operation } from "../operation.js";
import { lockShape } from "../shapes.js";

export const listLocks = operation({
  name: "locks.list",
  summary: "List the locks that are held",
  kind: "query",
  role: "viewer",
  input: () => z.object({ limit: limit(), cursor: id().optional() }),
  output: () => z.object({ locks: z.array(lockShape()), nextCursor: z.string().nullable() }),
  refusals: [],
  http: { method: "GET", path: "/api/locks" },
});
