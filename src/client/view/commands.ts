// What somebody who clicked could have typed: every action as a command line and as a call of curl. Both are made for a POSIX shell
// and can be pasted as they are; the token stays in the environment.

import type { InputOf, Operation } from "../../contract/operation.js";
import { type OperationNamed, registry } from "../../contract/registry.js";
import { requestFor } from "../wire.js";
import { flagWords, shellWord } from "./shell.js";

type Patch = Omit<InputOf<OperationNamed<"tasks.update">>, "taskId" | "project">;

/** What is said about an action; each takes what it needs. */
export interface Details {
  taskId: string;
  /** Where one command is for several tasks. */
  furtherIds?: readonly string[] | undefined;
  /** Where the command would look elsewhere by itself. */
  project?: string | undefined;
  /** The answer, or a reason. */
  text?: string | undefined;
  questionId?: string | undefined;
  cascade?: boolean | undefined;
  /** The number of a submission. */
  submission?: number | undefined;
  /** A person approves own work. */
  own?: boolean | undefined;
  patch?: Patch | undefined;
}

export type Action =
  | "show"
  | "explain"
  | "answer"
  | "retry"
  | "cancel"
  | "release"
  | "approve"
  | "reject"
  | "edit"
  | "attempts"
  | "log"
  | "events"
  | "dependents";

interface Spelling {
  operation: Operation;
  input(details: Details): Record<string, unknown>;
  /** Words after `dibs`, ready for a shell. */
  words(details: Details): string[];
  /** What goes after `--`, as it is. */
  text?(details: Details): string | undefined;
  /** Where the text must be there and is not yet: a variable in its place, which a shell refuses while nobody has set it. */
  missing?: string;
}

const plainly = (operation: Operation, ...words: string[]): Spelling => ({
  operation,
  input: () => ({}),
  words: (details) => [words[0]!, ...idsOf(details), ...words.slice(1)],
});

const idsOf = ({ taskId, furtherIds = [] }: Details) => [taskId, ...furtherIds];

const numberWords = (submission: number | undefined) =>
  flagWords("submission", submission === undefined ? undefined : String(submission));

const { tasks } = registry;

const spellings: Record<Action, Spelling> = {
  show: plainly(tasks.get, "show"),
  explain: plainly(tasks.explain, "explain"),
  retry: plainly(tasks.retry, "retry"),
  attempts: plainly(tasks.attempts, "attempts"),
  log: plainly(tasks.log, "show", "--log"),
  events: plainly(tasks.events, "events"),
  dependents: plainly(tasks.blockedBy, "dependents"),
  answer: {
    operation: tasks.respond,
    input: ({ text, questionId }) => ({ response: text ?? "", questionId }),
    words: ({ taskId, questionId }) => ["answer", taskId, ...flagWords("question", questionId)],
    text: ({ text }) => text,
    missing: "ANSWER",
  },
  approve: {
    operation: tasks.approve,
    input: ({ submission, own, text }) => ({ submission, own: own || undefined, comment: text }),
    words: ({ taskId, submission, own, text }) => [
      "approve",
      taskId,
      ...numberWords(submission),
      ...(own ? ["--own"] : []),
      ...flagWords("comment", text),
    ],
  },
  reject: {
    operation: tasks.requestChanges,
    input: ({ submission, text }) => ({ submission, reason: text ?? "" }),
    words: ({ taskId, submission }) => ["reject", taskId, ...numberWords(submission)],
    text: ({ text }) => text,
    missing: "REASON",
  },
  cancel: {
    operation: tasks.cancel,
    input: ({ cascade, text }) => ({ cascade: cascade || undefined, reason: text }),
    words: ({ cascade, text, ...details }) => [
      "cancel",
      ...idsOf(details),
      ...(cascade ? ["--cascade"] : []),
      ...flagWords("reason", text),
    ],
  },
  release: {
    operation: tasks.release,
    input: ({ text }) => ({ force: true, reason: text }),
    words: (details) => ["release", ...idsOf(details), "--force"],
    text: ({ text }) => text,
  },
  edit: {
    operation: tasks.update,
    input: ({ patch }) => ({ ...patch }),
    words: ({ patch = {}, ...details }) => ["edit", ...idsOf(details), ...editFlags(patch)],
  },
};

/** Such as `dibs answer 0001 -- 'teal, please'`. */
export function cliFor(action: Action, details: Details): string {
  const { words, text, missing } = spellings[action];
  const said = text?.(details);
  const line = ["dibs", ...words(details), ...flagWords("project", details.project)];
  const isDash = said === "-" || details.patch?.prompt === "-";
  const after = said === undefined ? (missing ? ["--", placeholder(missing)] : []) : ["--", shellWord(said)];
  const all = [...line.map(shellWord), ...after].join(" ");
  // A lone dash means standard input.
  return isDash ? `printf %s - | ${all}` : all;
}

/** Such as `dibs add --priority 90 -- 'Write the docs'`. */
export function addCommand({ prompt, project, ...more }: Patch & { project?: string | undefined }): string {
  const words = ["dibs", "add", ...editFlags(more), ...flagWords("project", project)].map(shellWord);
  return [...words, "--", prompt ? shellWord(prompt) : placeholder("PROMPT")].join(" ");
}

/** Such as `curl -sS -X POST 'http://…/api/tasks/0001/retry' …`. */
export function curlFor(action: Action, details: Details, origin: string): string {
  const { operation, input } = spellings[action];
  const fields = Object.entries(input(details)).filter(([, value]) => value !== undefined);
  const { taskId, project } = details;
  const { url, init } = requestFor({ url: origin, project }, operation, {
    taskId,
    ...Object.fromEntries(fields),
  });
  const { accept: _, ...headers } = init.headers;
  const method = init.method === "GET" ? [] : ["-X", init.method];
  return [
    ...["curl", "-sS", ...method, url].map(shellWord),
    '-H "Authorization: Bearer $DIBS_TOKEN"',
    ...Object.entries(headers).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(init.body === undefined ? [] : [`--data-raw ${shellWord(init.body)}`]),
  ].join(" ");
}

/** Pasted unchanged, it ends the command with what is missing, before anything is sent. */
const placeholder = (name: string) => `"\${${name}:?is missing}"`;

/** Another flag for a command line: before what goes to somebody else after a lone `--`. */
export function withFlag(command: string, name: string, value: string): string {
  const words = flagWords(name, value).map(shellWord).join(" ");
  const at = command.indexOf(" -- ");
  return at < 0 ? `${command} ${words}` : `${command.slice(0, at)} ${words}${command.slice(at)}`;
}

/** The command line refuses 1 to 5, which people also write for p1 to p5, and reads 01 to 05. */
const priorityArgument = (priority: Patch["priority"]) =>
  typeof priority === "number" && priority >= 1 && priority <= 5 ? `0${priority}` : priority;

function editFlags(patch: Patch): string[] {
  const { notBefore, timeoutMs, metadata, dependsOn, requires, files } = patch;
  const { labels, addLabels, removeLabels } = patch;
  const one = (name: string, value: string | number | null | undefined) =>
    flagWords(name, value === undefined ? undefined : String(value ?? ""));
  const many = (name: string, values: readonly string[] | undefined) =>
    values?.length === 0 ? flagWords(name, "") : (values ?? []).flatMap((value) => flagWords(name, value));
  return [
    ...one("prompt", patch.prompt),
    ...one("title", patch.title),
    ...one("description", patch.description),
    ...one("priority", priorityArgument(patch.priority)),
    ...one("phase", patch.phase),
    ...one("assignee", patch.assignee),
    ...one("agent-type", patch.agentType),
    ...one("max-retries", patch.maxRetries),
    ...one("not-before", notBefore && new Date(notBefore).toISOString()),
    ...one("timeout", typeof timeoutMs === "number" ? `${timeoutMs}ms` : timeoutMs),
    ...one("metadata", metadata && JSON.stringify(metadata)),
    ...many("label", labels),
    ...many("add-label", addLabels),
    ...many("remove-label", removeLabels),
    ...many("depends-on", dependsOn),
    ...many("requires", requires),
    ...many("files", files),
  ];
}
