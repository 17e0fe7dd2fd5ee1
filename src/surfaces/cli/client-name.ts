// The name of the agent that a program is: Claude Code starts `dibs mcp`, calls `dibs hook` and runs commands, and all of them
// speak for the same agent. Its sessions come and go with /clear and /resume, but not its process.

import { resolve } from "node:path";
import type { Parts } from "./parts.js";

/** Null where nobody can tell which process it is. */
export async function clientName(parts: Parts, pid: number): Promise<string | null> {
  const { host, processStartedAt } = await parts.processOf(pid);
  return processStartedAt === undefined ? null : `claude-${pid}-${shortOf(`${host} ${processStartedAt}`)}`;
}

/** Pids are used again, and mean something on one host only. (FNV-1a) */
function shortOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash.toString(36).padStart(7, "0");
}

/** The same world, seen from another directory. */
export function inDirectory(parts: Parts, directory: string): Parts {
  return Object.create(parts, { cwd: { value: resolve(parts.cwd, directory), enumerable: true } });
}
