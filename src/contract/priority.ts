// What clients need to know of priorities to show, to compare and to order them.

export {
  effectivePriority,
  type PriorityLabel,
  type PriorityWord,
  priorityLabel,
  priorityWords,
} from "../core/priority.js";
