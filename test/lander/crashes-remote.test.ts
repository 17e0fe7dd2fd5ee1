// The same for a target on a remote.

import { afterAll, test } from "vitest";
import { effectsOf, killedBefore, reportFigures, stoppedBefore, stopsOf } from "./crashes.js";

const place = "on a remote";

afterAll(() => reportFigures(place));

test.each(effectsOf(place))("killed before: %s", (effect) => killedBefore(effect, place));

test.each(stopsOf(place))("stopped beyond its lease before: %s", (effect) => stoppedBefore(effect, place));
