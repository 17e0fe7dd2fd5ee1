// What clients need to know of priorities and of the queue, to show and to order tasks.

export { type PriorityLabel, type PriorityWord, priorityLabel, priorityWords } from "../core/priority.js";
export { claimKeys } from "../core/ready.js";
