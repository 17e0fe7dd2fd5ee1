import { DibsError } from "../../contract/error.js";

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30d`, `90m`, `1500ms`; a bare number is milliseconds. `0001` is none: it is somebody's task. */
export function durationMs(text: string, before = ""): number {
  const match = /^((?:0|[1-9]\d*)(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (match) return Math.round(Number(match[1]) * units[match[2] ?? "ms"]!);
  throw new DibsError("VALIDATION_FAILED", `${before}'${text}' is not a duration.`, {
    hint: "Write for example 90s, 30m, 12h or 7d.",
  });
}
