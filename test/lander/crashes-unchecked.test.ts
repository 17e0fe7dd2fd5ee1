// The same for a target in a repository where nobody has it checked out.

import { afterAll, test } from "vitest";
import { effectsOf, killedBefore, reportFigures, stoppedBefore, stopsOf } from "./crashes.js";

const place = "not checked out";

afterAll(() => reportFigures(place));

test.each(effectsOf(place))("killed before: %s", (effect) => killedBefore(effect, place));

test.each(stopsOf(place))("stopped beyond its lease before: %s", (effect) => stoppedBefore(effect, place));
