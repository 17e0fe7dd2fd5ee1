import { archiving } from "./archiving.js";
import { breakers } from "./breakers.js";
import { capacity } from "./capacity.js";
import { claims } from "./claims.js";
import { copying } from "./copying.js";
import { dependencies } from "./dependencies.js";
import { documents } from "./documents.js";
import { events } from "./events.js";
import { explaining } from "./explaining.js";
import type { Driver } from "./harness.js";
import { hierarchy } from "./hierarchy.js";
import { ids } from "./ids.js";
import { lifecycle } from "./lifecycle.js";
import { locks } from "./locks.js";
import { logs } from "./logs.js";
import { ordering } from "./ordering.js";
import { pages } from "./pages.js";
import { plans } from "./plans.js";
import { questions } from "./questions.js";
import { readiness } from "./readiness.js";
import { refusals } from "./refusals.js";
import { repetition } from "./repetition.js";
import { retries } from "./retries.js";
import { sessions } from "./sessions.js";
import { states } from "./states.js";
import { tokens } from "./tokens.js";
import { transactions } from "./transactions.js";

export { type Driver, TestClock, told, World } from "./harness.js";

/** Every case, over one driver. */
export function conformance(driver: Driver): void {
  lifecycle(driver);
  states(driver);
  refusals(driver);
  repetition(driver);
  claims(driver);
  capacity(driver);
  ordering(driver);
  readiness(driver);
  dependencies(driver);
  hierarchy(driver);
  ids(driver);
  retries(driver);
  breakers(driver);
  sessions(driver);
  questions(driver);
  explaining(driver);
  events(driver);
  transactions(driver);
  pages(driver);
  copying(driver);
  documents(driver);
  tokens(driver);
  locks(driver);
  logs(driver);
  archiving(driver);
  plans(driver);
}
