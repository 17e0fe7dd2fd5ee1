// Real workers for the tests of the dashboard: the built `dibs work` with a shell script, against the server of the story.

import { openPlace, type Place, type Running, sh } from "../cli/run-place.js";
import type { World } from "../http/support.js";

export interface Workshop {
  place: Place;
  /** Takes one task, runs the script for it, reports, and ends. `dibs` is in its PATH. */
  workOnce(script: string): Running;
}

/** Gone with the test. */
export async function openWorkshop(world: World): Promise<Workshop> {
  const place = await openPlace("embedded");
  const env = { DIBS_URL: world.url, DIBS_TOKEN: world.token, DIBS_PROJECT: "demo" };
  return {
    place,
    workOnce: (script) => place.begin(["work", "--once", "--quiet", "--", ...sh(script)], { env }),
  };
}
