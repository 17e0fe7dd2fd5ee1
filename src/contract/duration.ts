export { exactDuration } from "../core/duration.js";
