// JSON plans: our own field names, those of S2 and S3, and task-master's; flat or nested, wrapped or not.

import { plain } from "../../common/text.js";
import { type Field, fieldNamed } from "./field-names.js";
import {
  add,
  durationMs,
  isDone,
  isGroupWord,
  isNothing,
  isOpen,
  isSkipped,
  readList,
  readPath,
  readPriority,
  readUses,
  skipTask,
  timeoutNote,
} from "./fields.js";
import { type JsonNode, toJson } from "./json-parse.js";
import { newTask, type RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { quote } from "./words.js";

const childNames = ["tasks", "subtasks", "children", "items", "steps", "todos"];
const groupNames = ["phases", "groups", "epics", "milestones", "stages", "features", "stories"];
const containers = new Set(
  [...childNames, ...groupNames, "sub_tasks", "subTasks", "plan"].map((name) => name.toLowerCase()),
);

/** The tasks of a document, or undefined if it does not look like a plan. */
export function readJson(root: JsonNode, report: Report): RawTask[] | undefined {
  const reader = new JsonReader(report);
  return reader.root(root) ? reader.tasks : undefined;
}

/** Whether a JSON block within prose is the plan, and not an example in it. */
export function looksLikePlan(root: JsonNode): boolean {
  if (root.kind === "array") return root.items.length > 0 && root.items.every(isTaskLike);
  if (root.kind !== "object") return false;
  return containersOf(root).some(({ node }) => looksLikePlan(node)) || onlyTagged(root) !== undefined;
}

const texts = new Set<Field>(["title", "description", "prompt"]);

function isTaskLike(node: JsonNode): boolean {
  return node.kind === "object" && [...node.members.keys()].some((name) => texts.has(fieldOf(name)!));
}

type ObjectNode = Extract<JsonNode, { kind: "object" }>;

function containersOf(node: ObjectNode): { name: string; node: JsonNode }[] {
  return [...node.members].flatMap(([name, member]) =>
    containers.has(name.toLowerCase()) && member.kind !== "value"
      ? [{ name: name.toLowerCase(), node: member }]
      : [],
  );
}

/** task-master's `{"master": {"tasks": […]}}`. */
function onlyTagged(node: ObjectNode): JsonNode | undefined {
  const tagged = [...node.members].filter(
    ([, member]) => member.kind === "object" && member.members.has("tasks"),
  );
  return (tagged.find(([name]) => name === "master") ?? tagged[0])?.[1];
}

function fieldOf(name: string): Field | undefined {
  if (name === "task" || name === "content" || name === "text") return "title";
  return fieldNamed(name) ?? fieldNamed(name.replace(/([a-z])([A-Z])/g, "$1 $2"));
}

/** Written by other programs about the work, not about the task. */
const silent = new Set(
  [
    "createdAt",
    "updatedAt",
    "created_at",
    "updated_at",
    "claimedByAgentId",
    "claimedAt",
    "claim",
    "result",
    "error",
  ]
    .concat([
      "claimed_by",
      "claimed_at",
      "completed_at",
      "started_at",
      "retryCount",
      "retry_count",
      "project",
      "epoch",
    ])
    .concat(["version", "metadata", "$schema"])
    .map((name) => name.toLowerCase()),
);

class JsonReader {
  readonly tasks: RawTask[] = [];

  constructor(private readonly report: Report) {}

  root(node: JsonNode): boolean {
    if (node.kind === "value") return false;
    if (node.kind === "array") return this.list(node, "tasks", undefined);
    const found = containersOf(node);
    const isWrapper =
      !isTaskLike(node) || found.some(({ name }) => name === "tasks" || groupNames.includes(name));
    if (found.length > 0 && isWrapper) {
      this.left(node, (name, member) => containers.has(name.toLowerCase()) && member.kind !== "value");
      return found.map((each) => this.list(each.node, each.name, undefined)).some(Boolean);
    }
    if (isTaskLike(node)) return this.task(node, "tasks", undefined);
    const tagged = onlyTagged(node);
    if (tagged) {
      this.left(node, (_, member) => member === tagged);
      return this.root(tagged);
    }
    return (
      node.members.size > 0 &&
      [...node.members.values()].every(isTaskLike) &&
      this.list(node, "tasks", undefined)
    );
  }

  /** What a wrapper says about the plan belongs to no task. */
  private left(node: ObjectNode, isRead: (name: string, member: JsonNode) => boolean): void {
    for (const [name, member] of node.members) {
      if (isRead(name, member) || (member.kind === "value" && member.value === null)) continue;
      this.report.stray({ number: member.at.line, text: `${name}: ${proseOf(member)}` });
    }
  }

  /** An array of tasks, or an object of them by key. */
  private list(node: JsonNode, name: string, parent: RawTask | undefined): boolean {
    if (node.kind === "array") for (const item of node.items) this.task(item, name, parent);
    else if (node.kind === "object" && containersOf(node).length > 0 && !isTaskLike(node)) {
      for (const each of containersOf(node)) this.list(each.node, each.name, parent);
    } else if (node.kind === "object") {
      for (const [key, item] of node.members) this.task(item, name, parent, key);
    } else return false;
    return true;
  }

  private task(node: JsonNode, container: string, parent: RawTask | undefined, key?: string): boolean {
    const task = newTask(node.at);
    if (key !== undefined) task.label = key;
    if (parent) task.parent = parent;
    if (node.kind === "value" && typeof node.value === "string" && node.value.trim() !== "")
      task.title = node.value;
    else if (node.kind === "object") this.members(task, node);
    else {
      this.report.problem(node.at, "This is not a task.", "A task is an object with a title, or a text.");
      return true;
    }
    this.tasks.push(task);
    if (node.kind !== "object") return true;
    const children = containersOf(node);
    if (children.length > 0 && groupNames.includes(container)) task.type = "group";
    for (const each of children) this.list(each.node, each.name, task);
    return true;
  }

  private members(task: RawTask, node: ObjectNode): void {
    for (const [name, member] of node.members) {
      if (containers.has(name.toLowerCase()) && member.kind !== "value") continue;
      if (member.kind === "value" && member.value === null) continue;
      if (!this.exact(task, name, member)) this.named(task, name, member);
    }
  }

  /** Fields that only our own names have, and task-master's long texts. */
  private exact(task: RawTask, name: string, node: JsonNode): boolean {
    const value = node.kind === "value" ? node.value : undefined;
    if (name === "metadata" && node.kind === "object") {
      task.details.metadata = toJson(node) as NonNullable<RawTask["details"]["metadata"]>;
    } else if (name === "timeoutMs" && typeof value === "number") task.details.timeoutMs = value;
    else if (name === "notBefore" && (typeof value === "number" || typeof value === "string"))
      task.details.notBefore = value;
    else if ((name === "testStrategy" || name === "test_strategy") && typeof value === "string") {
      if (value.trim()) paragraph(task, `Test strategy: ${value.trim()}`);
    } else if (/^acceptance_?criteria$/i.test(name)) {
      const items = node.kind === "array" ? node.items : [node];
      const lines = items
        .map(proseOf)
        .filter(Boolean)
        .map((line) => `- ${line}`);
      if (lines.length > 0) paragraph(task, ["Acceptance criteria:", ...lines].join("\n"));
    } else return false;
    return true;
  }

  private named(task: RawTask, name: string, node: JsonNode): void {
    const field = fieldOf(name);
    const [text = ""] = textsOf(node);
    const { details } = task;
    const keep = () => paragraph(task, `${plain(name.slice(0, 200))}: ${proseOf(node)}`);
    if (field && field !== "uses" && !lists.has(field) && node.kind !== "value") {
      keep();
      return;
    }
    // Of an object in a list only its name is read.
    if (field && field !== "dependsOn" && field !== "uses" && !isFlat(node)) keep();
    switch (field) {
      case "title":
        if (task.title && text.trim() !== task.title) paragraph(task, text);
        task.title ||= text.trim();
        return;
      case "description":
        if (isFlat(node) && text !== "") paragraph(task, textsOf(node).join("\n"));
        return;
      case "prompt":
        if (isFlat(node)) task.prompt = textsOf(node).join("\n");
        return;
      case "timeout":
        if (durationMs(text) !== undefined) details.timeoutMs = durationMs(text)!;
        else if (!isNothing(text)) {
          this.report.note(timeoutNote(node.at.line, text));
          keep();
        }
        return;
      case "label":
        if (name === "key" || task.label === undefined) task.label = text.trim();
        return;
      case "priority":
        this.priority(task, text, node);
        return;
      case "files":
        add(details, "files", listOf(node).map(readPath));
        return;
      case "labels":
        add(details, "labels", listOf(node));
        return;
      case "requires":
        add(details, "requires", listOf(node));
        return;
      case "uses":
        this.uses(task, node, keep);
        return;
      case "assignee":
      case "agentType":
      case "phase":
        if (!isNothing(text)) details[field] = plain(text);
        return;
      case "maxRetries":
        if (/^\d{1,6}$/.test(text)) details.maxRetries = Number(text);
        else this.report.problem(node.at, `maxRetries must be a whole number, not ${quote(text)}.`);
        return;
      case "status":
        if (isDone(text)) task.done = true;
        else if (isSkipped(text)) skipTask(task);
        else if (!isOpen(text) && !isNothing(text)) keep();
        return;
      case "type":
        if (isGroupWord(text)) task.type = "group";
        else if (text.toLowerCase() !== "task") keep();
        return;
      case "dependsOn":
        this.references(task, node);
        return;
      case "blocks":
        keep();
        task.blocks = listOf(node).map((each) => ({ text: each, at: node.at, isList: true }));
        return;
      case "parent":
        if (!isNothing(text)) task.parentReference = { text, at: node.at, isList: false };
        return;
      default:
        if (silent.has(name.toLowerCase())) this.report.ignoredField(name, proseOf(node));
        else keep();
    }
  }

  /** `{"db": 1}`, `["db", "gpu=2"]` or `"db, gpu=2"`. */
  private uses(task: RawTask, node: JsonNode, keep: () => void): void {
    if (node.kind !== "object") {
      const uses = isFlat(node) ? readUses(listOf(node)) : undefined;
      if (uses) task.details.uses = uses;
      else keep();
      return;
    }
    const uses: Record<string, number> = {};
    for (const [id, member] of node.members) {
      const units = member.kind === "value" ? member.value : undefined;
      if (units === null) continue;
      if (typeof units === "number") uses[id] = units;
      else this.report.problem(member.at, `uses.${plain(id.slice(0, 200))} must be a number of units.`);
    }
    task.details.uses = uses;
  }

  private priority(task: RawTask, text: string, node: JsonNode): void {
    const read = readPriority(text);
    if (read !== undefined) task.details.priority = read;
    else if (!isNothing(text))
      this.report.note(`Line ${node.at.line}: priority ${quote(text)} is not known; the default is taken.`);
  }

  private references(task: RawTask, node: JsonNode): void {
    const isList = node.kind === "value";
    const items = node.kind === "array" ? node.items : [node];
    for (const item of items) {
      const [text] = textsOf(item);
      // A `"` before the text takes a column; a number has none.
      const column = item.at.column + (item.kind === "value" && typeof item.value === "string" ? 1 : 0);
      if (text !== undefined && !isNothing(text))
        task.references.push({ text, at: { line: item.at.line, column }, isList });
      else if (text === undefined && item.kind !== "value")
        this.report.problem(item.at, "This names no task to wait for.");
    }
  }
}

function paragraph(task: RawTask, text: string): void {
  task.description = task.description ? `${task.description}\n\n${text}` : text;
}

/** Fields that take several values. */
const lists = new Set<Field>(["description", "prompt", "files", "labels", "requires", "dependsOn"]);

const isFlat = (node: JsonNode): boolean =>
  node.kind === "value" || (node.kind === "array" && node.items.every(({ kind }) => kind === "value"));

/** A value in words: itself, the items of a list, the text of an object that has one, else its JSON. */
function proseOf(node: JsonNode): string {
  if (node.kind === "value") return node.value === null ? "" : String(node.value);
  if (node.kind === "array")
    return node.items.every(({ kind }) => kind === "value")
      ? node.items.map(proseOf).join(", ")
      : JSON.stringify(toJson(node));
  const names = [...node.members.keys()].filter((name) => name !== "id");
  const text = names.length === 1 && /^(?:text|description|title|name)$/i.test(names[0]!);
  return text ? proseOf(node.members.get(names[0]!)!) : JSON.stringify(toJson(node));
}

/** The texts of a value: itself, those of an array, or the name of an object such as `{ "id": 3 }`. */
function textsOf(node: JsonNode): string[] {
  if (node.kind === "value") return node.value === null ? [] : [String(node.value)];
  if (node.kind === "array") return node.items.flatMap((item) => textsOf(item).slice(0, 1));
  for (const name of [
    "key",
    "id",
    "taskId",
    "TaskId",
    "title",
    "path",
    "file",
    "name",
    "text",
    "description",
  ]) {
    const member = node.members.get(name);
    if (member?.kind === "value" && member.value !== null) return [String(member.value)];
  }
  return [];
}

function listOf(node: JsonNode): string[] {
  return node.kind === "value"
    ? readList(String(node.value))
    : textsOf(node).filter((text) => text.trim() !== "");
}
