// The files of agents that `init` makes, changes and takes away. All of them are read and judged before the first one is
// written: whoever is refused has nothing half done.

import { dirname, join } from "node:path";
import { DibsError } from "../../../contract/error.js";
import type { Context } from "../context.js";
import { filesFor, integrationNames, type OwnFile } from "../integrations/index.js";

export interface Step {
  what: "store" | "config" | "gitignore" | "agents" | OwnFile["what"];
  /** `made`, `changed` or `removed`; `kept`: it was there; `skipped`: it was not wanted. */
  did: "made" | "changed" | "removed" | "kept" | "skipped";
  path: string;
  note?: string;
}

interface Change {
  file: OwnFile;
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
      changes.push({ file, path, before, after: judged(path, file, () => file.add(before)) });
    }
  }
  return changes;
}

export async function writeFiles(
  { parts }: Context,
  changes: readonly Change[],
  { hasAgentsMd }: { hasAgentsMd: boolean },
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const { file, path, before, after } of changes) {
    // It would lead to a file that is not there.
    if (file.what === "memory" && !hasAgentsMd) continue;
    if (before === null) await parts.files.create(path, after);
    else if (before !== after) await parts.files.replace(path, after);
    const did = before === null ? "made" : before === after ? "kept" : "changed";
    const note = did === "kept" ? file.doubt?.(after) : undefined;
    steps.push({ what: file.what, did, path, ...(note ? { note } : {}) });
  }
  return steps;
}

/** Only what is as we wrote it; of the agents that are named, or of all. */
export async function removeFiles(
  context: Context,
  { hasAgentsMd }: { hasAgentsMd: boolean },
): Promise<Step[]> {
  const { files } = context.parts;
  const root = await rootOf(context);
  const steps: Step[] = [];
  for (const file of (context.list("agent") ?? integrationNames).flatMap((name) => filesFor(name))) {
    const path = join(root, file.path);
    const before = await readInside(context, path);
    // What leads to AGENTS.md is of use as long as there is one.
    const isOther = file.what === "memory" ? hasAgentsMd : !before?.includes("dibs");
    if (before === null || isOther) continue;
    const after = judged(path, file, () => file.remove(before));
    if (after === before && file.what === "memory") continue;
    if (after === null) {
      await files.remove(path);
      await files.prune(dirname(path), root);
    } else if (after !== before) await files.replace(path, after);
    const note = "not as dibs wrote it; left as it is";
    steps.push({ what: file.what, path, ...(after === before ? { did: "kept", note } : { did: "removed" }) });
  }
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

function judged<T>(path: string, { paste }: OwnFile, edit: () => T): T {
  return edited(path, edit, `Mend it, or add this by hand:\n${paste}`);
}

export function edited<T>(path: string, edit: () => T, hint: string): T {
  try {
    return edit();
  } catch (error) {
    throw new DibsError("INVALID_STATE", `${path} was left as it is: ${(error as Error).message}.`, { hint });
  }
}
