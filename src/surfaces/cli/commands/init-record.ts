// The record of what `init` changed, in a file beside the database that git does not see.

import { dirname, join, relative, sep } from "node:path";
import type { Context } from "../context.js";
import { Changes } from "../integrations/record.js";

export class OwnRecord {
  private constructor(
    private readonly context: Context,
    private readonly path: string,
    private saved: string | null,
    private readonly changes: Changes,
  ) {}

  static async open(context: Context): Promise<OwnRecord> {
    const { parts } = context;
    const path = join(dirname(await parts.databaseFor(parts.cwd)), "init.json");
    const saved = await parts.files.read(path);
    return new OwnRecord(context, path, saved, new Changes(saved));
  }

  /** Without one, nobody knows who made what. */
  get exists(): boolean {
    return !this.changes.isEmpty;
  }

  /** The same wherever the repository lies; worktrees have files of their own and share the record. */
  private nameOf(path: string): string {
    return relative(dirname(dirname(this.path)), path)
      .split(sep)
      .join("/");
  }

  note(path: string, before: string | null, after: string, agents: readonly string[]): Promise<void> {
    this.changes.note(this.nameOf(path), before, after, agents);
    return this.save();
  }

  undo(path: string, text: string): { text: string | null } | undefined {
    return this.changes.undo(this.nameOf(path), text);
  }

  forget(path: string): Promise<void> {
    this.changes.forget(this.nameOf(path));
    return this.save();
  }

  async leave(path: string, agents: readonly string[]): Promise<boolean> {
    const isUnwanted = this.changes.leave(this.nameOf(path), agents);
    if (!isUnwanted) await this.save();
    return isUnwanted;
  }

  private async save(): Promise<void> {
    const { files } = this.context.parts;
    const text = this.changes.isEmpty ? null : this.changes.toString();
    if (text === this.saved) return;
    if (text === null) await files.remove(this.path);
    else if (this.saved === null) await files.create(this.path, text);
    else await files.replace(this.path, text);
    this.saved = text;
  }
}
