// `dibs land`: lands what was submitted. The lander does it; here is what people see of it.

import {
  acceptRewind,
  type LanderOptions,
  previewLandings,
  runLander,
  type Step,
} from "../../../lander/index.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import type { Display } from "../print/display.js";
import { plain } from "../print/text.js";
import { span } from "../print/time.js";
import { usageError } from "../spec.js";

const sha = (commit: string) => commit.slice(0, 10);

/** One line; null: nothing worth a line at a terminal. */
export function stepLine(step: Step, display: Display, { isDry = false } = {}): string | null {
  const good = (word: string) => display.paint(word, "green");
  const bad = (word: string) => display.paint(word, "red");
  switch (step.step) {
    case "leased":
      return `landing on ${plain(step.target)}`;
    case "waiting":
      return `another lander works on ${plain(step.target)}; waiting for it to end`;
    case "idle":
      return display.paint(`nothing to land on ${plain(step.target)}; waiting`, "dim");
    case "merged":
      return display.paint(
        `${plain(step.taskId)} ${isDry ? "would merge" : "merged"} as ${sha(step.commit)}`,
        "dim",
      );
    case "conflict":
      return `${plain(step.taskId)} ${bad("conflict")} in ${step.paths.slice(0, 5).map(plain).join(", ")}`;
    case "check": {
      const state = step.state === "passed" || step.state === "flaky" ? good(step.state) : bad(step.state);
      return `check ${plain(step.name)} ${state} in ${span(step.durationMs)}`;
    }
    case "review":
      return `${plain(step.taskId)} waits for a review`;
    case "landed": {
      const as = step.commit === null ? "no change" : `${sha(step.commit)} on ${plain(step.target)}`;
      return `${plain(step.taskId)} ${good("landed")}: ${as}`;
    }
    case "returned":
      return `${plain(step.taskId)} ${bad("returned")}: ${plain(step.detail.split("\n")[0]!)}`;
    case "held":
      return step.holds
        .map(({ message, fix }) => `${bad("held")}: ${plain(message)}${fix ? ` Run: ${plain(fix)}` : ""}`)
        .join("\n");
    case "settled":
      return `landing ${plain(step.landing)} of the lander before: ${step.as}`;
    case "kept":
      return display.paint(plain(step.message), "dim");
  }
}

export async function landerOptions(context: Context): Promise<LanderOptions> {
  const { parts } = context;
  return {
    dibs: await context.lastingDibs(),
    directory: parts.cwd,
    machine: await parts.machine(),
    signal: parts.stopping,
    onTrouble: (error) => parts.err(`dibs: ${plain((error as Error).message)}\n`),
    ...given({ project: context.text("project") ?? (parts.env.DIBS_PROJECT || undefined) }),
  };
}

const land: SingleCommand["run"] = async (context) => {
  if (context.on("once") && context.on("dry-run")) {
    throw usageError("--once and --dry-run cannot be combined.");
  }
  const { parts } = context;
  const isDry = context.on("dry-run");
  let hasNothing = true;
  const options: LanderOptions = {
    ...(await landerOptions(context)),
    once: context.on("once"),
    onStep: (step) => {
      hasNothing = false;
      context.say(step, (display) => stepLine(step, display, { isDry }) ?? "");
    },
  };
  if (context.on("accept-rewind")) await acceptRewind(options);
  if (isDry) {
    const { held } = await previewLandings(options);
    if (held.length > 0) options.onStep?.({ step: "held", holds: held });
    else if (hasNothing && !context.isJson) parts.out("nothing to land\n");
    return held.length > 0 ? 1 : 0;
  }
  const { held, landed, returned } = await runLander(options);
  if (!context.on("once")) return 0;
  if (landed + returned + held.length === 0 && !parts.stopping.aborted && !context.isJson)
    parts.out("nothing to land\n");
  return held.length > 0 ? 1 : 0;
};

export const commands: Record<string, SingleCommand> = {
  land: {
    name: "land",
    summary: "Land what was submitted: merge it, run the checks, move the target branch",
    details:
      "Runs inside the project's repository until stopped. One lander works at a time; others wait for it to end. dibs work and dibs serve land as well.\n" +
      "A change that conflicts or whose check is red goes back to the queue with the reason, without using a retry. A check that is red on the target itself returns nothing: landing is held, and dibs inbox says why.\n" +
      "Only the target moves, and only forward. Uncommitted, untracked and ignored files are never changed.",
    flags: {
      once: { help: "exit when nothing can land" },
      "dry-run": { help: "show what would merge or conflict, without checks; move nothing" },
      "accept-rewind": {
        help: "continue although the target no longer has the commit that landed last",
      },
    },
    exits: {
      0: "stopped; with --once: nothing is held",
      1: "with --once or --dry-run: a landing is held",
    },
    examples: ["dibs land", "dibs land --once --json", "dibs land --dry-run"],
    run: land,
  },
};
