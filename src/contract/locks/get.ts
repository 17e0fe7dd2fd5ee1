import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { lockShape } from "../shapes.js";

export const getLock = operation({
  name: "locks.get",
  summary: "Show who holds a lock; null: it is free",
  kind: "query",
  role: "viewer",
  input: () => z.object({ name: id() }),
  output: () => z.object({ lock: lockShape().nullable() }),
  refusals: [],
  http: { method: "GET", path: "/api/locks/:name" },
  cli: "lock status",
});
