// Which colour a word has: green is well, amber waits for somebody, red is wrong, blue is at work, violet stands for itself.

const tones: Record<string, string> = {
  working: "link",
  claimed: "link",
  running: "link",
  ready: "good",
  completed: "good",
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

const priorityTones: Record<string, string> = { CRITICAL: "bad strong", HIGH: "wait strong", LOW: "quiet" };

export const priorityTone = (word: string) => priorityTones[word] ?? "";
