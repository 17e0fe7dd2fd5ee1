// What runner and warden say to each other.

/** A command to start: a file and its arguments, never a line for a shell. */
export interface Order {
  file: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** A directory of the run's own, to be removed after it. */
  scratch: string;
}

export type WardenMessage =
  | { type: "started" }
  | { type: "failed"; code: string; message: string }
  | { type: "exited"; code: number | null; signal: NodeJS.Signals | null };

/** How the command ended. Without code and signal: nobody saw it. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The command could not be started at all. */
export class Unstartable extends Error {
  override name = "Unstartable";

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
