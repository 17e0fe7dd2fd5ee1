import type { SingleCommand } from "../command.js";
import { given } from "../context.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { ago } from "../print/time.js";

const shownMax = 3;

const filesText = (paths: readonly string[], count: number) =>
  `${paths.slice(0, shownMax).map(plain).join(", ")}${count > shownMax ? ` and ${count - shownMax} more` : ""}`;

export const commands: Record<string, SingleCommand> = {
  conflicts: {
    name: "conflicts",
    reads: true,
    summary: "List tasks in flight that change the same files",
    details:
      "dibs work reports the files that a task's worktree has changed. Nothing waits because of an overlap, and each pair is in the inbox once, until one of its tasks has ended.\n" +
      "For paths that only one task at a time can change, set scopes.exclusive of the project.",
    flags: { limit: { value: "<n>", help: "maximum number of results; default 100" } },
    examples: ["dibs conflicts"],
    async run(context) {
      const answer = await (await context.dibs()).tasks.conflicts(given({ limit: context.number("limit") }));
      context.say(answer, (display) =>
        answer.conflicts.length === 0
          ? "No tasks in flight change the same files."
          : table(
              answer.conflicts,
              [
                {
                  head: "TASKS",
                  of: ({ tasks }) => tasks.map(({ taskId }) => plain(taskId)).join(" "),
                  whole: true,
                },
                { head: "STATES", of: ({ tasks }) => tasks.map(({ state }) => state).join(" ") },
                { head: "FILES", of: ({ paths, count }) => filesText(paths, count), grows: true },
                { head: "FOUND", of: ({ at }) => ago(at, display.now) },
              ],
              display,
            ),
      );
    },
  },
};
