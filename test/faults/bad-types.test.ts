// Bad input through the library: ids that are none, wrong types, too much text, and text that has no form on disk.

import { limits } from "../../src/core/limits.js";
import { type Case, long, me, refusals, wrong } from "./refusals.js";

refusals("too much", [
  [
    "a prompt of 256 KiB and a byte",
    ({ dibs }) => dibs.tasks.create({ prompt: long(limits.promptBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt.*262145/,
  ],
  [
    "a prompt too long in bytes only",
    ({ dibs }) => dibs.tasks.create({ prompt: "é".repeat(limits.promptBytesMax / 2 + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a prompt too long in an update",
    ({ dibs, queued }) => dibs.tasks.update({ taskId: queued, prompt: long(limits.promptBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a prompt too long, second in a batch",
    ({ dibs }) =>
      dibs.tasks.batch({ tasks: [{ prompt: "fine" }, { prompt: long(limits.promptBytesMax + 1) }] }),
    "PAYLOAD_TOO_LARGE",
    /prompt/,
  ],
  [
    "a result of 1 MiB and a byte",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, ...me, result: long(limits.resultBytesMax + 1) }),
    "PAYLOAD_TOO_LARGE",
    /result.*1048577/,
  ],
  [
    "a result too long by release",
    ({ dibs, held }) =>
      dibs.tasks.release({
        taskId: held,
        ...me,
        reason: "completed",
        result: long(limits.resultBytesMax + 1),
      }),
    "PAYLOAD_TOO_LARGE",
    /result/,
  ],
  [
    "a title too long",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", title: long(501) }),
    "VALIDATION_FAILED",
    /title.*500/,
  ],
  [
    "an error too long",
    ({ dibs, held }) => dibs.tasks.fail({ taskId: held, ...me, error: long(limits.errorLengthMax + 1) }),
    "VALIDATION_FAILED",
    /error/,
  ],
  [
    "metadata too long",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { x: long(limits.metadataBytesMax) } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a huge batch",
    ({ dibs }) => dibs.tasks.batch({ tasks: Array(limits.batchMax + 1).fill({ prompt: "x" }) }),
    "VALIDATION_FAILED",
    /tasks.*10000/,
  ],
  ["an empty batch", ({ dibs }) => dibs.tasks.batch({ tasks: [] }), "VALIDATION_FAILED", /tasks/],
  [
    "too long a wait",
    ({ dibs }) => dibs.tasks.claimNext({ sessionId: "me", waitMs: limits.waitMsMax + 1 }),
    "VALIDATION_FAILED",
    /waitMs/,
  ],
  ["too long a page", ({ dibs }) => dibs.tasks.list({ limit: 1_001 }), "VALIDATION_FAILED", /limit/],
]);

refusals("ids", [
  ...[
    "../x",
    "a/../b",
    "a..b",
    "/etc/passwd",
    "",
    " ",
    "a b",
    ".x",
    "-x",
    "a\\b",
    "C:x",
    "a\u0000b",
    "ä",
    long(129),
  ].flatMap((id): Case[] => [
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a task`,
      ({ dibs }) => dibs.tasks.create({ prompt: "x", id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} in a question`,
      ({ dibs }) => dibs.tasks.get({ taskId: id }),
      "VALIDATION_FAILED",
      /taskId/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a session`,
      ({ dibs }) => dibs.sessions.register({ id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
    [
      `the id ${JSON.stringify(id).slice(0, 20)} for a project`,
      ({ dibs }) => dibs.projects.create({ id }),
      "VALIDATION_FAILED",
      /\bid\b/,
    ],
  ]),
  [
    "a generated id",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", id: "A123" }),
    "VALIDATION_FAILED",
    /A123.*generated/,
  ],
  [
    "a word of a route as id",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", id: "claim-next" }),
    "VALIDATION_FAILED",
    /claim-next/,
  ],
  [
    "a word of a route as session",
    ({ dibs }) => dibs.sessions.register({ id: "summary" }),
    "VALIDATION_FAILED",
    /summary/,
  ],
  [
    "an id that exists",
    async ({ dibs, child }) => dibs.tasks.batch({ tasks: [{ prompt: "x" }, { id: child, prompt: "x" }] }),
    "ID_TAKEN",
    /0002_t1/,
  ],
  ["a project that exists", ({ dibs }) => dibs.projects.create({ id: "second" }), "ID_TAKEN", /second/],
]);

refusals("wrong types", [
  [
    "a number as prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: wrong(7) }),
    "VALIDATION_FAILED",
    /prompt.*must be text/,
  ],
  ["no prompt", ({ dibs }) => dibs.tasks.create({}), "VALIDATION_FAILED", /prompt/],
  ["no input", ({ dibs }) => wrong(dibs.tasks.get)(), "VALIDATION_FAILED", /taskId/],
  ["a string as input", ({ dibs }) => dibs.tasks.get(wrong("0001")), "VALIDATION_FAILED", /object/],
  [
    "null as input of a wait",
    ({ dibs }) => dibs.tasks.claimNext(wrong(null)),
    "VALIDATION_FAILED",
    /sessionId/,
  ],
  ["an array as input of a claim", ({ dibs }) => dibs.tasks.claim(wrong([])), "VALIDATION_FAILED", /object/],
  [
    "an object as task id",
    ({ dibs }) => dibs.tasks.claim({ taskId: wrong({}), sessionId: "me" }),
    "VALIDATION_FAILED",
    /taskId/,
  ],
  [
    "a fraction as epoch",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "me", epoch: 1.5 }),
    "VALIDATION_FAILED",
    /epoch/,
  ],
  [
    "NaN as epoch",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, sessionId: "me", epoch: Number.NaN }),
    "VALIDATION_FAILED",
    /epoch/,
  ],
  [
    "a priority of 101",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", priority: 101 }),
    "VALIDATION_FAILED",
    /priority/,
  ],
  [
    "a priority in no known word",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", priority: wrong("urgent") }),
    "VALIDATION_FAILED",
    /priority/,
  ],
  [
    "a date that is none",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", notBefore: "tomorrow" }),
    "VALIDATION_FAILED",
    /notBefore/,
  ],
  [
    "an unknown state",
    ({ dibs }) => dibs.tasks.list({ state: wrong("sleeping") }),
    "VALIDATION_FAILED",
    /state/,
  ],
  [
    "an unknown field in an update",
    ({ dibs, queued }) => dibs.tasks.update(wrong({ taskId: queued, parentId: "0001" })),
    "VALIDATION_FAILED",
    /parentId/,
  ],
  [
    "a function in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: wrong({ run: () => 1 }) }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a bad cursor",
    ({ dibs }) => dibs.tasks.list({ cursor: "'; DROP TABLE task" }),
    "VALIDATION_FAILED",
    /cursor/,
  ],
  [
    "a negative place in the events",
    ({ dibs }) => dibs.events.list({ after: -1 }),
    "VALIDATION_FAILED",
    /after/,
  ],
]);

refusals("text that has no form on disk", [
  [
    "NUL in a prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: "a\u0000b" }),
    "VALIDATION_FAILED",
    /prompt.*NUL/,
  ],
  [
    "a lone surrogate in a prompt",
    ({ dibs }) => dibs.tasks.create({ prompt: "a\ud800b" }),
    "VALIDATION_FAILED",
    /prompt.*Unicode/,
  ],
  [
    "a lone surrogate in a result",
    ({ dibs, held }) => dibs.tasks.complete({ taskId: held, ...me, result: "\udc00" }),
    "VALIDATION_FAILED",
    /result/,
  ],
  [
    "NUL in a question",
    ({ dibs, held }) => dibs.tasks.ask({ taskId: held, ...me, question: "\u0000?" }),
    "VALIDATION_FAILED",
    /question/,
  ],
  [
    "NUL in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { a: "\u0000" } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "a lone surrogate in metadata",
    ({ dibs }) => dibs.tasks.create({ prompt: "x", metadata: { a: "\ud800" } }),
    "VALIDATION_FAILED",
    /metadata/,
  ],
  [
    "NUL in an idempotency key",
    ({ dibs }) => dibs.tasks.create({ prompt: "x" }, { idempotencyKey: "a\u0000b" }),
    "VALIDATION_FAILED",
    /idempotency/i,
  ],
  [
    "an endless idempotency key",
    ({ dibs }) => dibs.tasks.create({ prompt: "x" }, { idempotencyKey: long(100_000) }),
    "VALIDATION_FAILED",
    /idempotency/i,
  ],
]);
