// Landing: what is completed is on the target, and what was handed in is kept.

import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import { examineLandings } from "../../../lander/index.js";
import { type Context, given } from "../context.js";
import type { Finding } from "../print/doctor.js";

const check = "landing";
const problemsMax = 20;

export async function landingFindings(context: Context, dibs: Dibs): Promise<Finding[]> {
  const { cwd, env } = context.parts;
  const { project } = given({ project: context.text("project") ?? (env.DIBS_PROJECT || undefined) });
  try {
    const report = await examineLandings(dibs, cwd, project);
    if (!report) return [];
    const { target, landed, problems, unchecked = [] } = report;
    const skipped: Finding[] = unchecked.map((what) => ({
      check,
      status: "warn",
      message: `not examined: ${what}`,
    }));
    if (problems.length === 0) {
      return [
        ...skipped,
        {
          check,
          status: "ok",
          message: `${landed} landed ${landed === 1 ? "change is" : "changes are"} on ${target}`,
        },
      ];
    }
    const found = problems.slice(0, problemsMax).map(({ rule, message, fix }) => ({
      check,
      status: rule === "L9" ? ("warn" as const) : ("problem" as const),
      message,
      advice: fix,
    }));
    return [...skipped, ...found];
  } catch (error) {
    if (!(error instanceof DibsError)) throw error;
    return [
      { check, status: "warn", message: error.message, advice: error.hint ?? "Run it inside the repository" },
    ];
  }
}
