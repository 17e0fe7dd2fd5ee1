import { DibsError } from "../../contract/error.js";

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30d`, `90m`, `1500ms`. Only 0 needs no unit: a bare number is seconds for some people and minutes for others. */
export function durationMs(text: string, name: string): number {
  const match = /^((?:0|[1-9]\d*)(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  const [, number, unit] = match ?? [];
  if (number !== undefined && (unit !== undefined || Number(number) === 0))
    return Math.round(Number(number) * units[unit ?? "ms"]!);
  if (number !== undefined)
    throw new DibsError("VALIDATION_FAILED", `${name} needs a unit: ${number}s, ${number}m or ${number}h.`);
  throw new DibsError("VALIDATION_FAILED", `${name} must be a duration, not '${text}'.`, {
    hint: "For example: 90s, 30m, 12h or 7d",
  });
}
