import type { Command } from "../command.js";
import { given } from "../context.js";
import { eventLine } from "../print/event.js";
import { inboxPage } from "../print/inbox.js";
import { sessionTable } from "../print/session.js";
import { statsPage } from "../print/stats.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

export const commands: Record<string, Command> = {
  inbox: {
    name: "inbox",
    summary: "Show what needs a human: open questions first",
    flags: { all: { short: "a", help: "of all projects" } },
    async run(context) {
      const answer = await (await context.dibs()).notifications.inbox(
        given({ project: context.on("all") ? "*" : undefined }),
      );
      context.say(answer, (look) => inboxPage(answer, look));
    },
  },
  answer: {
    name: "answer",
    args: "<id> [text...]",
    summary: "Answer the open question of a task",
    flags: { question: { value: "<id>", help: "refuse if another question is open by now" } },
    async run(context) {
      const words = context.args.slice(1).join(" ");
      const response = words === "-" ? await context.parts.readInput() : words;
      if (response === "") throw usageError("The answer is missing.", 'dibs answer <id> "teal"');
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
    summary: "Show who works on what",
    flags: { all: { short: "a", help: "of all projects" } },
    async run(context) {
      const answer = await (await context.dibs()).sessions.summary(
        given({ project: context.on("all") ? "*" : undefined }),
      );
      context.say(answer, (look) => sessionTable(answer, look));
    },
  },
  events: {
    name: "events",
    args: "[id]",
    summary: "Show what happened, to all tasks or to one",
    flags: {
      follow: { short: "f", help: "go on with what comes" },
      after: { value: "<number>", help: "after this event; 0 for all" },
      type: { value: "<type>", many: true, help: "such as task:completed" },
      limit: { value: "<n>", help: "how many at most" },
      all: { short: "a", help: "of all projects" },
    },
    async run(context) {
      const dibs = await context.dibs();
      const filter = given({
        taskId: context.args[0],
        types: context.list("type") as never,
        project: context.on("all") ? "*" : undefined,
        after: context.number("after"),
      });
      if (!context.on("follow")) {
        const answer = await dibs.events.list({ ...filter, ...given({ limit: context.number("limit") }) });
        context.say(answer, (look) => answer.events.map((event) => eventLine(event, look)).join("\n"));
        return;
      }
      for await (const event of dibs.events.follow({ ...filter, signal: context.parts.stopping })) {
        context.say(event, (look) => eventLine(event, look));
      }
    },
  },
  stats: {
    name: "stats",
    summary: "Show figures: how much there is, how fast it goes",
    flags: { all: { short: "a", help: "of all projects" } },
    async run(context) {
      const answer = await (await context.dibs()).stats.get(
        given({ project: context.on("all") ? "*" : undefined }),
      );
      context.say(answer, (look) => statsPage(answer, look));
    },
  },
};
