import { z } from "zod";
import { id, limit } from "../fields.js";
import { operation } from "../operation.js";
import { tokenShape } from "../shapes.js";

export const listTokens = operation({
  name: "tokens.list",
  summary: "List the tokens that are valid",
  kind: "query",
  role: "admin",
  input: () => z.object({ limit: limit(), cursor: id().optional() }),
  output: () => z.object({ tokens: z.array(tokenShape()), nextCursor: z.string().nullable() }),
  refusals: [],
  http: { method: "GET", path: "/api/tokens" },
  cli: "token list",
});
