// Reviews of submissions: what waits for one, all that a reviewer needs, and the two verdicts.

import { gatherReview } from "../../../client/brief/review-facts.js";
import { approverText } from "../../../client/view/reviews.js";
import type { SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import { displayOf } from "../print/display.js";
import { reviewPage, reviewTable } from "../print/review.js";
import { plain } from "../print/text.js";
import { type FlagSpec, usageError } from "../spec.js";

const review: SingleCommand["run"] = async (context) => {
  const dibs = await context.dibs();
  const [taskId] = context.args;
  if (taskId === undefined) {
    const limit = context.number("limit");
    const answer = await dibs.landings.list({ stage: "review", ...given({ limit }) });
    context.say(answer, (display) => reviewTable(answer, display));
    return;
  }
  const facts = await gatherReview(dibs, { taskId });
  const { parts } = context;
  if (!context.isJson && parts.stdout.isTerminal) {
    if (await parts.page(reviewPage(facts, displayOf(parts)))) return;
  }
  context.say({ success: true, ...facts }, (display) => reviewPage(facts, display));
};

const approve: SingleCommand["run"] = async (context) => {
  const on = await verdictOf(context);
  const answer = await (await context.dibs()).tasks.approve({
    ...on,
    ...given({ comment: context.text("comment"), own: context.on("own") || undefined }),
  });
  const { approved, reviewNeeded, number, end } = answer.submission;
  const id = plain(answer.task.id);
  const next = approved ? "it lands next" : `it still needs ${approverText(reviewNeeded)} approval`;
  // A repeated approval is answered as before.
  const after = end ? `it was ${end.as} since` : next;
  context.say(answer, () => `approved submission ${number} of ${id}; ${after}`);
};

const reject: SingleCommand["run"] = async (context) => {
  const reason = await context.textOrInput(context.args.slice(1).join(" "));
  // Pasted from what told about the review, and left as it was.
  const isMissing = reason.trim() === "" || /^<what to change>$/.test(reason);
  if (isMissing) throw usageError("Missing reason.", 'Usage: dibs reject <id> "Keep the old flag"');
  const on = await verdictOf(context);
  const answer = await (await context.dibs()).tasks.requestChanges({ ...on, reason });
  const { id, state } = answer.task;
  const after =
    state === "awaiting_response"
      ? `it has used up its review rounds. Run: dibs answer ${plain(id)} "try again"`
      : `the task is ${state} again`;
  context.say(answer, () => `requested changes of ${plain(id)}; ${after}`);
};

/** Which submission is meant, and who gives the verdict: a person, unless a session is named. */
async function verdictOf(context: Context) {
  const { taskId, asSession: sessionId } = context;
  const named = context.number("submission");
  const number = named ?? (await (await context.dibs()).tasks.submission({ taskId })).submission.number;
  const by = sessionId === undefined ? {} : given({ sessionId, epoch: context.epochOf(taskId) });
  return { taskId, submission: number, ...by };
}

const submissionFlag: Record<string, FlagSpec> = {
  submission: {
    value: "<n>",
    help: "number of the submission that was reviewed; refused if there is a newer one; default: the last",
  },
};

const whoDetails =
  "A verdict counts as a person's only without DIBS_SESSION in the environment and without --session. With one of them it is the verdict of that agent.";

const verdictExits = {
  1: "already decided, replaced by a newer submission, or landing now",
  4: "not allowed, or own work without --own",
};

export const commands: Record<string, SingleCommand> = {
  review: {
    name: "review",
    reads: true,
    args: "[id]",
    summary: "List submissions that wait for a review, or show one with its patch",
    details:
      "At a terminal a submission is shown in $PAGER, or in less. Control and invisible characters of a patch are printed as their numbers, such as <U+202E>.\n" +
      "Whose review a submission needs is a setting of the project: land.review is none, human, agent or any. A change of a path in land.reviewPaths always needs a person.",
    flags: { limit: { value: "<n>", help: "maximum number of results; default 100" } },
    examples: ["dibs review", "dibs review 0001", "dibs review 0001 --json"],
    run: review,
  },
  approve: {
    name: "approve",
    args: "<id>",
    summary: "Approve the last submission of a task, so that it can land",
    details: `${whoDetails} An agent that worked on the task cannot review it; a person can, with --own.`,
    flags: {
      ...submissionFlag,
      own: { help: "approve your own work; it is recorded" },
      comment: { value: "<text>", help: "comment to store with the approval" },
    },
    exits: verdictExits,
    examples: ["dibs approve 0001", 'dibs approve 0001 --submission 1 --comment "Reads well"'],
    run: approve,
  },
  reject: {
    name: "reject",
    args: "<id> [reason...]",
    summary: "Request changes of the last submission of a task; the task is queued again",
    details: `The next attempt reads the reason. It uses no retry. After land.reviewRoundsMax rounds (3) a question asks a person. ${whoDetails}`,
    flags: submissionFlag,
    exits: verdictExits,
    examples: ['dibs reject 0001 "Keep the old flag"'],
    run: reject,
  },
};
