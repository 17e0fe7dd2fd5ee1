import { z } from "zod";
import { roles } from "../../core/role.js";
import { ms, word } from "../fields.js";
import { operation } from "../operation.js";
import { success, tokenShape } from "../shapes.js";

export const createToken = operation({
  name: "tokens.create",
  summary: "Create a token; its text is shown this once",
  kind: "command",
  role: "admin",
  input: () =>
    // What is not understood is refused: a misspelt role or end would make a token that can do more, or for ever.
    z.strictObject({
      name: word().default("token").describe("What it is for"),
      role: z.enum(roles).default("worker"),
      expiresInMs: ms().min(1).optional().describe("Default: it does not expire"),
      bound: z.boolean().optional().describe("Revoked together with the token that created it"),
    }),
  output: () =>
    tokenShape().extend({
      success: success(),
      token: z
        .string()
        .nullable()
        .describe(
          "What to send as bearer. It is stored nowhere, so an answer repeated under an idempotency key has null: revoke that token and create another",
        ),
    }),
  refusals: ["ID_TAKEN"],
  http: { method: "POST", path: "/api/tokens", status: 201 },
  cli: "token create",
});
