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
const review = () => import("./commands/review.js").then(({ commands }) => commands);
const resources = () => import("./commands/resources.js").then(({ commands }) => commands);
const completion = () => import("./commands/completion.js").then(({ commands }) => commands);

export const groups: Record<string, Record<string, Entry>> = {
  "Get started": {
    init: {
      summary: "set up this repository",
      load: () => import("./commands/init.js").then(({ commands }) => commands),
    },
    add: { summary: "add a task", load: edit },
    list: { summary: "list tasks", load: tasks },
    work: { summary: "claim tasks and run a command for each", load: run },
    watch: {
      summary: "watch sessions, queue and inbox live in the terminal",
      load: () => import("./commands/watch.js").then(({ commands }) => commands),
    },
    answer: { summary: "answer an agent's question", load: people },
    done: { summary: "complete a task", load: holder },
  },
  "Manage tasks": {
    plan: {
      summary: "create tasks from a plan, after a preview",
      load: () => import("./commands/plan.js").then(({ commands }) => commands),
    },
    edit: { summary: "edit tasks", load: edit },
    cancel: { summary: "cancel tasks", load: edit },
    retry: { summary: "queue failed or cancelled tasks again", load: edit },
    withdraw: { summary: "withdraw a submission and queue its task again", load: edit },
    inbox: { summary: "list what needs a human", load: people },
    review: { summary: "list submissions that wait for a review, or show one", load: review },
    approve: { summary: "approve a submission", load: review },
    reject: { summary: "request changes of a submission", load: review },
  },
  "Inspect tasks": {
    ready: { summary: "list ready tasks, best first", load: tasks },
    show: { summary: "show a task, its attempts or its log", load: tasks },
    explain: { summary: "explain why a task is not running", load: tasks },
    dependents: { summary: "list the dependents of a task", load: tasks },
    graph: {
      summary: "draw the dependency graph",
      load: () => import("./commands/graph.js").then(({ commands }) => commands),
    },
    "in-flight": { summary: "list claimed tasks and their sessions", load: tasks },
    conflicts: {
      summary: "list tasks that change the same files",
      load: () => import("./commands/conflicts.js").then(({ commands }) => commands),
    },
    attempts: { summary: "list the attempts at a task", load: tasks },
    sessions: { summary: "list sessions and their tasks", load: people },
    events: { summary: "list events; -f follows", load: people },
    stats: { summary: "show statistics", load: people },
    resources: { summary: "list resources: in use, held, spent, waiting", load: resources },
  },
  "Work on tasks": {
    claim: { summary: "claim a task, or the best ready one", load: holder },
    start: { summary: "start a claimed task", load: holder },
    heartbeat: { summary: "renew the lease of a claim", load: holder },
    progress: { summary: "add a progress note and renew the lease", load: holder },
    ask: { summary: "ask a human a question", load: holder },
    submit: { summary: "hand in the change of a task", load: holder },
    fail: { summary: "report a failed attempt", load: holder },
    release: { summary: "return tasks to the queue", load: holder },
    usage: { summary: "report what an attempt has cost", load: holder },
    lock: {
      summary: "acquire, release and list named locks",
      load: () => import("./commands/locks.js").then(({ commands }) => commands),
    },
  },
  "Run agents": {
    land: {
      summary: "land what was submitted on the target branch",
      load: () => import("./commands/land.js").then(({ commands }) => commands),
    },
    run: { summary: "run one command for one prompt or task", load: run },
    mcp: {
      summary: "run the MCP server on standard input and output",
      load: () => import("./commands/mcp.js").then(({ commands }) => commands),
    },
    spool: {
      summary: "connect shell agents that move files",
      load: () => import("./commands/spool.js").then(({ commands }) => commands),
    },
  },
  "Server and data": {
    serve: { summary: "run the server: HTTP API, dashboard, MCP", load: server },
    token: { summary: "create, list and revoke tokens", load: server },
    project: {
      summary: "create, list and configure projects",
      load: () => import("./commands/project.js").then(({ commands }) => commands),
    },
    resource: { summary: "set, hold, resume and remove resources", load: resources },
    check: {
      summary: "add, list, remove and run the checks of landing",
      load: () => import("./commands/check.js").then(({ commands }) => commands),
    },
    sync: {
      summary: "sync a tasks.json with the project, both ways",
      load: () => import("./commands/sync.js").then(({ commands }) => commands),
    },
    db: {
      summary: "create and restore the tables of a store on DynamoDB",
      load: () => import("./commands/db.js").then(({ commands }) => commands),
    },
    backup: { summary: "copy the database while it is in use", load: transfer },
    export: { summary: "export all data as JSON lines", load: transfer },
    import: { summary: "import an export into an empty store", load: transfer },
  },
  Setup: {
    doctor: {
      summary: "check the installation and fix problems",
      load: () => import("./commands/doctor.js").then(({ commands }) => commands),
    },
    trust: {
      summary: "trust the store of this directory",
      load: () => import("./commands/trust.js").then(({ commands }) => commands),
    },
    completion: { summary: "print the completion script for a shell", load: completion },
    demo: {
      summary: "show a small fleet at work",
      load: () => import("./commands/demo.js").then(({ commands }) => commands),
    },
  },
  Compatibility: {
    leader: { summary: "add-task, cancel, list, status; priorities 1 to 5", load: s3 },
    worker: { summary: "claim, start, complete, fail as a named agent", load: s3 },
    fence: { summary: "check that a claim is still held, for git hooks", load: run },
    hook: {
      summary: "handle an event of Claude Code's hooks",
      load: () => import("./commands/hook.js").then(({ commands }) => commands),
    },
    "next-id": { summary: "reserve the next task id", load: edit },
  },
};

const hidden: Record<string, Entry> = {
  "blocked-by": { summary: "former name of dependents", isHidden: true, load: tasks },
  __complete: { summary: "print completion candidates", isHidden: true, load: completion },
};

export const entries: ReadonlyMap<string, Entry> = new Map([
  ...Object.values(groups).flatMap((group) => Object.entries(group)),
  ...Object.entries(hidden),
]);
