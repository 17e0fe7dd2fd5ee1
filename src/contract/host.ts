// Hosts of sessions, submissions and landers, as clients compare them.

export { isSameMachine } from "../core/session.js";
