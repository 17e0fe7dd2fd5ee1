import type { SingleCommand } from "../command.js";
import { usageError } from "../spec.js";

export const commands: Record<string, SingleCommand> = {
  demo: {
    name: "demo",
    summary: "Show a small fleet at work, in a temporary store",
    details: "DIBS_DEMO_SPEED multiplies every duration: 0.1 is ten times as fast.",
    exits: { 1: "a task was not completed exactly once", 3: null, 4: null, 6: null },
    examples: ["dibs demo", "DIBS_DEMO_SPEED=0.1 dibs demo"],
    async run(context) {
      if (!context.isJson) return context.parts.demo();
      throw usageError("dibs demo has no --json.", "Its exit code is its result.");
    },
  },
};
