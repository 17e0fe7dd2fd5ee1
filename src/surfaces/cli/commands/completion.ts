import type { SingleCommand } from "../command.js";
import { candidatesFor } from "../complete.js";
import { scripts } from "../completion-scripts.js";
import { type CommandSpec, usageError } from "../spec.js";

/** No store is needed. */
const noStore: CommandSpec["exits"] = { 3: null, 4: null, 6: null };

export const commands: Record<string, SingleCommand> = {
  completion: {
    name: "completion",
    args: "<bash|zsh|fish>",
    summary: "Print the completion script for a shell: commands, flags and task ids",
    exits: noStore,
    examples: [
      "source <(dibs completion bash)    # add this line to ~/.bashrc",
      "dibs completion zsh > ~/.zfunc/_dibs",
      "dibs completion fish > ~/.config/fish/completions/dibs.fish",
    ],
    async run(context) {
      const shell = context.args[0]!;
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) {
        throw usageError(`Unknown shell '${shell}'.`, `Supported: ${Object.keys(scripts).join(", ")}.`);
      }
      context.say({ script }, () => script);
    },
  },
  __complete: {
    name: "__complete",
    args: "[words...]",
    summary: "Print completion candidates; called by the completion scripts",
    exits: noStore,
    examples: ["dibs __complete -- show 00"],
    async run(context) {
      const lines = await candidatesFor(context, context.args);
      context.parts.out(lines.map((line) => `${line}\n`).join(""));
    },
  },
};
