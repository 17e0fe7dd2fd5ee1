// What the processes of the fleet do besides landing: workers (the real dibs.work), agents that call by themselves and are careless,
// readers of the log, and people.

import type { Dibs } from "../../../src/client/client.js";
import { pause } from "../../../src/common/abort.js";
import { DibsError } from "../../../src/contract/error.js";
import type { WireEvent } from "../../../src/contract/shapes.js";
import type { Stream } from "../../proof/history.js";
import type { Repository } from "./repository.js";
import type { Step, TaskPlan } from "./schedule.js";
import { project } from "./server.js";
import type { Process, World } from "./world.js";

export interface Part {
  world: World;
  process: Process;
  dibs: Dibs;
  repository: Repository;
  plans: ReadonlyMap<string, TaskPlan>;
  lands: boolean;
}

/** What an agent does in its attempt at a task. After the planned ones, all go well. */
function stepsOf({ plans }: Part, taskId: string, epoch: number): Step[] {
  return plans.get(taskId)?.attempts[epoch - 1] ?? [{ work: 300 }, "done"];
}

/** Works on the target as it is now, so that the next attempt does not conflict. */
function resultOf(
  part: Part,
  { taskId, epoch, by }: { taskId: string; epoch: number; by: string },
  isRed: boolean,
) {
  const output = `${taskId} by ${by}, epoch ${epoch}`;
  const { repository, plans, lands } = part;
  if (!lands) return { output };
  const path = plans.get(taskId)?.path ?? taskId;
  return { output, change: { path, content: isRed ? `red ${output}` : output }, base: repository.target };
}

export async function work(part: Part): Promise<never> {
  const { world, dibs, repository, process } = part;
  for (;;) {
    const worker = dibs.work(
      async ({ task, claim, sessionId, signal, progress, ask }) => {
        const by = { taskId: task.id, epoch: claim.epoch, by: sessionId };
        const begin = resultOf(part, by, false);
        for (const step of stepsOf(part, task.id, claim.epoch)) {
          if (signal.aborted) return;
          if (typeof step !== "string") await pause(step.work, signal);
          else if (step === "progress") await progress("on the way", 50);
          else if (step === "ask") await ask("Which way?", { options: ["left", "right"] });
          else if (step === "fail" || step === "forget") throw new Error("it broke");
          else if (step === "red") return handIn(repository, begin, true);
        }
        return handIn(repository, begin, false);
      },
      { concurrency: process.name.endsWith("2") ? 2 : 1, onError: () => undefined },
    );
    await worker.done.catch(() => undefined);
    await world.pause(500);
  }
}

function handIn(
  repository: Repository,
  { output, change, base }: ReturnType<typeof resultOf>,
  isRed: boolean,
) {
  if (!change) return output;
  const content = isRed ? `red ${change.content}` : change.content;
  return { output, commit: repository.change(base!, change.path, content) };
}

/** Calls by itself: without heartbeats while it works, with reports that it repeats, and with some that are too late. */
export async function careless(part: Part): Promise<never> {
  const { world, process, dibs, repository } = part;
  const { random } = process;
  let sessionId: string | null = null;
  for (;;) {
    if (sessionId === null) {
      const registered = await tried(dibs.sessions.register({ capacity: 2 }));
      if (typeof registered !== "string") sessionId = registered.session.id;
      await world.pause(200);
      continue;
    }
    const ask = { sessionId, resume: random.chance(50), waitMs: random.of([0, 1_500, 3_000]) };
    const some = [...part.plans.keys()];
    const claimed =
      random.chance(20) && some.length > 0
        ? await tried(dibs.tasks.claim({ taskId: random.of(some), sessionId }))
        : await tried(dibs.tasks.claimNext(ask));
    if (claimed === "SESSION_NOT_FOUND") sessionId = null;
    if (typeof claimed === "string" || !claimed.claim) {
      await world.pause(random.between(500, 2_000));
      continue;
    }
    const { taskId, epoch } = claimed.claim;
    const by = { taskId, sessionId: claimed.claim.sessionId, epoch };
    const begin = resultOf(part, { taskId, epoch, by: by.sessionId }, false);
    let isForgotten = false;
    const repeated = async (call: () => Promise<unknown>) => {
      await tried(call());
      if (random.chance(15)) await tried(call());
    };
    for (const step of stepsOf(part, taskId, epoch)) {
      if (typeof step !== "string") await world.pause(step.work);
      else if (step === "progress") await tried(dibs.tasks.progress({ ...by, note: "on the way" }));
      else if (step === "ask") await tried(dibs.tasks.ask({ ...by, question: "Which way?" }));
      else if (step === "fail") await repeated(() => dibs.tasks.fail({ ...by, error: "it broke" }));
      else if (step === "forget") isForgotten = true;
      else {
        const result = handIn(repository, begin, step === "red");
        await repeated(() => dibs.tasks.complete({ ...by, result } as never));
      }
      if (step === "ask") await world.pause(1_500);
      if (random.chance(30)) await tried(dibs.tasks.start(by));
      if (random.chance(30)) await tried(dibs.tasks.heartbeat(by));
    }
    if (!isForgotten && random.chance(50)) await repeated(() => dibs.tasks.release(by));
  }
}

/** The answer, or the code of the refusal. */
async function tried<T>(call: Promise<T>): Promise<T | string> {
  return call.catch((error) => {
    if (error instanceof DibsError) return error.code;
    throw error;
  });
}

/** Follows the log from where the incarnation before it has stopped. */
export async function read({ dibs, process }: Part, streams: Stream[]): Promise<void> {
  const last = streams.findLast(({ reader }) => reader === process.name);
  const after = last?.events.at(-1)?.seq ?? last?.after ?? 0;
  const events: WireEvent[] = [];
  streams.push({ reader: process.name, after, events: events as never });
  for await (const event of dibs.events.follow({ project: "*", after })) events.push(event);
}

/** Creates the tasks, answers what is asked, retries what failed, and reviews. */
export async function lead({ world, process, dibs, plans }: Part): Promise<never> {
  for (const plan of plans.values()) {
    const { id, after, uses } = plan;
    const dependsOn = after.filter((each) => plans.has(each));
    const task = { id, prompt: `Do ${id}`, dependsOn, ...(uses ? { uses } : {}) };
    while ((await tried(dibs.tasks.create(task))) === "STORE_UNAVAILABLE") await world.pause(500);
  }
  for (;;) {
    await world.pause(process.random.between(700, 1_700));
    const found = await tried(dibs.tasks.list({ limit: 100 }));
    if (typeof found === "string") continue;
    for (const { id, state, question, submission } of found.tasks) {
      const taskId = id;
      if (state === "awaiting_response" && question) {
        const response = question.options?.[0] ?? "left";
        await tried(dibs.tasks.respond({ taskId, response, questionId: question.id }));
      } else if (state === "failed") await tried(dibs.tasks.retry({ taskId }));
      else if (state === "submitted" && submission?.stage === "review") {
        const verdict = { taskId, submission: submission.number };
        if (plans.get(id)?.isRejected && submission.number === 1)
          await tried(dibs.tasks.requestChanges({ ...verdict, reason: "not like this" }));
        else await tried(dibs.tasks.approve(verdict));
      }
    }
  }
}

export type Act = "cancel" | "withdraw" | "release" | "retry" | "pause" | "push";

/** One thing that a person does at some moment. */
export async function act(part: Part, act: Act, taskId: string): Promise<void> {
  const { world, dibs, repository } = part;
  if (act === "cancel") await tried(dibs.tasks.cancel({ taskId }));
  if (act === "withdraw") await tried(dibs.tasks.withdraw({ taskId }));
  if (act === "release") await tried(dibs.tasks.release({ taskId, force: true }));
  if (act === "retry") await tried(dibs.tasks.retry({ taskId }));
  if (act === "push") repository.push(part.plans.get(taskId)?.path ?? taskId);
  if (act !== "pause") return;
  await tried(dibs.projects.pause({ id: project }));
  await world.pause(3_000);
  while (typeof (await tried(dibs.projects.resume({ id: project }))) === "string") await world.pause(300);
}
