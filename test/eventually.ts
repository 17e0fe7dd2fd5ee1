// Polls until an expectation holds. `expect.poll` and `vi.waitFor` give up after one second unless told otherwise: a busy machine
// takes longer.

import { expect } from "vitest";
import { patienceMs } from "./support.js";

export const eventually = <T>(look: () => T | Promise<T>): ReturnType<typeof expect.poll> =>
  expect.poll(look, { timeout: patienceMs, interval: 20 });
