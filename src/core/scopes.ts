// Which exclusive paths of its project a task needs alone: those globs of `scopes.exclusive` that one of its files meets.

import { globsThatMeet } from "../common/glob-meet.js";

/** They are part of what a task asks for, so they are few and short. */
export const exclusiveMax = 20;
export const exclusiveLengthMax = 100;

export interface ScopeSettings {
  /** Globs of paths that only one task at a time is to change: lockfiles, migrations, generated code. */
  exclusive: string[];
}

const none: string[] = [];

export function scopesOf(files: readonly string[], { exclusive }: ScopeSettings): string[] {
  if (exclusive.length === 0 || files.length === 0) return none;
  return globsThatMeet([...new Set(exclusive)], files).sort();
}
