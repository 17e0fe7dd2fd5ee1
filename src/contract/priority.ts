// What clients need to know of priorities to show and to compare them.

export { type PriorityLabel, priorityLabel, priorityWords } from "../core/priority.js";
