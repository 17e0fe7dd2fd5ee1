import type { SingleCommand } from "../command.js";
import { given } from "../context.js";
import { newestEvents } from "../newest-events.js";
import { heldBackLines } from "../print/breaker.js";
import { moreLine } from "../print/display.js";
import { eventLine } from "../print/event.js";
import { inboxPage } from "../print/inbox.js";
import { sessionSummary, sessionTable } from "../print/session.js";
import { statsPage } from "../print/stats.js";
import { plain } from "../print/text.js";
import { listFlags, usageError } from "../spec.js";

const sessions: SingleCommand["run"] = async (context) => {
  const dibs = await context.dibs();
  const which = { ...context.listed, ...given({ limit: context.number("limit") }) };
  // The list is what `--json` prints; people see more of those who are there.
  if (context.on("summary") || !(context.isJson || context.on("ended") || context.text("cursor"))) {
    const answer = await dibs.sessions.summary(which);
    context.say(
      answer,
      (display) => `${sessionSummary(answer, display)}${heldBackLines(answer.breakers, display.now)}`,
    );
    return;
  }
  const answer = await dibs.sessions.list({
    ...which,
    ...given({ all: context.on("ended") || undefined, cursor: context.text("cursor") }),
  });
  context.say(answer, (display) => {
    const held = heldBackLines(answer.breakers, display.now);
    return `${sessionTable(answer.sessions, display)}${moreLine(answer, display)}${held}`;
  });
};

const events: SingleCommand["run"] = async (context) => {
  const dibs = await (context.on("follow") ? context.lastingDibs() : context.dibs());
  const [taskId] = context.args;
  const types = context.list("type") as never;
  const after = context.number("after");
  if (context.on("follow")) {
    const follow = { ...context.listed, ...given({ taskId, types, after }) };
    for await (const event of dibs.events.follow({ ...follow, signal: context.parts.stopping })) {
      context.say(event, (display) => eventLine(event, display));
    }
    return;
  }
  const limit = context.number("limit");
  const filter = { ...context.listed, ...given({ taskId, types }) };
  // The newest, unless somebody says where to begin. A task's own are few, and told from its beginning.
  const isNewest = after === undefined && taskId === undefined;
  const list = (page: { after?: number; limit?: number }) =>
    taskId === undefined || types !== undefined
      ? dibs.events.list({ ...page, ...filter })
      : dibs.tasks.events({ taskId, ...page });
  const answer = isNewest
    ? await newestEvents(dibs, filter, limit ?? 50)
    : await list(given({ after, limit }));
  const isPage = !isNewest && !context.isJson && answer.events.length >= (limit ?? 100);
  const hasMore = isPage && (await list({ after: answer.nextAfter, limit: 1 })).events.length > 0;
  context.say(answer, (display) => {
    if (answer.events.length === 0) return "Nothing happened.";
    const more = hasMore ? [display.paint(`more: --after ${answer.nextAfter}`, "dim")] : [];
    return [...answer.events.map((event) => eventLine(event, display)), ...more].join("\n");
  });
};

export const commands: Record<string, SingleCommand> = {
  inbox: {
    name: "inbox",
    reads: true,
    summary: "List what needs a human: open questions first",
    flags: {
      all: listFlags.all,
      limit: { value: "<n>", help: "maximum number per section; default 100" },
    },
    examples: ["dibs inbox", "dibs inbox --all"],
    async run(context) {
      const answer = await (await context.dibs()).notifications.inbox({
        ...context.listed,
        ...given({ limit: context.number("limit") }),
      });
      context.say(answer, (display) => inboxPage(answer, display));
    },
  },
  answer: {
    name: "answer",
    args: "<id> [text...]",
    summary: "Answer the open question of a task",
    flags: { question: { value: "<id>", help: "refuse if another question is open" } },
    exits: { 1: "no open question, or a different one" },
    examples: ['dibs answer 0001 "teal"', "dibs answer 0001 - < answer.md"],
    async run(context) {
      const response = await context.textOrInput(context.args.slice(1).join(" "));
      // Pasted from what told about the question, and left as it was.
      const isMissing = response === "" || /^<(?:your )?answer>$/.test(response);
      if (isMissing) throw usageError("Missing answer.", 'Usage: dibs answer <id> "teal"');
      const answer = await (await context.dibs()).tasks.respond({
        taskId: context.taskId,
        response,
        ...given({ questionId: context.text("question") }),
      });
      context.say(answer, () => `answered ${plain(answer.task.id)}, now ${answer.task.state}`);
    },
  },
  sessions: {
    name: "sessions",
    reads: true,
    summary: "List sessions and their tasks",
    flags: {
      all: listFlags.all,
      ended: { help: "include ended sessions" },
      summary: { help: "with --json: live sessions with their tasks, and totals" },
      limit: listFlags.limit,
      cursor: listFlags.cursor,
    },
    examples: ["dibs sessions", "dibs sessions --ended --json"],
    run: sessions,
  },
  events: {
    name: "events",
    reads: true,
    args: "[id]",
    summary: "List the events of all tasks or of one",
    flags: {
      follow: { short: "f", help: "keep printing new events" },
      after: {
        value: "<number>",
        help: "start after this event number, 0 for all; default: the newest 50, or all of one task",
      },
      type: { value: "<type>", many: true, help: "event type, such as task:completed; repeatable" },
      limit: { value: "<n>", help: "maximum number of results" },
      all: listFlags.all,
    },
    examples: ["dibs events 0001", "dibs events -f --type task:completed,task:failed"],
    run: events,
  },
  stats: {
    name: "stats",
    reads: true,
    summary: "Show statistics: tasks by state, throughput, durations",
    flags: { all: listFlags.all },
    examples: ["dibs stats", "dibs stats --all --json"],
    async run(context) {
      const answer = await (await context.dibs()).stats.get(context.listed);
      context.say(answer, (display) => statsPage(answer, display));
    },
  },
};
