import { z } from "zod";
import { eventTypes } from "../../core/event.js";
import { id, limit, projectOrAll } from "../fields.js";
import { operation } from "../operation.js";
import { eventShape, time } from "../shapes.js";

export const listEvents = operation({
  name: "events.list",
  summary: "List events after a number",
  kind: "query",
  role: "viewer",
  input: () =>
    z.object({
      project: projectOrAll(),
      after: z.coerce.number().int().min(0).default(0),
      taskId: id().optional(),
      types: z.array(z.enum(eventTypes)).optional(),
      limit: limit(),
    }),
  output: () =>
    z.object({
      events: z.array(eventShape()),
      nextAfter: z.number().describe("Continue after this number"),
      reset: z
        .boolean()
        .describe(
          "Events after the given number are missing: they were archived, or the store was restored from a backup. Read the tasks again",
        ),
      firstAvailable: z.number().describe("Lower numbers have been archived"),
      lastSeq: z.number().describe("Number of the newest event of the org"),
      now: time().describe("What the store's clock says; leases go by it"),
    }),
  refusals: [],
  http: { method: "GET", path: "/api/events", aliases: { type: "types", task: "taskId" } },
  cli: "events",
});
