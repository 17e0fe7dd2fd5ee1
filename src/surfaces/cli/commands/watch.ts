import type { SingleCommand } from "../command.js";
import { whereFor } from "../connection.js";
import type { WatchRequest } from "../parts.js";
import { listFlags, usageError } from "../spec.js";

const views = ["fleet", "queue", "inbox"] as const satisfies readonly WatchRequest["view"][];

export const commands: Record<string, SingleCommand> = {
  watch: {
    name: "watch",
    summary: "Watch sessions, queue and inbox live in the terminal; answer, review, retry and cancel",
    details:
      "Keys: 1-4 or Tab switch views, j/k and arrows move, Enter opens, Esc goes back, / filters, a answers or approves, r retries or requests changes, c cancels, x releases by force, p chooses the project, ? shows all of them, q quits.",
    flags: {
      all: listFlags.all,
      view: { value: "<view>", choices: views, help: "first view" },
      filter: {
        value: "<text>",
        help: "initial filter, such as 'is:blocked agent:a7 label:ui age:>1h'",
      },
    },
    examples: ["dibs watch", "dibs watch --all --view inbox", "dibs watch --filter 'is:open -label:later'"],
    async run(context) {
      const { stdin, stdout } = context.parts;
      const instead = "Run: dibs list, or dibs events -f";
      if (context.isJson) throw usageError("dibs watch has no --json.", instead);
      if (!stdin.isTerminal || !stdout.isTerminal) throw usageError("dibs watch needs a terminal.", instead);
      const { project } = await whereFor(context, context.parts);
      const filter = context.text("filter");
      await context.parts.watch({
        dibs: await context.lastingDibs(),
        project: context.on("all") ? "*" : project,
        view: (context.text("view") ?? (filter === undefined ? "fleet" : "queue")) as WatchRequest["view"],
        filter: filter ?? "",
        sessionId: context.asSession,
      });
    },
  },
};
