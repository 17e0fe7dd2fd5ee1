import { claims } from "./claims.js";
import type { Driver } from "./harness.js";

export { type Driver, TestClock, told, World } from "./harness.js";

/** Every case, over one driver. */
export function conformance(driver: Driver): void {
  claims(driver);
}
