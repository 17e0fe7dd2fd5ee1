import { z } from "zod";
import { operation } from "../operation.js";
import { success } from "../shapes.js";
import { leaseEpoch, place } from "./fields.js";

export const releaseLander = operation({
  name: "landings.release",
  summary: "Give the lander's lease back",
  kind: "command",
  role: "leader",
  input: () => z.object({ ...place(), epoch: leaseEpoch() }),
  output: () => z.object({ success: success() }),
  refusals: ["STALE_EPOCH"],
  http: { method: "POST", path: "/api/landings/release" },
});
