import { backoffMs, retry } from "../../common/retry.js";
import { isConflict, isConnectionLoss, isLockTimeout, translate } from "./errors.js";

/** How long a lost connection or a restarting server is waited for. */
const patienceMsUsual = 20_000;
const pauseMs = { first: 20, max: 1_000 };

/** Retries what failed because of a lost connection, a restart or another transaction. */
export async function retryTransient<T>(
  where: string,
  attempt: () => Promise<T>,
  { patienceMs = patienceMsUsual, isPatientWithLocks = false } = {},
): Promise<T> {
  try {
    return await retry(attempt, {
      isTransient: (error) =>
        isConnectionLoss(error) || isConflict(error) || (isPatientWithLocks && isLockTimeout(error)),
      pauseMs: (failures) => backoffMs(pauseMs.first, failures, pauseMs.max),
      withinMs: patienceMs,
    });
  } catch (error) {
    throw translate(error, where);
  }
}
