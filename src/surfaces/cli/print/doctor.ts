import type { Display, Style } from "./display.js";
import { plain, wrap } from "./text.js";

export interface Finding {
  check: string;
  status: "ok" | "fixed" | "warn" | "problem";
  message: string;
  /** What to do about it. */
  advice?: string;
}

const styles: Record<Finding["status"], Style> = {
  ok: "green",
  fixed: "cyan",
  warn: "yellow",
  problem: "red",
};

export function doctorText(findings: readonly Finding[], display: Display): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = 9 + width + 2;
  const lines = findings.flatMap(({ check, status, message, advice }) => {
    const [first = "", ...rest] = wrap(plain(message), display.columns - indent);
    const below = [
      ...rest,
      ...(advice === undefined ? [] : wrap(`→ ${plain(advice)}`, display.columns - indent)),
    ];
    return [
      `${display.paint(status.padEnd(9), styles[status])}${check.padEnd(width + 2)}${first}`,
      ...below.map((line) => `${" ".repeat(indent)}${line}`),
    ];
  });
  const count = (wanted: Finding["status"]) => findings.filter(({ status }) => status === wanted).length;
  const [problems, warnings] = [count("problem"), count("warn")];
  const end =
    problems + warnings === 0
      ? "All is well."
      : `${problems} ${problems === 1 ? "problem" : "problems"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;
  return [...lines, end].join("\n");
}
