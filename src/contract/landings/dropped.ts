import { z } from "zod";
import { operation } from "../operation.js";
import { success } from "../shapes.js";
import { onLanding } from "./fields.js";

export const dropLanding = operation({
  name: "landings.dropped",
  summary: "Report that the target does not have the intended commit: its submissions wait again",
  kind: "command",
  role: "leader",
  input: () => z.object(onLanding()),
  output: () => z.object({ success: success() }),
  refusals: ["NOT_FOUND", "STALE_EPOCH", "INVALID_STATE"],
  http: { method: "POST", path: "/api/landings/:id/dropped" },
});
