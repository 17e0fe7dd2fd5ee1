// Which colour a word has: green is well, amber waits for somebody, red is wrong, blue is at work, violet stands for itself.

import { type PriorityLabel, priorityLabel } from "../../../src/contract/priority.js";

const tones: Record<string, string> = {
  working: "link",
  claimed: "link",
  running: "link",
  ready: "good",
  completed: "good",
  submitted: "good",
  done: "good",
  waiting: "wait",
  awaiting_response: "wait",
  stalled: "wait",
  scheduled: "calm",
  blocked: "calm",
  failed: "bad",
  lost: "bad",
  cancelled: "",
  idle: "",
};

export const toneOf = (word: string) => tones[word] ?? "";

const priorityTones: Record<PriorityLabel, string> = {
  critical: "bad strong",
  high: "wait strong",
  medium: "",
  low: "quiet",
};

export const priorityTone = (priority: number) => priorityTones[priorityLabel(priority)];
