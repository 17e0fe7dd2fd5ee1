import { renderBrief, showByCommand } from "../../../client/brief/brief.js";
import { answersOf, gatherFacts } from "../../../client/brief/facts.js";
import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { WireTask } from "../../../contract/shapes.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { nothingLine } from "../idle-notice.js";
import { stateHelp, tasksBy } from "../listing.js";
import { type Display, moreLine } from "../print/display.js";
import { explanation } from "../print/explain.js";
import type { WireSubmission } from "../print/submission.js";
import { inFlightTable, taskTable } from "../print/task.js";
import { taskPage } from "../print/task-page.js";
import { plain, plainLines } from "../print/text.js";
import { originOf } from "../repository.js";
import { listFlags, usageError } from "../spec.js";

const list: SingleCommand["run"] = async (context) => {
  const isTree = context.on("tree");
  const order = orderOf(context);
  const dibs = await context.dibs();
  const found = await tasksBy(
    dibs,
    context.list("status") ?? context.list("state"),
    {
      ...context.listed,
      ...given({
        label: context.text("label"),
        assignee: context.text("assignee"),
        parent: context.on("top") ? "" : context.text("parent"),
        q: context.text("search"),
        claimable: context.on("claimable") || undefined,
        order,
        // Parts of what is not on the page would be drawn without it.
        limit: context.number("limit") ?? (isTree ? 1000 : undefined),
        cursor: context.text("cursor"),
      }),
    },
    context.parts.now(),
  );
  context.say(found, (display) => {
    const rows = taskTable(found.tasks, display, { withProject: context.on("all"), isTree });
    return `${rows}${moreTasks(context, found, display)}`;
  });
};

/** People look for what is active. Programs, trees and pages that began in creation order keep that. */
function orderOf(context: Context): "created" | "active" | undefined {
  const order = context.text("order") as "created" | "active" | undefined;
  const isPlain = context.isJson || context.on("tree") || /^\d+$/.test(context.text("cursor") ?? "");
  return order ?? (isPlain ? undefined : "active");
}

/** How many more there are, where the first page knows it, and the command that shows them. */
function moreTasks(
  context: Context,
  { tasks, nextCursor, total }: OutputOf<OperationNamed<"tasks.list">>,
  display: Display,
): string {
  if (nextCursor === null) return "";
  const isFirst = context.text("cursor") === undefined;
  const left = isFirst && total !== undefined ? `${total - tasks.length} more` : "more";
  const command = ["dibs list", ...context.flagsAgain("cursor"), "--cursor", nextCursor].join(" ");
  return display.paint(`… ${left}. Run: ${command}\n`, "dim");
}

/** As a session sees it; one that has not come yet, as it would. */
const seenBy = ({ asSession }: Context) =>
  asSession === undefined ? {} : { sessionId: asSession, asNew: true };

async function showLog(context: Context): Promise<void> {
  const { taskId } = context;
  const log = await (await context.dibs()).tasks.log(given({ taskId, epoch: context.epochOf(taskId) }));
  context.say(log, (display) => {
    if (log.epoch === null) return `No attempt at ${plain(taskId)} has kept a log.`;
    const lost =
      log.truncatedBytes > 0
        ? display.paint(`… ${log.truncatedBytes} bytes before this are gone\n`, "dim")
        : "";
    return `${lost}${plainLines(log.text).join("\n")}`;
  });
}

interface Whole {
  task: WireTask;
  /** The last one, if there is any. */
  submission?: WireSubmission;
}

/** A task and what was submitted for it, as programs and people get them. */
async function wholeTask(context: Context, on: { taskId: string; project?: string }): Promise<Whole> {
  const dibs = await context.dibs();
  const answer = await dibs.tasks.get(on);
  const { number } = answer.task.submission ?? {};
  if (number === undefined) return answer;
  return { ...answer, ...(await dibs.tasks.submission({ ...on, number })) };
}

const pageOf = ({ task, submission }: Whole, display: Display) => taskPage(task, display, submission);

async function showTask(context: Context): Promise<void> {
  const whole = await wholeTask(context, { taskId: context.taskId });
  context.say(whole, (display) => pageOf(whole, display));
}

/** From code to the task and attempt that it came from. */
async function showCommit(context: Context): Promise<void> {
  const other = ["log", "attempts", "brief"].find((flag) => context.on(flag));
  if (context.args.length > 0 || other !== undefined) {
    const what = other === undefined ? "a task id" : `--${other}`;
    throw usageError(`--commit cannot be combined with ${what}.`, "Usage: dibs show --commit <commit>");
  }
  const origin = await originOf(context.parts.cwd, context.text("commit")!);
  const { project, taskId } = origin;
  const dibs = await context.dibs();
  const whole = await wholeTask(context, { taskId, project });
  const [{ attempts }, questions] = await Promise.all([
    dibs.tasks.attempts({ taskId, project, limit: attemptsMax }),
    answersOf(dibs, whole.task),
  ]);
  const by = attempts.find(({ epoch }) => epoch === origin.attempt);
  const madeBy = by
    ? {
        sessionId: by.sessionId,
        agentType: by.agentType,
        claimedAt: by.claimedAt,
        releasedAt: by.releasedAt,
      }
    : null;
  const from = { ...origin, madeBy, questions };
  const { provenanceLines } = await import("../print/provenance.js");
  context.say({ ...from, ...whole }, (display) => {
    const lines = provenanceLines({ ...from, reviews: whole.submission?.reviews ?? [] }, display);
    return `${lines}\n${pageOf(whole, display)}`;
  });
}

const attemptsMax = 100;

async function showAttempts(context: Context): Promise<void> {
  const answer = await (await context.dibs()).tasks.attempts({
    taskId: context.taskId,
    ...given({ limit: context.number("limit") }),
  });
  const { attemptTable } = await import("../print/attempts.js");
  context.say(answer, (display) => attemptTable(answer.attempts, display));
}

async function showBrief(context: Context): Promise<void> {
  const dibs = await context.dibs();
  const { task } = await dibs.tasks.get({ taskId: context.taskId });
  const brief = renderBrief(await gatherFacts(dibs, task), showByCommand);
  context.say({ success: true, brief }, () => plainLines(brief).join("\n"));
}

const dependents: SingleCommand = {
  name: "dependents",
  reads: true,
  args: "<id>",
  summary: "List the dependents of a task: what waits for it, directly and through others",
  examples: ["dibs dependents 0001"],
  async run(context) {
    const answer = await (await context.dibs()).tasks.blockedBy({ taskId: context.taskId });
    context.say(answer, () => {
      const direct = new Set(answer.direct);
      const others = answer.transitive.filter((id) => !direct.has(id));
      const lines = [...answer.direct.map(plain), ...others.map((id) => `${plain(id)}  (through others)`)];
      return lines.length === 0 ? `No task waits for ${plain(answer.taskId)}.` : lines.join("\n");
    });
  },
};

export const commands: Record<string, SingleCommand> = {
  list: {
    name: "list",
    reads: true,
    summary: "List tasks: running first, then queued, then ended, newest first",
    details: "Marks: [*] in progress, [!] stale or near its deadline, [?] waiting for an answer, -- ready.",
    flags: {
      status: {
        value: "<state>",
        short: "s",
        many: true,
        help: stateHelp,
      },
      state: { value: "<state>", many: true, help: "same as --status" },
      label: { value: "<text>", short: "l", help: "tasks with this label" },
      assignee: { value: "<session>", help: "tasks assigned to this session" },
      parent: { value: "<id>", help: "subtasks of this task" },
      top: { help: "only tasks without a parent" },
      search: { value: "<text>", help: "search id, title and prompt" },
      claimable: { help: "only ready tasks" },
      order: {
        value: "<order>",
        choices: ["active", "created"],
        help: "sort order; default active, created with --json or --tree",
      },
      tree: { short: "t", help: "show subtasks below their parent" },
      all: listFlags.all,
      limit: listFlags.limit,
      cursor: listFlags.cursor,
    },
    examples: ["dibs list -s failed,blocked", "dibs list --tree", "dibs list --search login --json"],
    run: list,
  },
  ready: {
    name: "ready",
    reads: true,
    summary: "List ready tasks, best first",
    flags: { limit: listFlags.limit },
    examples: ["dibs ready", "dibs ready --session agent-1 --limit 1"],
    async run(context) {
      const dibs = await context.dibs();
      const limit = given({ limit: context.number("limit") });
      const answer = await dibs.tasks.claimable({ ...limit, ...seenBy(context) });
      context.say(answer, (display) =>
        answer.tasks.length === 0 ? nothingLine(answer.why) : taskTable(answer.tasks, display),
      );
    },
  },
  show: {
    name: "show",
    reads: true,
    args: "[id]",
    summary: "Show a task with its claim, question, result and submission",
    flags: {
      log: { help: "print the log of the last attempt, or of attempt --epoch" },
      attempts: { help: "list its attempts" },
      brief: { help: "print the brief that agents get" },
      commit: { value: "<commit>", help: "show the task that this commit landed for" },
    },
    examples: ["dibs show 0001", "dibs show 0001 --log", "dibs show --commit HEAD"],
    async run(context) {
      if (context.text("commit") !== undefined) return showCommit(context);
      if (context.on("log")) return showLog(context);
      if (context.on("brief")) return showBrief(context);
      if (context.on("attempts")) return showAttempts(context);
      return showTask(context);
    },
  },
  attempts: {
    name: "attempts",
    reads: true,
    args: "[id]",
    summary: "List the attempts at a task, newest first",
    flags: { limit: listFlags.limit },
    examples: ["dibs attempts 0001"],
    run: showAttempts,
  },
  "in-flight": {
    name: "in-flight",
    reads: true,
    summary: "List claimed tasks and their sessions; --session selects one session",
    flags: {
      expired: { help: "include expired leases" },
      ...listFlags,
      limit: { ...listFlags.limit, help: "maximum number of results; default 1000" },
    },
    examples: ["dibs in-flight", "dibs in-flight --session agent-1"],
    async run(context) {
      const answer = await (await context.dibs()).tasks.inFlight({
        ...context.listed,
        ...given({
          // Only if it is named: this is about everybody.
          sessionId: context.text("session"),
          includeExpired: context.on("expired") || undefined,
          limit: context.number("limit"),
          cursor: context.text("cursor"),
        }),
      });
      const { nextCursor = null } = answer;
      context.say(
        answer,
        (display) => `${inFlightTable(answer, display)}${moreLine({ nextCursor }, display)}`,
      );
    },
  },
  explain: {
    name: "explain",
    reads: true,
    args: "[id]",
    summary: "Explain why a task is not running, and what to run",
    examples: ["dibs explain 0001", "dibs explain 0001 --session agent-1"],
    async run(context) {
      const dibs = await context.dibs();
      const { taskId } = context;
      const answer = await dibs.tasks.explain({ taskId, ...seenBy(context) });
      context.say(answer, (display) => explanation(answer, display));
    },
  },
  dependents,
  // The former name.
  "blocked-by": { ...dependents, name: "blocked-by", examples: ["dibs blocked-by 0001"] },
};
