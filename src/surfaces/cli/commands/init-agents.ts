// The files of agents that `init` makes, changes and takes away. All of them are read and judged before the first one is
// written: whoever is refused has nothing half done.

import { dirname, join } from "node:path";
import { DibsError } from "../../../contract/error.js";
import type { Context } from "../context.js";
import { filesFor, integrationNames, type OwnFile } from "../integrations/index.js";
import type { OwnRecord } from "./init-record.js";

export interface Step {
  what:
    | "store"
    | "config"
    | "gitignore"
    | "agents"
    | "landing"
    | OwnFile["what"]
    | "worktree"
    | "branch"
    | "git"
    | "foreign";
  /** `made`, `changed` or `removed`; `kept`: it was there; `skipped`: it was not wanted. */
  did: "created" | "changed" | "removed" | "kept" | "skipped";
  /** Of a branch, a git setting or a part of landing its name. */
  path: string;
  note?: string;
  /** A line of its own, after all steps. */
  warning?: string;
}

interface Change {
  file: OwnFile;
  agent: string;
  path: string;
  before: string | null;
  after: string;
}

export async function plannedFiles(context: Context): Promise<Change[]> {
  const changes: Change[] = [];
  for (const name of new Set(context.list("agent"))) {
    for (const file of filesFor(name)) {
      const path = join(await rootOf(context), file.path);
      const before = await readInside(context, path);
      const after = judged(path, file, () => readable(before, file.add(before)));
      changes.push({ file, agent: name, path, before, after });
    }
  }
  return changes;
}

export async function writeFiles(
  { parts }: Context,
  changes: readonly Change[],
  { hasAgentsMd, record }: { hasAgentsMd: boolean; record: OwnRecord },
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const { file, agent, path, before, after } of changes) {
    // It would lead to a file that is not there.
    if (file.what === "memory" && !hasAgentsMd) continue;
    await record.note(path, before, after, [agent]);
    if (before === null) await parts.files.create(path, after);
    else if (before !== after) await parts.files.replace(path, after);
    const did = before === null ? "created" : before === after ? "kept" : "changed";
    const note = did === "kept" ? file.doubt?.(after) : undefined;
    steps.push({ what: file.what, did, path, ...(note ? { note } : {}) });
  }
  return steps;
}

/** Only what is as we wrote it; of the agents that are named, or of all. */
export async function removeFiles(
  context: Context,
  { hasAgentsMd, record }: { hasAgentsMd: boolean; record: OwnRecord },
): Promise<Step[]> {
  const { files } = context.parts;
  const root = await rootOf(context);
  const steps: Step[] = [];
  const own = (context.list("agent") ?? integrationNames).flatMap((name) => filesFor(name));
  for (const file of own) {
    const path = join(root, file.path);
    const before = await readInside(context, path);
    if (before === null) continue;
    const undone = record.undo(path, before);
    // What leads to AGENTS.md is of use as long as there is one, and somebody's own if we know that it is not ours.
    const isOther = file.what === "memory" ? hasAgentsMd || record.exists : !before.includes("dibs");
    if (isOther && !undone) continue;
    const after = undone ? undone.text : judged(path, file, () => file.remove(before));
    if (after === before && file.what === "memory") continue;
    if (after === null) {
      await files.remove(path);
      await files.prune(dirname(path), root);
    } else if (after !== before) await files.replace(path, after);
    const note = "not as dibs wrote it; left as it is";
    steps.push({ what: file.what, path, ...(after === before ? { did: "kept", note } : { did: "removed" }) });
  }
  for (const { path } of own) await record.forget(join(root, path));
  return steps;
}

const rootOf = ({ parts }: Context) => parts.files.rootOf(parts.cwd);

/** Null if there is none. Not through a link that leads out of the repository: what lies in one is not trusted. */
export async function readInside(context: Context, path: string): Promise<string | null> {
  const { files } = context.parts;
  const root = await rootOf(context);
  for (let at = path; at !== root && at !== dirname(at); at = dirname(at)) {
    if (!(await files.exists(at)) || (await files.isInside(at, root))) continue;
    throw new DibsError("FORBIDDEN", `${at} is a link that leads out of this repository.`, {
      hint: "Nothing was written to where it leads. --no-agents leaves AGENTS.md alone.",
    });
  }
  return files.read(path);
}

/** Bytes that are no text would not be the same again. */
export function readable(before: string | null, after: string): string {
  if (before !== after && before?.includes("\ufffd")) throw new Error("it is not text in UTF-8");
  return after;
}

function judged<T>(path: string, { paste }: OwnFile, edit: () => T): T {
  return edited(path, edit, `Fix it, or add this by hand:\n${paste}`);
}

export function edited<T>(path: string, edit: () => T, hint: string): T {
  try {
    return edit();
  } catch (error) {
    throw new DibsError("INVALID_STATE", `${path} was left as it is: ${(error as Error).message}.`, { hint });
  }
}
