// The flags and output of completing and failing, shared by dibs done, dibs fail and dibs worker.

import type { Dibs } from "../../client/client.js";
import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireTask } from "../../contract/shapes.js";
import type { Found } from "../../runner/own-worktree.js";
import { type Context, given } from "./context.js";
import { plain } from "./print/text.js";
import { span } from "./print/time.js";
import type { FlagSpec } from "./spec.js";

export const resultFlags: Record<string, FlagSpec> = {
  created: { value: "<file>", short: "c", rest: true, help: "files created" },
  modified: { value: "<file>", short: "m", rest: true, help: "files changed" },
};

export const lostExit = {
  1: "claim lost (expired, released or cancelled), or wrong state",
};

interface Holder {
  taskId: string;
  sessionId: string;
  epoch?: number;
}

/** With landing on, the change of the current directory is handed in. */
export async function complete(context: Context, holder: Holder, output: string): Promise<void> {
  const dibs = await context.dibs();
  const found = await changeHere(context, dibs, holder);
  if (found?.change) return handIn(context, holder, output, found);
  const answer = await dibs.tasks.complete({ ...holder, result: resultOf(context, output) });
  const freed = answer.unblocked.map(plain).join(", ");
  context.say(answer, () =>
    answer.task.state === "submitted"
      ? submittedText(answer.task, found)
      : `completed ${plain(answer.task.id)}${freed ? `; now claimable: ${freed}` : ""}`,
  );
}

export async function submit(context: Context, holder: Holder, output: string): Promise<void> {
  const found = await changeHere(context, await context.dibs(), holder);
  return handIn(context, holder, output, found);
}

async function handIn(context: Context, holder: Holder, output: string, found: Found | undefined) {
  const dibs = await context.dibs();
  const { hostId: host } = await context.parts.machine();
  const change = found?.change ? { ...found.change, host } : {};
  const answer = await dibs.tasks.submit({ ...holder, ...change, result: resultOf(context, output) });
  context.say(answer, () => submittedText(answer.task, found));
}

const resultOf = (context: Context, output: string) => ({
  output,
  filesCreated: context.texts("created") ?? [],
  filesModified: context.texts("modified") ?? [],
});

function submittedText(
  { id, submission }: Pick<WireTask, "id" | "submission">,
  found: Found | undefined,
): string {
  const none = found?.isKnown === false ? "no change: this is not the project's repository" : "no change";
  const what = submission?.commit ? `commit ${submission.commit.slice(0, 12)}` : none;
  return `submitted ${plain(id)} (${what}); it is completed when it has landed`;
}

type Failed = OutputOf<OperationNamed<"tasks.fail">>;

export async function fail(context: Context, holder: Holder, words: string): Promise<void> {
  const answer = await (await context.dibs()).tasks.fail({
    ...holder,
    error: words || "failed",
    ...(context.on("no-retry") ? { retryable: false } : {}),
  });
  context.say(answer, ({ now }) => `failed ${plain(answer.task.id)}${whatNext(answer, now)}`);
}

function whatNext({ willRetry, retryAt }: Failed, now: number): string {
  return willRetry ? `; retry in ${span(Date.parse(retryAt!) - now)}` : " for good";
}

export async function start(context: Context, holder: Holder): Promise<void> {
  const answer = await (await context.dibs()).tasks.start(holder);
  context.say(answer, () => `started ${plain(answer.task.id)}`);
}

/** In the worktree of the task everything is handed in, as if the command had exited with 0; elsewhere what is checked out. */
export async function changeHere(
  context: Context,
  dibs: Dibs,
  holder: Holder,
  cwd = context.parts.cwd,
): Promise<Found | undefined> {
  const { env } = context.parts;
  // Where nothing lands, none of it is loaded.
  const { project } = await dibs.projects.get(
    given({ id: context.text("project") ?? (env.DIBS_PROJECT || undefined) }),
  );
  if (project.settings.land.target === null) return undefined;
  const { handInFrom } = await import("../../runner/own-worktree.js");
  return handInFrom({ cwd, dibs, holder, env, commit: context.text("commit") });
}
