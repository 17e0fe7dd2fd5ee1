import { z } from "zod";
import { id } from "../fields.js";
import { operation } from "../operation.js";
import { success } from "../shapes.js";

export const revokeToken = operation({
  name: "tokens.revoke",
  summary: "Revoke a token",
  kind: "command",
  role: "admin",
  input: () => z.object({ id: id() }),
  output: () => z.object({ success: success() }),
  refusals: ["NOT_FOUND"],
  http: { method: "DELETE", path: "/api/tokens/:id" },
  cli: "token revoke",
});
