// A lander beside other work: `dibs work` and `dibs serve` land what is submitted where they run in the project's repository.

import { pause } from "../common/abort.js";
import { DibsError } from "../contract/error.js";
import { gitOr } from "../runner/git.js";
import { type LanderOptions, runLander } from "./lander.js";

export interface StandBy {
  /** It has not come to the end of the queue yet: recorded holds are those of the lander before. */
  isLooking(): boolean;
  /** Ends what runs: a landing whose intent was recorded is finished by the next lander. */
  stop(): Promise<void>;
}

/** How often a project in which landing is off is looked at again, and how long to pause after a trouble. */
const lookMs = 10_000;

/** Refusals that stay: this caller may not land, or the directory is another repository. */
const lasting: readonly DibsError["code"][] = [
  "FORBIDDEN",
  "UNAUTHENTICATED",
  "VALIDATION_FAILED",
  "REMOTE_REQUIRED",
];

type Options = Omit<LanderOptions, "once" | "signal">;

export function standBy(options: Options): StandBy {
  const stopping = new AbortController();
  let isLooking = true;
  const onLooked = () => {
    isLooking = false;
  };
  const running = keepLanding(options, stopping.signal, onLooked)
    .catch((error) => options.onTrouble?.(error))
    .finally(onLooked);
  return {
    isLooking: () => isLooking,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function keepLanding(options: Options, signal: AbortSignal, onLooked: () => void): Promise<void> {
  const { dibs, directory, project, onTrouble } = options;
  if ((await gitOr(directory, ["rev-parse", "--git-dir"]).catch(() => null)) === null) return;
  const onStep: Options["onStep"] = (step) => {
    if (step.step === "idle" || step.step === "waiting") onLooked();
    options.onStep?.(step);
  };
  let said = "";
  while (!signal.aborted) {
    try {
      const { settings } = (await dibs.projects.get(project === undefined ? {} : { id: project })).project;
      if (settings.land.target !== null) await runLander({ ...options, onStep, signal });
    } catch (error) {
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      if (message !== said) onTrouble?.(error);
      said = message;
      if (error instanceof DibsError && lasting.includes(error.code)) return;
    }
    onLooked();
    await pause(lookMs, signal);
  }
}
