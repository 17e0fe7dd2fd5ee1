// The brief for a command: what the store knows about the task, and what to do at the end.

import { renderBrief, showByCommand } from "../client/brief/brief.js";
import { clipped } from "../client/brief/bytes.js";
import { block, dataRule, oneLine } from "../client/brief/data.js";
import { type BriefFacts, gatherFacts } from "../client/brief/facts.js";
import type { Dibs } from "../client/client.js";
import type { WireTask } from "../contract/shapes.js";
import type { Conflicts } from "./landing-worktree.js";

export interface BriefPlace {
  resultFile: string;
  /** Of the task's worktree; null: it runs without one. */
  branch: string | null;
  /** The branch that the work lands on; null: it does not land. */
  target: string | null;
  /** What the merge before the attempt left to resolve. */
  conflicts: Conflicts | null;
}

/** With what the claim's answer said about earlier attempts. */
export async function briefFor(
  dibs: Dibs,
  { task, handover }: { task: WireTask; handover?: string | undefined },
  place: BriefPlace,
): Promise<string> {
  return commandBrief(await gatherFacts(dibs, task, handover ?? null), place);
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
    ...(place.conflicts ? conflictLines(place.conflicts) : []),
    ...closing(place),
    "",
  ].join("\n");
}

const conflictsMax = 50;
const conflictBytesMax = 2 * 1024;

function conflictLines({ paths, with: other, left }: Conflicts): string[] {
  const lines = paths.slice(0, conflictsMax).map(({ path, tasks }) => {
    const from = tasks.length === 0 ? "" : ` (changed by ${tasks.join(", ")})`;
    return `${oneLine(path)}${from}`;
  });
  const more = paths.length > conflictsMax ? [`and ${paths.length - conflictsMax} more`] : [];
  const rest = left.map(oneLine).join(", ");
  return [
    `Before you started, ${oneLine(other)} was merged into this directory. These paths are in conflict:`,
    block("paths in conflict", clipped([...lines, ...more].join("\n"), conflictBytesMax)),
    "Resolve them first: keep what both sides want, remove every conflict marker, and run git add for each path. Run: git status",
    ...(rest === "" ? [] : [clipped(`Then merge these branches too: ${rest}`, 500)]),
    "",
  ];
}

function closing({ resultFile, branch, target }: BriefPlace): string[] {
  return [
    "When you finish:",
    ...handingIn(branch, target),
    `- Write a short summary of what you did to the file ${resultFile} (DIBS_RESULT_FILE). Dependents read it.`,
    '  Plain text, or JSON: {"output": "...", "filesCreated": ["..."], "filesModified": ["..."]}',
    '- If the task cannot be done, write {"error": "why", "retryable": false} to that file instead.',
    '- If a human must decide, run: dibs ask --wait "your question"',
  ];
}

function handingIn(branch: string | null, target: string | null): string[] {
  if (branch === null)
    return ["- Commit your changes only if the task or the repository's instructions ask for it."];
  if (target === null)
    return [
      `- Commit your changes on branch ${branch}, in this directory. Dependents get only what is committed.`,
    ];
  return [
    `- When the command exits with 0, everything in this directory is committed on branch ${branch} and handed in.`,
    `  It lands on ${target} after its checks. Remove what must not land. Never merge into ${target} or push it yourself.`,
  ];
}
