/** One file of a project that an integration makes, or adds something to. */
export interface OwnFile {
  /** Below the root of the repository. */
  path: string;
  what: "mcp" | "plugin" | "memory";
  /** The file with what is ours; the same text if it has it, or has something else in its place. Throws where it cannot tell. */
  add(text: string | null): string;
  /** The file without what is ours, if it is as we wrote it; null: nothing else was in it. */
  remove(text: string): string | null;
  /** What to add by hand where we do not dare. */
  paste: string;
  /** Why a file that is kept as it is may not do what is wanted. */
  doubt?(text: string): string | undefined;
}
