// The pieces that inputs are made of, each with its bound and a message that says what to do.

import { z } from "zod";
import { idProblem } from "../core/ids.js";
import { limits } from "../core/limits.js";
import { type PriorityWord, priorityWords } from "../core/priority.js";
import { jsonObject } from "./json.js";
import { once } from "./once.js";

// SQLite ends a string at NUL and PostgreSQL refuses it; unpaired surrogates have no UTF-8 form.
const storable = (value: string) => !value.includes("\u0000") && value.isWellFormed();
const storableMessage = "must be valid Unicode without NUL characters";

export const text = (max: number) =>
  z.string().max(max, `must have at most ${max} characters`).refine(storable, storableMessage);

/** Length is judged in bytes later, as PAYLOAD_TOO_LARGE. */
export const longText = once(() => z.string().refine(storable, storableMessage));

/** A short name: no control characters, no blanks around it. */
export const word = once(() =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(limits.wordLengthMax, `must have at most ${limits.wordLengthMax} characters`)
    .refine(storable, storableMessage)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
    .regex(/^[^\u0000-\u001f\u007f]+$/, "must not contain control characters"),
);

export const id = once(() =>
  z.string().superRefine((value, context) => {
    const problem = idProblem(value);
    if (problem) context.addIssue({ code: "custom", message: problem });
  }),
);

export const path = once(() => text(limits.pathLengthMax).min(1));
export const gitName = once(() => text(limits.gitNameLengthMax).min(1));
/** A whole object id of git, by SHA-1 or SHA-256. */
export const commit = once(() =>
  z
    .string()
    .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, "must be a whole commit id of 40 or 64 hexadecimal digits"),
);
// 0 is the epoch of a task that nobody has claimed: as a fencing number it is stale, not malformed.
export const epoch = once(() => z.number().int().min(0));
/** Ten years: no duration of ours is longer, and sums with a time stay exact. */
export const durationMsMax = 10 * 365 * 24 * 60 * 60 * 1000;
export const ms = once(() => z.number().int().min(0).max(durationMsMax));
/** A lease length: the project's settings are its bounds, and the core judges. */
export const leaseMs = once(() => z.number());

/** Milliseconds since 1970, from an ISO 8601 time or a number. */
export const instant = once(() =>
  z
    .union(
      [
        z.iso.datetime({ offset: true, message: "must be a time such as 2026-01-31T12:00:00.000Z" }),
        z.number().int(),
        z.date(),
      ],
      "must be a time such as 2026-01-31T12:00:00.000Z, or milliseconds since 1970",
    )
    .transform((value) => (typeof value === "string" ? Date.parse(value) : Number(value)))
    .refine((value) => value >= 0 && value < 253_402_300_800_000, "must be a time from 1970 to 9999"),
);

export const priority = once(
  () =>
    z
      .union(
        [
          z.number().int().min(0).max(100),
          z
            .string()
            .toLowerCase()
            .pipe(z.enum(Object.keys(priorityWords) as [PriorityWord])),
        ],
        "must be a number from 0 to 100, p1 to p5, or critical, high, medium, normal or low",
      )
      .transform((value) => (typeof value === "number" ? value : priorityWords[value])) as z.ZodType<
      number,
      number | PriorityWord
    >,
);

export const metadata = once(() =>
  jsonObject((written) =>
    // JSON.stringify escapes NUL and unpaired surrogates so, and leaves every other text behind a `u` alone.
    /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(written) ? storableMessage : null,
  ),
);

/** Units by the id of a resource. */
export const uses = once(() =>
  z
    .record(id(), z.number().int().min(1).max(limits.unitsMax))
    .refine(
      (units) => Object.keys(units).length <= limits.usesMax,
      `must have at most ${limits.usesMax} resources`,
    ),
);

export const idempotencyKey = once(() => text(limits.idempotencyKeyLengthMax).min(1, "must not be empty"));

export const result = once(() =>
  z
    .union(
      [
        longText(),
        z.strictObject({
          output: longText().default(""),
          filesCreated: z.array(path()).max(limits.filesMax).default([]),
          filesModified: z.array(path()).max(limits.filesMax).default([]),
          branch: gitName().optional().describe("The branch that has the work"),
          commit: gitName().optional().describe("Its last commit"),
        }),
      ],
      "must be a text or { output, filesCreated, filesModified, branch, commit }",
    )
    .transform((value) =>
      typeof value === "string" ? { output: value, filesCreated: [], filesModified: [] } : value,
    ),
);

export const project = once(() => id().optional().describe("The project; default: the client's own"));
export const projectOrAll = once(() =>
  z
    .union([z.literal("*"), id()])
    .optional()
    .describe("The project, or * for all of the org; default: the client's own"),
);

export const limit = once(() =>
  z.coerce.number().int().min(1).max(limits.pageMax).default(limits.pageDefault),
);
/** Some hold a project's name and another, with a time. */
export const cursor = once(() => text(3 * limits.idLengthMax).optional());
export const flag = once(() =>
  z.union([z.boolean(), z.enum(["true", "false"]).transform((value) => value === "true")]),
);

export const onTask = once(() => ({ project: project(), taskId: id() }));
export const byHolder = once(() => ({
  project: project(),
  taskId: id(),
  sessionId: id(),
  epoch: epoch().optional().describe("The claim's fencing number; send it always"),
}));

/** Of a verdict: an agent names its session, a person none. */
export const review = once(() => ({
  submission: z.number().int().min(1).describe("The number of the submission that was reviewed"),
  sessionId: id()
    .optional()
    .describe("The agent; without it the verdict is a person's, who needs the role leader"),
  epoch: epoch().optional().describe("The review's fencing number"),
}));
