// Every environment variable and every key of .dibs/config.json. docs/reference/settings.md is generated from these tables, and a house test
// finds variables that are not in them. A project's settings are in the contract (settingsShape).

export interface Setting {
  means: string;
  /** What it holds: its unit and bounds. */
  values: string;
  default: string;
}

export interface ConfigKey extends Setting {
  type: "string" | "number";
}

/** For everybody who works in the repository. */
export const configKeys = {
  project: {
    type: "string",
    means: "The project of commands that name none",
    values: "name of a project",
    default: "the store's default project",
  },
  url: {
    type: "string",
    means: "The server of the team",
    values: "http or https address without a user or token",
    default: "the server that runs for the store, if one does",
  },
  db: {
    type: "string",
    means: "The database of the team; not together with `url`",
    values: "path from the root of the repository, `postgres://…` without a password, or `dynamodb://…`",
    default: "`.dibs/dibs.db`",
  },
  agent: {
    type: "string",
    means: "The agent of `dibs work` and `dibs run`",
    values: "one of those that `dibs work --help` lists",
    default: "none",
  },
  concurrency: {
    type: "number",
    means: "How many tasks `dibs work` runs at once",
    values: "1 to 100",
    default: "1",
  },
} as const satisfies Record<string, ConfigKey>;

const name = "name: up to 128 letters, digits, `.`, `_`, `-`";

/** Read by commands. */
export const variables = {
  DIBS_AGENT: { ...asIn("agent"), means: "The agent of `dibs work` and `dibs run`" },
  DIBS_CONCURRENCY: { ...asIn("concurrency"), means: "How many tasks `dibs work` runs at once" },
  DIBS_CONFIG: {
    means: "The settings file, as `--config`",
    values: "path",
    default: "`.dibs/config.json`",
  },
  DIBS_DATABASE_URL: {
    means: "The database, as `--db`",
    values: "path, `postgres://user:password@host:5432/database` or `dynamodb://region/prefix`",
    default: "`.dibs/dibs.db` of the repository",
  },
  DIBS_DEBUG: { means: "Print where a defect of Dibs occurred", values: "any text", default: "off" },
  DIBS_DEMO_SPEED: {
    means: "Factor for every duration of `dibs demo`: 0.1 is ten times as fast",
    values: "number from 0.01 to 4",
    default: "1",
  },
  DIBS_EPOCH: { means: "Epoch of the claim, as `--epoch`", values: "whole number from 1", default: "none" },
  DIBS_FENCE: {
    means: "Whether git hooks in worktrees of tasks ask if the claim is still held",
    values: "`off` switches them off",
    default: "on",
  },
  DIBS_HOST: {
    means: "Address that `dibs serve` listens on, as `--host`",
    values: "IP address or host name",
    default: "127.0.0.1",
  },
  DIBS_ORG: { means: "The tenant, as `--org`", values: name, default: "default" },
  DIBS_PORT: {
    means: "Port that `dibs serve` listens on, as `--port`; 0 takes a free one",
    values: "0 to 65535",
    default: "3427",
  },
  DIBS_PROJECT: { ...asIn("project"), means: "The project, as `--project`" },
  DIBS_SESSION: { means: "Name of the agent, as `--session`", values: name, default: "none" },
  DIBS_TASK: {
    means: "The task of commands that name none, such as `dibs done`",
    values: "id of a task",
    default: "none",
  },
  DIBS_TOKEN: {
    means: "Token for a server. For `dibs serve`: the admin's token",
    values: "token",
    default: "the token file next to the database",
  },
  DIBS_TRUST: {
    means: "Trust every store and address that is found, for containers",
    values: "`1`",
    default: "off",
  },
  DIBS_URL: {
    means: "The server, as `--url`",
    values: "http or https address",
    default: "the server that runs for the store, if one does",
  },
} as const satisfies Record<`DIBS_${string}`, Setting>;

/** Set by `dibs work` and `dibs run` for the command of a task, besides those above that name its store and claim. */
export const taskVariables = {
  DIBS_HANDOVER_FILE: {
    means: "File with what earlier attempts at the task left, at most 800 tokens",
    values: "path",
    default: "not set: the first attempt",
  },
  DIBS_RESULT_FILE: {
    means: "File for a summary of what was done; it becomes the task's result",
    values: "path",
    default: "the end of the output is the result",
  },
  DIBS_REVIEW: {
    means: "1 if a submission is to be reviewed (`dibs work --review`)",
    values: "1",
    default: "not set",
  },
  DIBS_SUBMISSION: {
    means: "Number of the submission that is to be reviewed",
    values: "number",
    default: "not set",
  },
  DIBS_PATCH_FILE: {
    means: "File with the patch of the submission that is to be reviewed",
    values: "path",
    default: "not set if no lander has recorded one",
  },
  DIBS_RESPONSE: {
    means: "Answer to the task's last question, cut if it is long",
    values: "text",
    default: "not set",
  },
} as const satisfies Record<`DIBS_${string}`, Setting>;

function asIn(key: keyof typeof configKeys): Pick<Setting, "values" | "default"> {
  const { values } = configKeys[key];
  return { values, default: `\`${key}\` of \`.dibs/config.json\`` };
}
