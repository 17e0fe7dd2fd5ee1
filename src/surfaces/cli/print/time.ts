export { ago, duration as span } from "../../../client/view/words.js";
