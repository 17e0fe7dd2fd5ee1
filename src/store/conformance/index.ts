import { capacity } from "./capacity.js";
import { claims } from "./claims.js";
import type { Driver } from "./harness.js";
import { lifecycle } from "./lifecycle.js";
import { refusals } from "./refusals.js";
import { repetition } from "./repetition.js";
import { states } from "./states.js";

export { type Driver, TestClock, told, World } from "./harness.js";

/** Every case, over one driver. */
export function conformance(driver: Driver): void {
  lifecycle(driver);
  states(driver);
  refusals(driver);
  repetition(driver);
  claims(driver);
  capacity(driver);
}
