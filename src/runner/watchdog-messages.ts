// Messages between the runner and the watchdog.

/** A command to start: a file and its arguments, never a shell command line. */
export interface StartRequest {
  file: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** A directory of this run, removed after it. */
  scratch: string;
}

export type WatchdogMessage =
  | { type: "started" }
  | { type: "failed"; code: string; message: string }
  | { type: "exited"; code: number | null; signal: NodeJS.Signals | null };

/** How the command ended. Without code and signal: unknown. */
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
