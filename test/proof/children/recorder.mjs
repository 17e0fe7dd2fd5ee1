// Records the calls of this process in a file, so that the record survives the process: a line before each call and one after it.
// Times are of the clock that all processes of a machine share.

import { appendFileSync } from "node:fs";

/** Nothing has changed. Any other error leaves open whether it has. */
const refusals = new Set([
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "TASK_ALREADY_CLAIMED",
  "TASK_NOT_CLAIMABLE",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "CLAIM_EXPIRED",
  "STALE_EPOCH",
  "INVALID_STATE",
  "TASK_CANCELLED",
  "TASK_NOT_AWAITING",
  "TASK_NOT_CANCELLABLE",
  "QUESTION_MISMATCH",
  "CHILDREN_OPEN",
]);

const now = () => Number(process.hrtime.bigint() / 1000n);

export function recorderTo(file, name) {
  let count = 0;
  const write = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`);
  return {
    note: (line) => write(line),
    /** The answer; null if the call was refused or nobody knows what became of it. */
    async call(dibs, operation, input, key) {
      const id = ++count;
      const [group, method] = operation.split(".");
      write({ id, process: name, call: operation, input, key, start: now() });
      try {
        const answer = await dibs[group][method](input, key === undefined ? {} : { idempotencyKey: key });
        write({ id, end: now(), answer });
        return answer;
      } catch (error) {
        const { code, message } = error;
        if (refusals.has(code)) write({ id, end: now(), refusal: code });
        else write({ id, error: { code: code ?? "none", message } });
        return null;
      }
    },
  };
}
