// The course of the demo: a plan in one batch, four workers as processes of their own, and then nothing but the event feed, which
// moves the picture, the story and the end.

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Dibs, type DibsEvent, openDibs } from "../index.js";
import { describe, isMinor, styleOf } from "./describe.js";
import { agents, Fleet } from "./fleet.js";
import { plan, project, scriptOf } from "./plan.js";
import type { Output } from "./screen.js";
import { Story } from "./story.js";
import { type Summary, summarise } from "./summary.js";
import type { Picture } from "./table.js";
import type { Style } from "./text.js";
import { Watch } from "./watch.js";

export interface Stage {
  output: Output;
  pace: number;
  /** Ends everything early. */
  ending: AbortController;
  /** Takes what must be undone however the process ends. */
  onExit(step: () => void): void;
}

export interface Ended {
  picture: Picture;
  summary: Summary;
}

const retryDelayMs = 1_500;

export async function runDemo(stage: Stage): Promise<Ended> {
  const dir = await mkdtemp(join(tmpdir(), "dibs-demo-"));
  const removeDir = () => rmSync(dir, { recursive: true, force: true });
  stage.onExit(removeDir);
  const path = join(dir, "dibs.db");
  const dibs = await openDibs({ path, project, actor: "user:human" });
  try {
    return await perform(stage, dibs, path);
  } finally {
    await dibs.close();
    removeDir();
  }
}

async function perform({ output, pace, ending, onExit }: Stage, dibs: Dibs, path: string): Promise<Ended> {
  const startedAt = Date.now();
  const elapsed = () => Date.now() - startedAt;
  const fail = (error: unknown) => ending.abort(error);
  await dibs.projects.update({
    settings: { retry: { delayMs: Math.round(retryDelayMs * pace), jitter: 0 } },
  });
  const { tasks } = await dibs.tasks.batch({ tasks: plan });
  const titles = new Map(tasks.map(({ id, title }) => [id, title]));
  const scripts = new Map(tasks.map((task) => [task.id, scriptOf(task)]));

  const fleet = new Fleet(fail);
  onExit(() => fleet.killAll());
  const say = (text: string, style?: Style) => output.log({ elapsedMs: elapsed(), text, style });
  for (const agent of agents) {
    say(`the demo starts ${agent} (pid ${fleet.start(agent, [path, agent, String(pace)])})`);
  }
  const story = new Story({ dibs, fleet, scripts, pace, say, onError: fail });
  const watch = new Watch(dibs, fleet, output, elapsed, fail);
  const open = new Set(titles.keys());
  let seen = 0;
  const notice = (event: DibsEvent) => {
    seen = event.seq;
    const elapsedMs = Date.parse(event.at) - startedAt;
    output.log({ elapsedMs, text: describe(event, titles), minor: isMinor(event), style: styleOf(event) });
    story.notice(event);
    watch.touch();
    if (event.type === "task:completed") open.delete(event.taskId ?? "");
    // What waits for a failed task would wait for ever.
    if (event.type === "task:failed") fail(new Error(describe(event, titles)));
  };
  try {
    for await (const event of dibs.events.follow({ after: 0, signal: ending.signal })) {
      notice(event);
      if (open.size === 0) break;
    }
    ending.signal.throwIfAborted();
    await fleet.stop();
    const { events } = await dibs.events.list({ after: seen, limit: 1000 });
    for (const event of events) notice(event);
    const picture = await watch.load();
    return { picture, summary: await summarise(dibs, story, elapsed()) };
  } finally {
    await watch.stop();
    await fleet.stop();
  }
}
