import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { WireReason } from "../../../contract/shapes.js";
import type { Display } from "./display.js";
import { plain } from "./text.js";
import { ago } from "./time.js";

/** Being worked on or done is an answer, too. */
function verdictOf([first]: readonly WireReason[]): string {
  if (first?.code === "CLAIMED") return "is taken";
  return first?.code === "TERMINAL" ? "has ended" : "is not running";
}

/** Reasons first, what to type last. */
export function explanation(
  { taskId, claimable, reasons }: OutputOf<OperationNamed<"tasks.explain">>,
  display: Display,
): string {
  const head = claimable ? `${plain(taskId)} can be claimed now.` : `${plain(taskId)} ${verdictOf(reasons)}:`;
  const lines = reasons.flatMap(({ code, message, until }) => {
    const when = until ? display.paint(` (${ago(until, display.now)})`, "dim") : "";
    // The chain may be long: its cause has a line of its own.
    const [chain, ...cause] = plain(message).split(/ (?=Root cause: )/);
    return [`  ${chain}${when} ${display.paint(code, "dim")}`, ...cause.map((text) => `  ${text}`)];
  });
  const fixes = [...new Set(reasons.flatMap(({ fix }) => (fix ? [plain(fix)] : [])))];
  const help = fixes.map((fix) => `  ${display.paint(fix, "bold")}`);
  return [head, ...lines, ...(fixes.length > 0 ? ["", "What would help:", ...help] : [])].join("\n");
}
