import type { SingleCommand } from "../command.js";
import { candidatesFor } from "../complete.js";
import { scripts } from "../completion-scripts.js";
import { type CommandSpec, usageError } from "../spec.js";

/** It asks none, or does without its answer. */
const noStore: CommandSpec["exits"] = { 3: null, 4: null, 6: null };

export const commands: Record<string, SingleCommand> = {
  completion: {
    name: "completion",
    args: "<bash|zsh|fish>",
    summary: "Print what a shell needs to complete commands, flags and task ids",
    exits: noStore,
    examples: [
      "source <(dibs completion bash)        # in ~/.bashrc",
      "source <(dibs completion zsh)         # in ~/.zshrc, after compinit",
      "dibs completion fish | source         # in ~/.config/fish/config.fish",
    ],
    async run(context) {
      const shell = context.args[0]!;
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) {
        throw usageError(
          `'${shell}' is not a shell known here.`,
          `One of ${Object.keys(scripts).join(", ")}.`,
        );
      }
      context.say({ script }, () => script);
    },
  },
  __complete: {
    name: "__complete",
    args: "[words...]",
    summary: "Say what can stand next; called by the completion scripts",
    exits: noStore,
    examples: ["dibs __complete -- show 00"],
    async run(context) {
      const lines = await candidatesFor(context, context.args);
      context.parts.out(lines.map((line) => `${line}\n`).join(""));
    },
  },
};
