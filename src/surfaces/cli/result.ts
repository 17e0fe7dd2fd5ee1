// The flags and output of completing and failing, shared by dibs done, dibs fail and dibs worker.

import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireTask } from "../../contract/shapes.js";
import { gitOr } from "../../runner/git.js";
import type { Context } from "./context.js";
import { plain } from "./print/text.js";
import { span } from "./print/time.js";
import { type FlagSpec, usageError } from "./spec.js";

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

export async function complete(context: Context, holder: Holder, output: string): Promise<void> {
  const filesCreated = context.texts("created") ?? [];
  const filesModified = context.texts("modified") ?? [];
  const result = { output, filesCreated, filesModified };
  const answer = await (await context.dibs()).tasks.complete({ ...holder, result });
  const freed = answer.unblocked.map(plain).join(", ");
  context.say(answer, () =>
    answer.task.state === "submitted"
      ? submittedText(answer.task)
      : `completed ${plain(answer.task.id)}${freed ? `; now claimable: ${freed}` : ""}`,
  );
}

function submittedText({ id, submission }: Pick<WireTask, "id" | "submission">): string {
  const what = submission?.commit ? `commit ${submission.commit.slice(0, 12)}` : "no change";
  return `submitted ${plain(id)} (${what}); it is completed when it has landed`;
}

export async function submit(context: Context, holder: Holder, output: string): Promise<void> {
  const result = {
    output,
    filesCreated: context.texts("created") ?? [],
    filesModified: context.texts("modified") ?? [],
  };
  const dibs = await context.dibs();
  const answer = await dibs.tasks.submit({ ...holder, ...(await handedIn(context)), result });
  context.say(answer, () => submittedText(answer.task));
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

/** The named commit, or HEAD with its branch. Outside of a repository there is no change to hand in. */
async function handedIn(context: Context): Promise<{ commit?: string; branch?: string }> {
  const { cwd } = context.parts;
  const asked = context.text("commit");
  const verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${asked ?? "HEAD"}^{commit}`];
  const commit = await gitOr(cwd, verify);
  if (commit === null && asked !== undefined)
    throw usageError(`Commit ${asked} not found in ${cwd}.`, "Run: git log");
  if (commit === null) return {};
  const branch =
    asked === undefined ? await gitOr(cwd, ["symbolic-ref", "--quiet", "--short", "HEAD"]) : null;
  return { commit, ...(branch === null ? {} : { branch }) };
}
