// The brief for a command: what the store knows about the task, and what to do at the end.

import { renderBrief, showByCommand } from "../client/brief/brief.js";
import { dataRule } from "../client/brief/data.js";
import { type BriefFacts, gatherFacts } from "../client/brief/facts.js";
import type { Dibs } from "../client/client.js";
import type { WireTask } from "../contract/shapes.js";

export interface BriefPlace {
  resultFile: string;
  /** Of the task's worktree; null: it runs without one. */
  branch: string | null;
}

export async function briefFor(dibs: Dibs, task: WireTask, place: BriefPlace): Promise<string> {
  return commandBrief(await gatherFacts(dibs, task), place);
}

/** At most 64 KiB, so that it can be an argument: Linux takes 128 KiB. */
function commandBrief(facts: BriefFacts, place: BriefPlace): string {
  const { id, epoch, parentId } = facts.task;
  const whole = parentId === null ? "" : `, a subtask of ${parentId}`;
  return [
    `You work on Dibs task ${id}${whole}, attempt ${epoch}. Do what the block "task ${id}" asks, and only that.`,
    dataRule,
    "",
    renderBrief(facts, showByCommand),
    "",
    ...closing(place),
    "",
  ].join("\n");
}

function closing({ resultFile, branch }: BriefPlace): string[] {
  return [
    "When you finish:",
    branch === null
      ? "- Commit your changes only if the task or the repository's instructions ask for it."
      : `- Commit your changes on branch ${branch}, in this directory. Dependents get only what is committed.`,
    `- Write a short summary of what you did to the file ${resultFile} (DIBS_RESULT_FILE). Dependents read it.`,
    '  Plain text, or JSON: {"output": "...", "filesCreated": ["..."], "filesModified": ["..."]}',
    '- If the task cannot be done, write {"error": "why", "retryable": false} to that file instead.',
    '- If a human must decide, run: dibs ask --wait "your question"',
  ];
}
