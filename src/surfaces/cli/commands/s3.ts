// Commands for tools that have leaders and workers, with their words and priorities: 1 is the most urgent, 5 the default.

import { capabilityFlag, storeCapabilities } from "../capabilities.js";
import type { CommandGroup, SingleCommand } from "../command.js";
import { nothingToDo } from "../command.js";
import { type Context, given } from "../context.js";
import { dependentsText } from "../dependents.js";
import { nothingLine } from "../idle-notice.js";
import { stateHelp, tasksBy } from "../listing.js";
import { statsPage } from "../print/stats.js";
import { taskTable } from "../print/task.js";
import { plain } from "../print/text.js";
import { complete, fail, lostExit, resultFlags, start } from "../result.js";
import { usageError } from "../spec.js";

const priorityWords = ["critical", "high", "medium", "normal", "low"];

function priorityOf(text = "5"): never {
  const word = text.toLowerCase();
  if (/^p?[1-5]$/.test(word)) return `p${word.at(-1)}` as never;
  if (priorityWords.includes(word)) return word as never;
  throw usageError(
    `-p must be 1 to 5, or ${priorityWords.join(", ")}, not '${text}'.`,
    "1 is the most urgent. For a number from 0 to 100: dibs add -p.",
  );
}

const addTask: SingleCommand["run"] = async (context) => {
  const prompt = await context.textOrInput(context.args.join(" "));
  const dependsOn = context.list("depends") ?? [];
  const answer = await (await context.dibs()).tasks.create({
    prompt,
    priority: priorityOf(context.text("priority")),
    ...(dependsOn.length > 0 ? { dependsOn } : {}),
  });
  context.say(answer, () => `${plain(answer.task.id)}  ${plain(answer.task.title)}`);
};

const claim: SingleCommand["run"] = async (context) => {
  const [sessionId = ""] = context.args;
  const dibs = await context.dibs();
  await storeCapabilities(context, dibs, sessionId);
  const answer = await dibs.tasks.claimNext({ sessionId, register: true });
  context.say(answer, () =>
    answer.task === null
      ? nothingLine("why" in answer ? answer.why : undefined)
      : [`${plain(answer.task.id)}  ${plain(answer.task.title)}`, next(sessionId, answer.task.id)].join("\n"),
  );
  return answer.claim === null ? nothingToDo : 0;
};

const next = (agent: string, id: string) => `next: dibs worker start ${plain(agent)} ${plain(id)}`;

/** `<agent> <task>`; whoever names itself here need not be given by flag. */
function holderOf(context: Context) {
  const [sessionId = "", taskId = ""] = context.args;
  return { sessionId, taskId, ...given({ epoch: context.epochOf(taskId) }) };
}

const wordsOf = (context: Context) => context.textOrInput(context.args.slice(2).join(" "));

export const commands: Record<string, CommandGroup> = {
  leader: {
    name: "leader",
    summary: "Add, cancel and list tasks with priorities from 1 to 5",
    parts: {
      "add-task": {
        name: "leader add-task",
        createsStore: true,
        args: "<description...>",
        summary: "add a task",
        flags: {
          priority: { value: "<1-5>", short: "p", help: "priority: 1 (most urgent) to 5 (default)" },
          depends: { value: "<id>", short: "d", rest: true, help: "tasks that must be completed first" },
        },
        exits: { 1: "no ids left" },
        examples: ['dibs leader add-task "Create endpoints" -p 2 -d task-001 task-002'],
        run: addTask,
      },
      cancel: {
        name: "leader cancel",
        args: "<id>",
        summary: "cancel a task",
        exits: { 1: "already ended" },
        examples: ["dibs leader cancel 0001"],
        async run(context) {
          const dibs = await context.dibs();
          const answer = await dibs.tasks.cancel({ taskId: context.args[0]! });
          const blocked = context.isJson ? "" : await dependentsText(dibs, answer);
          context.say(answer, () => `cancelled ${plain(answer.task.id)}${blocked}`);
        },
      },
      list: {
        name: "leader list",
        reads: true,
        summary: "list tasks",
        flags: { status: { value: "<state>", short: "s", many: true, help: stateHelp } },
        examples: ["dibs leader list", "dibs leader list -s failed"],
        async run(context) {
          const answer = await tasksBy(await context.dibs(), context.list("status"), {}, context.parts.now());
          context.say(answer, (display) => taskTable(answer.tasks, display));
        },
      },
      status: {
        name: "leader status",
        reads: true,
        summary: "show tasks by state, and throughput",
        examples: ["dibs leader status"],
        async run(context) {
          const answer = await (await context.dibs()).stats.get();
          context.say(answer, (display) => statsPage(answer, display));
        },
      },
    },
  },
  worker: {
    name: "worker",
    summary: "Claim, start, complete and fail tasks as a named agent",
    parts: {
      claim: {
        name: "worker claim",
        args: "<agent>",
        summary: "claim the best ready task",
        flags: capabilityFlag,
        exits: { 5: "nothing to claim" },
        examples: ["dibs worker claim terminal-2"],
        run: claim,
      },
      start: {
        name: "worker start",
        args: "<agent> <id>",
        summary: "start a claimed task",
        exits: lostExit,
        examples: ["dibs worker start terminal-2 0001"],
        run: (context) => start(context, holderOf(context)),
      },
      complete: {
        name: "worker complete",
        args: "<agent> <id> [output...]",
        summary: "complete a task",
        flags: resultFlags,
        exits: lostExit,
        examples: ['dibs worker complete terminal-2 0001 "Created User model" -c src/models/user.ts'],
        run: async (context) => complete(context, holderOf(context), await wordsOf(context)),
      },
      fail: {
        name: "worker fail",
        args: "<agent> <id> [error...]",
        summary: "report a failed attempt",
        exits: lostExit,
        examples: ['dibs worker fail terminal-2 0001 "Missing dependency: bcrypt"'],
        run: async (context) => fail(context, holderOf(context), await wordsOf(context)),
      },
    },
  },
};
