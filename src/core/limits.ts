// Every bound of the product in one place. Anything a caller can make long, many or deep has a line here.

export const limits = {
  promptBytesMax: 256 * 1024,
  resultBytesMax: 1024 * 1024,
  logBytesMax: 256 * 1024,
  logAppendBytesMax: 64 * 1024,
  lateResultBytesMax: 64 * 1024,
  lateFilesMax: 100,
  metadataBytesMax: 64 * 1024,
  metadataDepthMax: 100,
  titleLengthMax: 500,
  errorLengthMax: 64 * 1024,
  questionLengthMax: 16 * 1024,
  responseLengthMax: 64 * 1024,
  noteLengthMax: 16 * 1024,
  reasonLengthMax: 1000,
  wordLengthMax: 128,
  pathLengthMax: 4096,
  gitNameLengthMax: 255,
  summaryLengthMax: 16 * 1024,
  detailLengthMax: 16 * 1024,
  logTailLengthMax: 8 * 1024,
  checksMax: 50,
  checkResultsMax: 100,
  argumentsMax: 100,
  landingTasksMax: 100,
  holdsMax: 100,
  patchBytesMax: 1024 * 1024,
  diffFilesMax: 300,
  reviewPathsMax: 50,
  reviewsMax: 50,
  labelsMax: 50,
  filesMax: 1000,
  requiresMax: 50,
  optionsMax: 20,
  dependsOnMax: 1000,
  depthMax: 32,
  idLengthMax: 128,
  batchMax: 10_000,
  /** A plan's own, and those that are gone from it and still open. */
  planTasksMax: 20_000,
  bulkMax: 1000,
  bulkRefusedMax: 100,
  /** Calls in one request; they share a commit, and a commit has no more jobs than a few hundred. */
  manyMax: 200,
  capacityMax: 1000,
  pageDefault: 100,
  pageMax: 1000,
  rowIdsMax: 100,
  transitiveMax: 1000,
  unblockedMax: 100,
  graphWalkMax: 100_000,
  historyMax: 10,
  avoidMax: 100,
  sweepMax: 1000,
  openClaimsMax: 100_000,
  breakersMax: 1000,
  resourcesMax: 200,
  /** Of one claim. */
  usesMax: 8,
  unitsMax: 1_000_000,
  budgetsMax: 8,
  budgetAmountMax: 1_000_000_000,
  usdMax: 1_000_000,
  tokensMax: 1_000_000_000_000,
  waitMsMax: 60_000,
  idempotencyKeyLengthMax: 255,
  idempotencyMs: 24 * 60 * 60 * 1000,
  /** Stores forget a key only when a clock set back by a day could not bring it to life again: nobody sees when they tidy up. */
  idempotencyKeepMs: 48 * 60 * 60 * 1000,
} as const;

/** A worker can hold a resource for at most this long. */
export const workerHoldMs = 6 * 60 * 60_000;

/** How long usage of an attempt is accepted after its end. */
export const lateUsageMs = 24 * 60 * 60_000;

/** How long a session is not handed again what it just released. */
export const avoidMs = 60_000;

/** A failure later than this after the start is an honest one. */
export const quickMs = 15_000;

/** How long a lock holds without being renewed, unless its process tells better. */
export const lockTtlMs = 30 * 60_000;

/** How long a lander holds its lease without renewing it. */
export const landerTtlMs = 60_000;

/** A session's `lastSeenAt` moves in steps of this size, so that a busy session costs no write per call. */
export const seenStepMs = 5000;

/** The clock may step back by this much (NTP) and time stands still; beyond it, time follows the clock. */
export const clockStepBackMsMax = 60_000;

/** The beginning of a text. Half of a surrogate pair has no UTF-8 form: no store could keep it, no import would take it. */
export function beginningOf(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).toWellFormed();
}

export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}
