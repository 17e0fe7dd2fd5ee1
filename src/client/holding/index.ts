// Holding tasks: what every kind of worker shares. `dibs.work`, the runner, MCP and the spool are adapters of it.

export { HeldClaim, type HolderOf } from "./claim.js";
export { hasCode, isLost } from "./endings.js";
export { type Answer, WorkLoop } from "./loop.js";
export { beatMsFor, claimSettings, Heartbeat } from "./pace.js";
export {
  isHandedIn,
  isSubmitted,
  type Outcome,
  Reports,
  type Sent,
  storable,
  waitsForAnswer,
  waitsForChildren,
} from "./reports.js";
export { HeldSession } from "./session.js";
export { isTransient, untilAnswered } from "./transient.js";
export { watchTasks } from "./watch.js";
