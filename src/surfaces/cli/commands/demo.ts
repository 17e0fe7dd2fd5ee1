import type { SingleCommand } from "../command.js";

export const commands: Record<string, SingleCommand> = {
  demo: {
    name: "demo",
    summary: "Watch a small fleet at work, in a store of its own that is removed afterwards",
    details: "DIBS_DEMO_SPEED multiplies every duration: 0.1 is ten times as fast.",
    run: (context) => context.parts.demo(),
  },
};
