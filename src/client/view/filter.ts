// The filter as views use it: read it (grammar.ts), apply it (matcher.ts), complete it (suggest.ts).

export { type Filter, formatFilter, parseFilter, type Term } from "./grammar.js";
export { type Known, matcher } from "./matcher.js";
export { type Facts, type Suggestion, suggest } from "./suggest.js";
