// What a lander reports as it goes: one step, one line.

import type { CheckResult } from "./checks.js";
import type { Hold } from "./hold.js";

interface OfTask {
  project: string;
  taskId: string;
  submission: number;
}

export type Step =
  | { step: "leased"; target: string; epoch: number }
  | { step: "waiting"; for: "lease"; target: string }
  | { step: "idle"; target: string }
  | ({ step: "merged"; commit: string } & OfTask)
  | ({ step: "conflict"; paths: string[] } & OfTask)
  | ({ step: "check" } & Pick<CheckResult, "name" | "state" | "durationMs" | "tree">)
  | ({ step: "review" } & OfTask)
  | ({ step: "landed"; commit: string | null; target: string; landing: string } & OfTask)
  | ({ step: "returned"; reason: string; detail: string } & OfTask)
  | { step: "held"; holds: Hold[] }
  | { step: "settled"; landing: string; as: "landed" | "dropped" }
  | { step: "kept"; message: string };
