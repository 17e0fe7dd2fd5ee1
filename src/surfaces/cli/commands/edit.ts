import { priorityText } from "../../../client/view/words.js";
import type { OutputOf } from "../../../contract/operation.js";
import { type PriorityWord, priorityWords } from "../../../contract/priority.js";
import type { OperationNamed } from "../../../contract/registry.js";
import { doMany, isMany, manyDetails, manyExits, manyFlags } from "../bulk.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { dependentsText, openSubtasksText, printDependentsOfMany } from "../dependents.js";
import { taskPage } from "../print/task-page.js";
import { plain } from "../print/text.js";
import { type FlagSpec, usageError } from "../spec.js";
import { usesFlag, usesOf } from "../uses.js";

/** What a task can be given when it is added and when it is edited. */
const taskFlags: Record<string, FlagSpec> = {
  title: { value: "<text>", help: "title; default: from the first line of the prompt" },
  description: { value: "<text>", help: "longer description" },
  priority: {
    value: "<0-100|word>",
    short: "p",
    help: "priority: 0 to 100, p1 to p5, or critical, high, medium, low",
  },
  "depends-on": { value: "<id>", short: "d", many: true, help: "tasks that must be completed first" },
  label: { value: "<text>", short: "l", many: true, help: "label; repeatable: -l docs -l urgent" },
  files: { value: "<path>", many: true, help: "paths or globs that the task will change" },
  assignee: { value: "<session>", help: "only this session can claim it" },
  "agent-type": { value: "<word>", help: "only agents of this type can claim it" },
  requires: {
    value: "<word>",
    many: true,
    help: "capability that the agent needs; repeatable: --requires gpu --requires docker",
  },
  uses: usesFlag("each attempt"),
  phase: { value: "<word>", help: "phase, such as implementation or test" },
  "max-retries": { value: "<n>", help: "number of automatic retries" },
  "not-before": { value: "<time>", help: "earliest start: an ISO time, a duration such as 2h, or now" },
  timeout: { value: "<duration>", help: "maximum duration of one attempt" },
  metadata: { value: "<json>", help: "JSON object to store with the task" },
};

function taskFields(context: Context) {
  return given({
    title: context.text("title"),
    description: context.text("description"),
    priority: priorityOf(context.text("priority")),
    dependsOn: context.list("depends-on"),
    labels: context.texts("label"),
    files: context.texts("files"),
    assignee: context.text("assignee"),
    agentType: context.text("agent-type"),
    requires: context.texts("requires"),
    uses: usesOf(context),
    phase: context.text("phase"),
    maxRetries: context.number("max-retries"),
    notBefore: notBeforeOf(context),
    timeoutMs: context.text("timeout") === "" ? undefined : context.duration("timeout"),
    metadata: context.text("metadata") === "" ? undefined : (context.json("metadata") as never),
  });
}

/** 1 to 5 are refused: people also write them for p1 to p5, where 1 is the most urgent. */
function priorityOf(text: string | undefined): never {
  if (text !== undefined && /^[1-5]$/.test(text)) {
    const word = `p${text}` as PriorityWord;
    const [ofHundred, ofFive] = [priorityText(Number(text)), priorityText(priorityWords[word])];
    throw usageError(
      `--priority ${text} is ambiguous: ${ofHundred} of 100, or ${ofFive} on the scale from 1 to 5.`,
      `Write --priority ${word} for ${ofFive}, or --priority 0${text} for ${ofHundred}.`,
    );
  }
  return (text !== undefined && /^\d+$/.test(text) ? Number(text) : text) as never;
}

function notBeforeOf(context: Context): string | number | undefined {
  const text = context.text("not-before");
  if (text === undefined || isNow(text)) return undefined;
  if (/^\d{4}-/.test(text)) return text;
  // Milliseconds since 1970, as the API takes them: a duration would be decades.
  if (/^\d{12,}$/.test(text)) return Number(text);
  if (/^[a-z]/i.test(text)) {
    const example = "For example: 2h, 2026-01-31T12:00:00Z, or now";
    throw usageError(`--not-before must be a time or a duration, not '${text}'.`, example);
  }
  return context.parts.now() + context.duration("not-before")!;
}

/** No time at all, rather than this clock's: the store's may be behind. */
const isNow = (text: string) => text === "" || text === "now";

/** What an empty value takes away: `--assignee ""`. */
function cleared(context: Context): Record<string, null> {
  const fields = {
    description: "description",
    phase: "phase",
    assignee: "assignee",
    "agent-type": "agentType",
    "not-before": "notBefore",
    timeout: "timeoutMs",
    metadata: "metadata",
  };
  const isEmpty = (flag: string) =>
    context.text(flag) === "" || (flag === "not-before" && context.text(flag) === "now");
  const empty = Object.entries(fields).filter(([flag]) => isEmpty(flag));
  return Object.fromEntries(empty.map(([, field]) => [field, null]));
}

/** From the words, or from standard input for `-`. */
async function promptOf(context: Context): Promise<string> {
  const words = context.args.join(" ");
  const isAlone = words === "" && context.parts.stdin.isTerminal;
  const text = isAlone ? "" : await context.textOrInput(words || "-");
  if (text.trim() !== "") return text;
  throw usageError("Missing prompt.", 'Usage: dibs add "Write the docs", or pipe it to dibs add -');
}

/** A task that was cancelled before is not among those that its cascade cancels. */
function cancelledText({ task, cancelled }: OutputOf<OperationNamed<"tasks.cancel">>): string {
  const below = cancelled.filter((id) => id !== task.id).length;
  if (below === cancelled.length)
    return `cancelled ${below === 1 ? "1 subtask" : `${below} subtasks`} below ${plain(task.id)}`;
  return `cancelled ${plain(task.id)}${below > 0 ? ` and ${below} below it` : ""}`;
}

export const commands: Record<string, SingleCommand> = {
  add: {
    name: "add",
    createsStore: true,
    args: "[prompt...]",
    summary: "Add a task",
    details:
      "The task is ready when its dependencies are completed. With - the prompt is read from standard input.",
    flags: {
      id: { value: "<id>", help: "task id: your own, or one from dibs next-id" },
      parent: { value: "<id>", help: "create it as a subtask of this task" },
      group: { help: "create a group: it has subtasks and is never claimed itself" },
      ...taskFlags,
      "depends-on": {
        ...taskFlags["depends-on"]!,
        strict: true,
        help: "tasks that must be completed first: -d 0001,0002 or -d 0001 -d 0002",
      },
      correlation: { value: "<word>", help: "id in another system, stored with every attempt" },
    },
    exits: { 1: "the id is taken, or the parent has ended" },
    examples: [
      'dibs add "Write the docs" -p high -l docs',
      'dibs add -d 0001 -- "--help must show examples"',
      "git diff | dibs add -",
    ],
    async run(context) {
      const prompt = await promptOf(context);
      const fields = taskFields(context);
      const dibs = await context.dibs();
      const answer = await dibs.tasks.create({
        prompt,
        ...fields,
        ...given({
          id: context.text("id"),
          parentId: context.text("parent"),
          type: context.on("group") ? ("group" as const) : undefined,
          correlationId: context.text("correlation"),
        }),
      });
      context.say(answer, () => `${plain(answer.task.id)}  ${plain(answer.task.title)}`);
    },
  },
  edit: {
    name: "edit",
    args: "[id...]",
    summary: "Edit tasks that are not completed",
    details: `A failed or cancelled task can be edited before dibs retry. A list replaces the old one; --add-label and --remove-label change one label. An empty value clears a field: --assignee "". ${manyDetails}`,
    flags: {
      prompt: { value: "<text>", help: "new prompt; - reads standard input" },
      ...taskFlags,
      "add-label": { value: "<text>", many: true, help: "label to add; repeatable" },
      "remove-label": { value: "<text>", many: true, help: "label to remove; repeatable" },
      ...manyFlags,
    },
    exits: { 1: "completed, or its state does not allow the change", ...manyExits },
    examples: [
      "dibs edit 0001 -p critical -l docs -l urgent",
      'dibs edit 0001 0002 --assignee ""',
      'dibs edit --filter "is:ready label:ui" -p high',
    ],
    async run(context) {
      const prompt = context.text("prompt");
      const changes = {
        ...taskFields(context),
        ...cleared(context),
        ...given({
          prompt: prompt === undefined ? undefined : await context.textOrInput(prompt),
          addLabels: context.texts("add-label"),
          removeLabels: context.texts("remove-label"),
        }),
      };
      if (isMany(context)) return doMany(context, { action: "update", changes });
      const dibs = await context.dibs();
      const answer = await dibs.tasks.update({ taskId: context.taskId, ...changes });
      context.say(answer, (display) => taskPage(answer.task, display));
      return 0;
    },
  },
  cancel: {
    name: "cancel",
    args: "[id...]",
    summary: "Cancel tasks",
    details: `A running command is stopped; later calls of the agent are refused. ${manyDetails}`,
    flags: {
      cascade: { help: "also cancel unfinished subtasks, at every level" },
      reason: { value: "<text>", help: "reason, shown with the task" },
      ...manyFlags,
    },
    exits: { 1: "already ended", ...manyExits },
    examples: [
      "dibs cancel 0001 0002",
      'dibs cancel 0001 --cascade --reason "no longer needed"',
      'dibs cancel --filter "is:blocked label:old"',
    ],
    async run(context) {
      const how = given({ cascade: context.on("cascade") || undefined, reason: context.text("reason") });
      if (isMany(context)) {
        const code = await doMany(context, { action: "cancel", ...how });
        await printDependentsOfMany(context, context.args);
        return code;
      }
      const dibs = await context.dibs();
      const answer = await dibs.tasks.cancel({ taskId: context.taskId, ...how });
      const blocked = context.isJson ? "" : await dependentsText(dibs, answer);
      const open = context.isJson ? "" : await openSubtasksText(dibs, answer.task);
      context.say(answer, () => `${cancelledText(answer)}${open}${blocked}`);
      return 0;
    },
  },
  withdraw: {
    name: "withdraw",
    args: "<id>",
    summary: "Withdraw a submission and queue its task again",
    details: "What was handed in is kept. The task is ready again, in its old place.",
    flags: { reason: { value: "<text>", help: "reason, shown with the task" } },
    exits: { 1: "not submitted, or being landed" },
    examples: ['dibs withdraw 0001 --reason "the approach changed"'],
    async run(context) {
      const reason = given({ reason: context.text("reason") });
      const dibs = await context.dibs();
      const answer = await dibs.tasks.withdraw({ taskId: context.taskId, ...reason });
      context.say(answer, () => `withdrew ${plain(answer.task.id)}`);
      return 0;
    },
  },
  retry: {
    name: "retry",
    args: "[id...]",
    summary: "Queue failed or cancelled tasks again",
    details: manyDetails,
    flags: manyFlags,
    exits: { 1: "neither failed nor cancelled", ...manyExits },
    examples: ["dibs retry 0001 0002", 'dibs retry --filter "is:failed label:ui"'],
    async run(context) {
      if (isMany(context)) return doMany(context, { action: "retry" });
      const dibs = await context.dibs();
      const answer = await dibs.tasks.retry({ taskId: context.taskId });
      context.say(answer, () => `queued ${plain(answer.task.id)} again`);
      return 0;
    },
  },
  "next-id": {
    name: "next-id",
    args: "[parent]",
    summary: "Reserve the next task id, for scripts that create their own tasks",
    details:
      "No other task gets the id. Use it with dibs add --id; ids of subtasks can be reserved below it.",
    exits: { 1: "no ids left" },
    examples: ["id=$(dibs next-id)", "dibs next-id 0001", 'dibs add --id "$(dibs next-id)" "Write the docs"'],
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.ids.next(given({ parentId: context.args[0] }));
      context.say(answer, () => answer.id);
    },
  },
};
