// What no correct fleet lands: L1, L3, L4, L5 and L8, judged by the repository and the log.

import type { DibsEvent } from "../../../src/core/event.js";
import type { TaskAtEnd } from "../../proof/history.js";
import type { Repository } from "./repository.js";

interface Noted {
  event: DibsEvent;
  tick: number;
}

export interface LandedTask extends TaskAtEnd {
  landed?: { commit: string } | null;
}

export function brokenLandings(
  repository: Repository,
  log: readonly Noted[],
  tasks: readonly LandedTask[],
): string[] {
  const broken: string[] = [];
  const landed = new Map<string, string>();
  for (const { id, landed: of } of repository.history()) {
    if (!of) continue;
    const { taskId, submission } = of;
    if (landed.has(taskId)) broken.push(`L5: ${taskId} is on the target twice`);
    landed.set(taskId, id);
    if (!repository.isGreen(id)) broken.push(`L4: submission ${submission} of ${taskId} is red, and landed`);
    const ended = log.find(({ event: { type, taskId: on, data } }) => {
      return on === taskId && ends.has(type) && data.submission === submission;
    });
    if (ended?.event.type !== "task:landed")
      broken.push(
        `L4: submission ${submission} of ${taskId} is on the target: ${ended?.event.type ?? "no end"}`,
      );
  }
  for (const { id, state, landed: record } of tasks) {
    if (state !== "completed" || !record) continue;
    if (landed.get(id) !== record.commit)
      broken.push(`L1: ${id} landed as ${record.commit}, not on the target`);
  }
  for (const { epoch, newest } of repository.moves)
    if (epoch < newest)
      broken.push(`L8: the lander of epoch ${epoch} moved the target after epoch ${newest}`);
  return broken;
}

const ends = new Set(["task:landed", "task:returned", "task:withdrawn", "task:cancelled"]);
