import type { RetrySettings } from "./project.js";

/** Delay before retry number `retry` (1 for the first). `spread` in -1…1 is the caller's randomness. */
export function retryDelayMs(settings: RetrySettings, retry: number, spread: number): number {
  const grown =
    settings.backoff === "fixed" ? settings.delayMs : settings.delayMs * 2 ** Math.min(retry - 1, 52);
  const jittered = Math.min(grown, settings.maxDelayMs) * (1 + settings.jitter * spread);
  return Math.round(Math.min(jittered, settings.maxDelayMs));
}

/** A spread for what no caller asked for: the same attempt always has the same one, and attempts differ. */
export function spreadOf(taskId: string, epoch: number): number {
  let hash = 2_166_136_261;
  for (const unit of `${taskId}/${epoch}`) hash = Math.imul(hash ^ unit.codePointAt(0)!, 16_777_619) >>> 0;
  return (hash / 2 ** 32) * 2 - 1;
}
