import type { WireAttempt } from "../../../contract/shapes.js";
import type { Display } from "./display.js";
import { table } from "./table.js";
import { plain } from "./text.js";
import { ago, span } from "./time.js";

/** An attempt that goes on has no end; how its lease is doing matters only where it is not well. */
const openText = (health: string | null) => (health === "healthy" ? "not yet" : `not yet, ${health}`);

export function attemptTable(attempts: readonly WireAttempt[], display: Display): string {
  if (attempts.length === 0) return "No attempts yet.\n";
  return table(
    attempts,
    [
      { head: "EPOCH", of: ({ epoch }) => String(epoch), right: true },
      { head: "SESSION", of: ({ sessionId }) => plain(sessionId), max: 24 },
      { head: "CLAIMED", of: ({ claimedAt }) => ago(claimedAt, display.now) },
      {
        head: "TOOK",
        of: ({ claimedAt, releasedAt }) =>
          releasedAt ? span(Date.parse(releasedAt) - Date.parse(claimedAt)) : "",
      },
      {
        head: "ENDED",
        of: ({ releasedAt, releaseReason, healthStatus }) =>
          releasedAt === null ? openText(healthStatus) : plain(releaseReason),
        max: 20,
      },
      {
        head: "OUTCOME",
        of: ({ error, result, lateResult }) =>
          plain(
            error ??
              result?.output ??
              (lateResult ? `late: ${lateResult.error ?? lateResult.result?.output}` : ""),
          ),
        grows: true,
      },
    ],
    display,
  );
}
