import { isConflict, isConnectionLoss, isLockTimeout, translate } from "./errors.js";

/** How long a lost connection or a restarting server is waited for. */
const patienceMsUsual = 20_000;
const pauseMs = { first: 20, max: 1_000 };

/** Tries again what a lost connection, a restart or another transaction has spoilt. */
export async function persistently<T>(
  where: string,
  attempt: () => Promise<T>,
  { patienceMs = patienceMsUsual, isPatientWithLocks = false } = {},
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const mayPass =
        isConnectionLoss(error) || isConflict(error) || (isPatientWithLocks && isLockTimeout(error));
      if (!mayPass || performance.now() > deadline) throw translate(error, where);
    }
    const pause = Math.min(pauseMs.first * 2 ** tries, pauseMs.max) * (0.5 + Math.random());
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
