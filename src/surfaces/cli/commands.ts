// Every command, with its summary; the rest of it is loaded when it is called.

import type { Command } from "./command.js";

interface Entry {
  summary: string;
  load: () => Promise<Record<string, Command>>;
}

const holder = () => import("./commands/holder.js").then(({ commands }) => commands);
const tasks = () => import("./commands/tasks.js").then(({ commands }) => commands);
const people = () => import("./commands/people.js").then(({ commands }) => commands);
const server = () => import("./commands/server.js").then(({ commands }) => commands);

export const groups: Record<string, Record<string, Entry>> = {
  "Plan work": {
    add: { summary: "add a task", load: tasks },
    list: { summary: "list tasks", load: tasks },
    ready: { summary: "list what can be claimed now, best first", load: tasks },
    show: { summary: "show one task", load: tasks },
    edit: { summary: "change a task", load: tasks },
    cancel: { summary: "cancel a task", load: tasks },
    retry: { summary: "queue a failed or cancelled task again", load: tasks },
    explain: { summary: "say why a task is not running, and what would help", load: tasks },
    "blocked-by": { summary: "list who waits for a task", load: tasks },
    "next-id": { summary: "reserve the next id", load: tasks },
  },
  "Do work": {
    claim: { summary: "claim a task, or the best one", load: holder },
    start: { summary: "start working on what was claimed", load: holder },
    heartbeat: { summary: "renew the lease", load: holder },
    progress: { summary: "put a note on the timeline and renew the lease", load: holder },
    ask: { summary: "ask a human", load: holder },
    done: { summary: "complete a task", load: holder },
    fail: { summary: "report a failed attempt", load: holder },
    release: { summary: "give a task back", load: holder },
  },
  People: {
    inbox: { summary: "show what needs a human", load: people },
    answer: { summary: "answer an open question", load: people },
    sessions: { summary: "show who works on what", load: people },
    events: { summary: "show what happened; -f follows", load: people },
    stats: { summary: "show figures", load: people },
  },
  Run: {
    serve: { summary: "run the server: HTTP API, live stream, dashboard", load: server },
    token: { summary: "make, list and revoke the server's tokens", load: server },
  },
};

export const entries: ReadonlyMap<string, Entry> = new Map(
  Object.values(groups).flatMap((group) => Object.entries(group)),
);
