// Why a landing cannot go on for reasons that are no task's fault. Nothing is returned; an inbox item says what to do.

export interface Hold {
  /** A code, such as TARGET_RED. */
  reason: string;
  message: string;
  /** The command that helps. */
  fix?: string;
  /** The submissions that wait for it; none: all. */
  tasks?: { project: string; taskId: string }[];
}

/** Holds every submission. */
export class Held extends Error {
  override name = "Held";

  constructor(readonly hold: Hold) {
    super(hold.message);
  }
}

/** The project lands elsewhere from now on: the lander begins anew. */
export class SettingsChanged extends Error {
  override name = "SettingsChanged";
}

/** The target or the queue is not what this landing began with: it begins again. */
export class BeginAgain extends Error {
  override name = "BeginAgain";
}

/** Another lander works now, or will: this one changes nothing any more. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
}

export const shortSha = (commit: string) => commit.slice(0, 10);

/** One line of what git said. */
export function saidByGit(error: unknown): string {
  const text =
    error instanceof Error ? ((error as { stderr?: string }).stderr ?? error.message) : String(error);
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "git failed";
  return line.trim().slice(0, 500);
}
