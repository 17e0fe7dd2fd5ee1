import type { Command } from "../command.js";
import { type Context, given } from "../context.js";
import { explanation } from "../print/explain.js";
import { taskPage, taskTable } from "../print/task.js";
import { plain } from "../print/text.js";
import { type FlagSpec, usageError } from "../spec.js";

/** What a task can be given when it is added and when it is edited. */
const taskFlags: Record<string, FlagSpec> = {
  title: { value: "<text>", help: "default: made from the prompt's first line" },
  description: { value: "<text>", help: "more words" },
  priority: { value: "<0-100|word>", short: "p", help: "number, p1…p5, or critical, high, medium, low" },
  "depends-on": { value: "<id>", short: "d", many: true, help: "tasks that must be completed first" },
  label: { value: "<word>", short: "l", many: true, help: "labels" },
  files: { value: "<path>", many: true, help: "paths or globs it expects to touch" },
  assignee: { value: "<session>", help: "only this session may take it" },
  "agent-type": { value: "<word>", help: "only agents of this type" },
  requires: { value: "<word>", many: true, help: "capabilities an agent needs" },
  phase: { value: "<word>", help: "such as implementation or test" },
  "max-retries": { value: "<n>", help: "automatic retries" },
  "not-before": { value: "<time>", help: "an ISO time, or a duration from now such as 2h" },
  timeout: { value: "<duration>", help: "how long one attempt may take" },
};

function taskFields(context: Context) {
  const { now } = context.parts;
  const notBefore = context.text("not-before");
  return given({
    title: context.text("title"),
    description: context.text("description"),
    priority: priorityOf(context.text("priority")),
    dependsOn: context.list("depends-on"),
    labels: context.list("label"),
    files: context.list("files"),
    assignee: context.text("assignee"),
    agentType: context.text("agent-type"),
    requires: context.list("requires"),
    phase: context.text("phase"),
    maxRetries: context.number("max-retries"),
    notBefore:
      notBefore === undefined
        ? undefined
        : /^\d{4}-/.test(notBefore)
          ? notBefore
          : now() + context.duration("not-before")!,
    timeoutMs: context.duration("timeout"),
  });
}

const priorityOf = (text: string | undefined) =>
  (text !== undefined && /^\d+$/.test(text) ? Number(text) : text) as never;

/** From the words, or from standard input for `-`. */
async function promptOf(context: Context): Promise<string> {
  const text = context.args.join(" ");
  if (text !== "-" && text !== "") return text;
  const input = await context.parts.readInput();
  if (input.trim() !== "") return input;
  throw usageError(
    "The prompt is empty.",
    'Write it: dibs add "Write the docs", or give it on standard input.',
  );
}

const list: Command["run"] = async (context) => {
  const dibs = await context.dibs();
  const input = given({
    state: (context.list("status") ?? context.list("state")) as never,
    label: context.text("label"),
    assignee: context.text("assignee"),
    parent: context.text("parent"),
    q: context.text("search"),
    claimable: context.on("claimable") || undefined,
    limit: context.number("limit"),
    cursor: context.text("cursor"),
    project: context.on("all") ? "*" : undefined,
  });
  const found = await dibs.tasks.list(input);
  context.say(found, (look) => {
    const more = found.nextCursor === null ? "" : look.paint(`more: --cursor ${found.nextCursor}\n`, "dim");
    return `${taskTable(found.tasks, look, { withProject: context.on("all") })}${more}`;
  });
};

export const commands: Record<string, Command> = {
  add: {
    name: "add",
    args: "[prompt...]",
    summary: "Add a task; it is claimable when its dependencies are completed",
    flags: {
      id: { value: "<id>", help: "an id of your own" },
      parent: { value: "<id>", help: "make it a part of this task" },
      group: { help: "a group: holds parts, is never claimed itself" },
      ...taskFlags,
    },
    examples: [
      'dibs add "Write the docs" -p high -l docs',
      'dibs add -d 0001 -- "--help must show examples"',
      "git diff | dibs add -",
    ],
    async run(context) {
      const prompt = await promptOf(context);
      const dibs = await context.dibs();
      const answer = await dibs.tasks.create({
        prompt,
        ...taskFields(context),
        ...given({
          id: context.text("id"),
          parentId: context.text("parent"),
          type: context.on("group") ? ("group" as const) : undefined,
        }),
      });
      context.say(answer, () => `${plain(answer.task.id)}  ${plain(answer.task.title)}`);
    },
  },
  list: {
    name: "list",
    summary: "List tasks in creation order",
    flags: {
      status: {
        value: "<state>",
        short: "s",
        many: true,
        help: "queued, claimed, running, awaiting_response, completed, failed, cancelled; other tools' words are understood",
      },
      state: { value: "<state>", many: true, help: "the same" },
      label: { value: "<word>", short: "l", help: "with this label" },
      assignee: { value: "<session>", help: "assigned to this session" },
      parent: { value: "<id>", help: "parts of this task" },
      search: { value: "<text>", short: "q", help: "part of id, title or prompt" },
      claimable: { help: "only what can be claimed now" },
      all: { short: "a", help: "of all projects" },
      limit: { value: "<n>", help: "how many at most; default 100" },
      cursor: { value: "<cursor>", help: "go on where a page ended" },
    },
    run: list,
  },
  ready: {
    name: "ready",
    summary: "List what can be claimed now, in the order of claiming",
    flags: { limit: { value: "<n>", help: "how many at most" } },
    async run(context) {
      const dibs = await context.dibs();
      const session = context.text("session") ?? context.parts.env.DIBS_SESSION;
      const answer = await dibs.tasks.claimable(
        given({ limit: context.number("limit"), sessionId: session }) as never,
      );
      context.say(answer, (look) =>
        answer.tasks.length === 0 ? "Nothing can be claimed now." : taskTable(answer.tasks, look),
      );
    },
  },
  show: {
    name: "show",
    args: "[id]",
    summary: "Show one task with its claim, question and result",
    flags: {
      log: { help: "show the output that its last attempt's runner kept" },
      attempts: { help: "show its attempts" },
    },
    async run(context) {
      const dibs = await context.dibs();
      const { taskId } = context;
      if (context.on("log")) {
        const log = await dibs.tasks.log(given({ taskId, epoch: context.epoch }));
        context.say(log, () => log.text.replace(/[^\P{Cc}\n\t]/gu, ""));
        return;
      }
      if (context.on("attempts")) {
        const answer = await dibs.tasks.attempts({ taskId });
        const { attemptTable } = await import("../print/attempts.js");
        context.say(answer, (look) => attemptTable(answer.attempts, look));
        return;
      }
      const answer = await dibs.tasks.get({ taskId });
      context.say(answer, (look) => taskPage(answer.task, look));
    },
  },
  edit: {
    name: "edit",
    args: "<id>",
    summary: "Change a task that is not over",
    flags: { prompt: { value: "<text>", help: "a new prompt" }, ...taskFlags },
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.tasks.update({
        taskId: context.taskId,
        ...taskFields(context),
        ...given({ prompt: context.text("prompt") }),
      });
      context.say(answer, (look) => taskPage(answer.task, look));
    },
  },
  cancel: {
    name: "cancel",
    args: "<id>",
    summary: "Cancel a task; its holder's next call is refused",
    flags: { cascade: { help: "also its open descendants" }, reason: { value: "<text>", help: "why" } },
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.tasks.cancel(
        given({
          taskId: context.taskId,
          cascade: context.on("cascade") || undefined,
          reason: context.text("reason"),
        }) as never,
      );
      context.say(answer, () => `cancelled ${plain(answer.task.id)}`);
    },
  },
  retry: {
    name: "retry",
    args: "<id>",
    summary: "Queue a failed or cancelled task again",
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.tasks.retry({ taskId: context.taskId });
      context.say(answer, () => `queued ${plain(answer.task.id)} again`);
    },
  },
  explain: {
    name: "explain",
    args: "[id]",
    summary: "Say why a task is not running, and what would help",
    async run(context) {
      const dibs = await context.dibs();
      const sessionId = context.text("session") ?? context.parts.env.DIBS_SESSION;
      const answer = await dibs.tasks.explain(given({ taskId: context.taskId, sessionId }));
      context.say(answer, (look) => explanation(answer, look));
    },
  },
  "blocked-by": {
    name: "blocked-by",
    args: "<id>",
    summary: "List who waits for a task, directly and through others",
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.tasks.blockedBy({ taskId: context.taskId });
      context.say(answer, () => {
        if (answer.transitive.length === 0) return `Nobody waits for ${plain(answer.taskId)}.`;
        const direct = new Set(answer.direct);
        return answer.transitive
          .map((id) => `${plain(id)}${direct.has(id) ? "" : "  (through others)"}`)
          .join("\n");
      });
    },
  },
  "next-id": {
    name: "next-id",
    args: "[parent]",
    summary: "Reserve the next id, for scripts that make their own tasks",
    async run(context) {
      const dibs = await context.dibs();
      const answer = await dibs.ids.next(given({ parentId: context.args[0] }));
      context.say(answer, () => answer.id);
    },
  },
};
