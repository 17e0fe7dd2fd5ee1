// Every command, with its summary; the rest of it is loaded when it is called.

import type { Command } from "./command.js";

export interface Entry {
  summary: string;
  /** Called by programs only. */
  isHidden?: true;
  load: () => Promise<Record<string, Command>>;
}

const edit = () => import("./commands/edit.js").then(({ commands }) => commands);
const holder = () => import("./commands/holder.js").then(({ commands }) => commands);
const tasks = () => import("./commands/tasks.js").then(({ commands }) => commands);
const people = () => import("./commands/people.js").then(({ commands }) => commands);
const server = () => import("./commands/server.js").then(({ commands }) => commands);
const transfer = () => import("./commands/transfer.js").then(({ commands }) => commands);
const s3 = () => import("./commands/s3.js").then(({ commands }) => commands);
const run = () => import("./commands/run.js").then(({ commands }) => commands);
const completion = () => import("./commands/completion.js").then(({ commands }) => commands);

export const groups: Record<string, Record<string, Entry>> = {
  Begin: {
    init: {
      summary: "set up this repository",
      load: () => import("./commands/init.js").then(({ commands }) => commands),
    },
    demo: {
      summary: "watch a small fleet at work",
      load: () => import("./commands/demo.js").then(({ commands }) => commands),
    },
    doctor: {
      summary: "look for trouble, and mend it",
      load: () => import("./commands/doctor.js").then(({ commands }) => commands),
    },
    trust: {
      summary: "trust the store that came with this directory",
      load: () => import("./commands/trust.js").then(({ commands }) => commands),
    },
    completion: { summary: "completion for bash, zsh and fish", load: completion },
  },
  "Plan work": {
    add: { summary: "add a task", load: edit },
    plan: {
      summary: "turn a plan into tasks, after a preview",
      load: () => import("./commands/plan.js").then(({ commands }) => commands),
    },
    edit: { summary: "change a task", load: edit },
    cancel: { summary: "cancel a task", load: edit },
    retry: { summary: "queue a failed or cancelled task again", load: edit },
    "next-id": { summary: "reserve the next id", load: edit },
  },
  Look: {
    list: { summary: "list tasks", load: tasks },
    ready: { summary: "list what can be claimed now, best first", load: tasks },
    show: { summary: "show one task, its attempts or its log", load: tasks },
    explain: { summary: "say why a task is not running, and what would help", load: tasks },
    dependents: { summary: "list what waits for a task", load: tasks },
    graph: {
      summary: "draw who waits for whom",
      load: () => import("./commands/graph.js").then(({ commands }) => commands),
    },
    "in-flight": { summary: "list what is claimed, and by whom", load: tasks },
    attempts: { summary: "list the attempts at a task", load: tasks },
    sessions: { summary: "show who works on what", load: people },
    events: { summary: "show what happened; -f follows", load: people },
    watch: {
      summary: "fleet, queue and inbox live in the terminal",
      load: () => import("./commands/watch.js").then(({ commands }) => commands),
    },
    stats: { summary: "show figures", load: people },
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
    lock: {
      summary: "acquire, release and show named locks",
      load: () => import("./commands/locks.js").then(({ commands }) => commands),
    },
  },
  "Answer agents": {
    inbox: { summary: "show what needs a human", load: people },
    answer: { summary: "answer an open question", load: people },
  },
  "Run agents": {
    work: { summary: "claim, run a command, report, and again", load: run },
    run: { summary: "run one command for one prompt or one task", load: run },
    mcp: {
      summary: "serve an agent's MCP client on standard input and output",
      load: () => import("./commands/mcp.js").then(({ commands }) => commands),
    },
    spool: {
      summary: "let shell agents work by moving files",
      load: () => import("./commands/spool.js").then(({ commands }) => commands),
    },
  },
  "Run it": {
    serve: { summary: "run the server: HTTP API, live stream, MCP, a page to watch", load: server },
    token: { summary: "make, list and revoke the server's tokens", load: server },
    project: {
      summary: "list, show, make and set up projects",
      load: () => import("./commands/project.js").then(({ commands }) => commands),
    },
    sync: {
      summary: "keep a tasks.json in step with the project, both ways",
      load: () => import("./commands/sync.js").then(({ commands }) => commands),
    },
    backup: { summary: "copy the database while it is in use", load: transfer },
    export: { summary: "write everything as lines of JSON", load: transfer },
    import: { summary: "read an export into an empty store", load: transfer },
  },
  "Leaders and workers": {
    leader: { summary: "add-task, cancel, list, status; priorities 1 to 5", load: s3 },
    worker: { summary: "claim, start, complete, fail as a named agent", load: s3 },
  },
};

const hidden: Record<string, Entry> = {
  "blocked-by": { summary: "the former name of dependents", isHidden: true, load: tasks },
  fence: { summary: "say whether a claim is still held; asked by git's hooks", isHidden: true, load: run },
  hook: {
    summary: "hear an event of Claude Code; called by its hooks",
    isHidden: true,
    load: () => import("./commands/hook.js").then(({ commands }) => commands),
  },
  __complete: { summary: "say what can stand next", isHidden: true, load: completion },
};

export const entries: ReadonlyMap<string, Entry> = new Map([
  ...Object.values(groups).flatMap((group) => Object.entries(group)),
  ...Object.entries(hidden),
]);
