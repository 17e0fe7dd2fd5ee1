// What a script is: steps whose references are numbers, resolved against what exists when the step runs. fast-check makes
// and shrinks scripts; resolving makes sure that most of what is left still hits something.

import fc from "fast-check";
import { pickMax } from "./picker.js";

/** How often each word is drawn. */
const weights = {
  create: 14,
  "create-many": 1,
  "load-plan": 5,
  claim: 9,
  "claim-next": 14,
  start: 4,
  heartbeat: 4,
  progress: 5,
  ask: 6,
  respond: 6,
  complete: 13,
  submit: 4,
  withdraw: 2,
  "acquire-lander": 3,
  "release-lander": 1,
  "open-landing": 5,
  "intend-landing": 2,
  "record-checks": 1,
  "record-diff": 3,
  "claim-review": 3,
  review: 4,
  "ask-for-review": 1,
  land: 5,
  "drop-landing": 2,
  return: 7,
  "hold-landing": 2,
  fail: 6,
  release: 8,
  cancel: 4,
  retry: 5,
  update: 8,
  settle: 1,
  sweep: 2,
  "register-session": 7,
  "session-heartbeat": 3,
  "end-session": 2,
  "reserve-id": 2,
  "create-project": 1,
  "update-project": 3,
  "read-notification": 2,
  "set-resource": 4,
  "hold-resource": 3,
  "resume-resource": 2,
  "remove-resource": 1,
  "report-usage": 6,
  /** Writes, removes and reads some. */
  documents: 5,
  /** Finished tasks go. */
  "archive-tasks": 3,
  /** The oldest events go. */
  archive: 1,
  /** An earlier command of the script once more, letter for letter. */
  repeat: 5,
  /** Lookups in the middle of a commit. */
  look: 5,
} as const;

export type Word = keyof typeof weights;

export interface Op {
  word: Word;
  picks: number[];
}

export type Step =
  /** One group commit. `fails` is the number of the job that throws after its command, if any. */
  | { step: "commit"; ops: Op[]; fails: number | null; second: boolean }
  | { step: "clock"; picks: number[] }
  | { step: "reopen" }
  | { step: "compare" };

export interface Script {
  /** Chooses the settings with which the world begins. */
  world: number[];
  steps: Step[];
}

const number = fc.noBias(fc.nat({ max: pickMax }));
const numbers = (length: number) => fc.array(number, { minLength: length, maxLength: length });

const words = Object.entries(weights).map(([word, weight]) => ({
  arbitrary: fc.constant(word as Word),
  weight,
}));
const op: fc.Arbitrary<Op> = fc.record({ word: fc.oneof(...words), picks: numbers(12) });

const commit: fc.Arbitrary<Step> = fc.record({
  step: fc.constant("commit" as const),
  ops: fc.oneof(
    { arbitrary: fc.array(op, { minLength: 1, maxLength: 1 }), weight: 4 },
    { arbitrary: fc.array(op, { minLength: 1, maxLength: 8, size: "max" }), weight: 6 },
    { arbitrary: fc.array(op, { minLength: 1, maxLength: 40, size: "max" }), weight: 1 },
  ),
  fails: fc.oneof({ arbitrary: fc.constant(null), weight: 8 }, { arbitrary: fc.nat({ max: 7 }), weight: 1 }),
  second: fc.boolean(),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: commit, weight: 20 },
  { arbitrary: fc.record({ step: fc.constant("clock" as const), picks: numbers(3) }), weight: 7 },
  { arbitrary: fc.constant({ step: "compare" as const }), weight: 3 },
  { arbitrary: fc.constant({ step: "reopen" as const }), weight: 1 },
);

export const script: fc.Arbitrary<Script> = fc.record({
  world: numbers(10),
  steps: fc.noBias(fc.array(step, { minLength: 1, maxLength: 30, size: "max" })),
});
