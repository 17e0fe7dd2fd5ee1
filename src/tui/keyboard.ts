// What each key does, where.

import { suggest } from "../client/view/filter.js";
import type { WireResource } from "../contract/shapes.js";
import {
  answer,
  answerOf,
  answerOrApprove,
  askToCancel,
  askToHold,
  askToRelease,
  askToResume,
  markRead,
  requestChanges,
  retryOrReject,
} from "./actions.js";
import type { TaskName } from "./detail.js";
import { Editor } from "./editor.js";
import type { Key } from "./keys.js";
import { bodyRows, fleetShape } from "./layout.js";
import { List } from "./list.js";
import { type Choices, type Prompt, type State, views } from "./state.js";

export function press(state: State, key: Key): void {
  if (key.name === "ctrl" && key.text === "c") state.isOver = true;
  else if (state.question) answerQuestion(state, key);
  else if (state.prompt) pressInPrompt(state, state.prompt, key);
  else if (state.overlay) pressInOverlay(state, key);
  else pressInView(state, key);
  state.touched();
}

function answerQuestion(state: State, { name, text }: Key): void {
  const question = state.question!;
  if (name === "text" && (text === "y" || text === "Y")) {
    state.question = null;
    void question.act();
  } else if (name === "escape" || (name === "text" && (text === "n" || text === "N"))) {
    state.question = null;
    state.say("left as it is");
  }
}

function pressInView(state: State, { name, text }: Key): void {
  if (name === "text") commands[text]?.(state);
  else if (name === "tab" || name === "backtab") switchView(state, name === "tab" ? 1 : -1);
  else if (name === "enter") enter(state);
  else if (name === "escape") back(state);
  else move(state, name);
}

/** Does it to the task that is selected. */
const onTarget = (act: (state: State, name: TaskName) => unknown) => (state: State) => {
  const { target, view } = state;
  if (view !== "task") state[view].pin();
  if (target) act(state, target);
  else state.say("No task is selected.");
};

const commands: Record<string, (state: State) => unknown> = {
  1: (state) => showView(state, 0),
  2: (state) => showView(state, 1),
  3: (state) => showView(state, 2),
  4: (state) => showView(state, 3),
  j: (state) => move(state, "down"),
  k: (state) => move(state, "up"),
  l: (state) => move(state, "right"),
  g: (state) => move(state, "home"),
  G: (state) => move(state, "end"),
  h: showHistory,
  "/": beginFilter,
  a: onTarget(answerOrApprove),
  r: onTarget(retryOrReject),
  c: onTarget(askToCancel),
  x: onTarget(askToRelease),
  m: markRead,
  p: chooseProject,
  u: showResources,
  "?": (state) => {
    state.overlay = { kind: "help", top: 0 };
  },
  q: (state) => {
    state.isOver = true;
  },
};

function showView(state: State, at: number): void {
  const view = views[at]!;
  if (view !== "task") state.view = view;
  else if (state.detail) state.view = view;
  else if (state.target) state.open(state.target);
  else state.say("No task is selected.");
}

function switchView(state: State, by: number): void {
  const open = views.filter((view) => view !== "task" || state.detail !== null);
  const at = open.indexOf(state.view);
  state.view = open[(at + by + open.length) % open.length]!;
}

function enter(state: State): void {
  if (state.target && state.view !== "task") state.open(state.target);
  else if (state.view === "fleet") showHistory(state);
}

/** From a task to where it was opened; from a filter to everything. */
function back(state: State): void {
  if (state.view === "task") state.view = state.openedFrom;
  else if (state.view === "queue" && state.filterText !== "") state.setFilter("");
}

interface Movable {
  readonly index: number;
  readonly items: readonly unknown[];
  to(index: number): void;
}

const steps: Partial<Record<Key["name"], number>> = { up: -1, down: 1 };

function move(state: State, name: Key["name"]): void {
  const page = Math.max(1, bodyRows(state) - 2);
  if (state.view === "task") {
    const { detail } = state;
    // Drawing knows how much there is, and does not go beyond.
    if (detail) detail.top = Math.max(0, moved(detail.top, name, page, Number.MAX_SAFE_INTEGER));
    return;
  }
  const list: Movable = state[state.view];
  if (state.view !== "fleet") {
    list.to(moved(list.index, name, page, list.items.length - 1));
    return;
  }
  const { perLine, lines } = fleetShape(state);
  const sideways = name === "left" ? -1 : name === "right" ? 1 : 0;
  if (sideways !== 0) list.to(list.index + sideways);
  else list.to(moved(list.index, name, lines * perLine, list.items.length - 1, perLine));
}

function moved(at: number, name: Key["name"], page: number, last: number, perLine = 1): number {
  switch (name) {
    case "home":
      return 0;
    case "end":
      return last;
    case "pageup":
      return Math.max(0, at - page);
    case "pagedown":
      return Math.min(last, at + page);
    default: {
      const next = at + (steps[name] ?? 0) * perLine;
      // In a grid the last line may be short; beyond it there is nothing.
      return next < 0 || next > last ? (perLine === 1 ? Math.min(Math.max(next, 0), last) : at) : next;
    }
  }
}

function showHistory(state: State): void {
  const session = state.view === "fleet" ? state.fleet.selected : undefined;
  if (session) state.overlay = { kind: "history", session };
}

function chooseProject(state: State): void {
  const list = new List<string>((id) => id);
  list.set(["*", ...state.live.projects.map(({ id }) => id)]);
  list.select(state.live.project);
  state.overlay = { kind: "projects", list };
}

function showResources(state: State): void {
  const list = new List<WireResource>(({ id }) => id);
  list.set(state.live.resources);
  state.overlay = { kind: "resources", list };
}

function pressInResources(state: State, list: List<WireResource>, { name, text }: Key): void {
  const direction = name === "text" ? ({ j: "down", k: "up" } as const)[text] : name;
  const { selected } = list;
  if (name === "enter" || text === "u") state.overlay = null;
  else if (text === "h" && selected) askToHold(state, selected);
  else if (text === "r" && selected) askToResume(state, selected);
  else if (direction) list.to(moved(list.index, direction, bodyRows(state) - 2, list.items.length - 1));
}

function pressInOverlay(state: State, { name, text }: Key): void {
  const overlay = state.overlay!;
  const direction = name === "text" ? ({ j: "down", k: "up" } as const)[text] : name;
  if (name === "escape" || (name === "text" && (text === "q" || text === "?"))) state.overlay = null;
  else if (overlay.kind === "resources") pressInResources(state, overlay.list, { name, text });
  else if (overlay.kind === "projects") {
    if (name === "enter") {
      state.overlay = null;
      const project = overlay.list.selected;
      if (project !== undefined && project !== state.live.project) state.show(project);
    } else if (direction)
      overlay.list.to(moved(overlay.list.index, direction, bodyRows(state), overlay.list.items.length - 1));
  } else if (overlay.kind === "help" && direction)
    overlay.top = moved(overlay.top, direction, bodyRows(state) - 2, Number.MAX_SAFE_INTEGER);
  else if (name === "enter") state.overlay = null;
}

function beginFilter(state: State): void {
  state.view = "queue";
  const text = state.filterText === "" ? "" : `${state.filterText} `;
  state.prompt = { kind: "filter", editor: new Editor(text), choices: null, before: state.filterText };
}

function pressInPrompt(state: State, prompt: Prompt, key: Key): void {
  if (key.name === "tab" || key.name === "backtab") {
    takeChoice(state, prompt, key.name === "tab" ? 1 : -1);
    return;
  }
  prompt.choices = null;
  if (key.name === "escape") {
    state.prompt = null;
    if (prompt.kind === "filter") state.setFilter(prompt.before);
  } else if (key.name === "enter") finish(state, prompt);
  else if (prompt.editor.press(key) && prompt.kind === "filter") state.setFilter(prompt.editor.text);
}

function finish(state: State, prompt: Prompt): void {
  if (prompt.kind === "filter") {
    state.prompt = null;
    state.setFilter(prompt.editor.text.trim());
    return;
  }
  if (prompt.kind === "changes") {
    const reason = prompt.editor.text;
    if (reason.trim() === "") return;
    state.prompt = null;
    void requestChanges(state, prompt, reason);
    return;
  }
  const response = answerOf(prompt.task, prompt.editor.text);
  if (response === null) return;
  state.prompt = null;
  void answer(state, prompt.task, response);
}

/** Tab goes through what can stand there, and beyond the last one begins again. */
function takeChoice(state: State, prompt: Prompt, by: number): void {
  const known = prompt.choices;
  const choices = known ?? { texts: choicesFor(state, prompt), at: by > 0 ? -1 : 0 };
  const { texts } = choices;
  if (texts.length === 0) return;
  choices.at = (choices.at + by + texts.length) % texts.length;
  prompt.choices = choices;
  const { text, caret } = texts[choices.at]!;
  prompt.editor.set(text, caret);
  if (prompt.kind === "filter") state.setFilter(text);
}

export function choicesFor(state: State, prompt: Prompt): Choices["texts"] {
  if (prompt.kind === "changes") return [];
  if (prompt.kind === "answer") {
    const { question } = prompt.task;
    const options = [question?.default, ...(question?.options ?? [])].filter((each) => each !== undefined);
    return [...new Set(options)].map((text) => ({ text, caret: text.length, label: text }));
  }
  const { text, caret } = prompt.editor;
  const facts = state.live.index?.facts() ?? { labels: [], agents: [], projects: [], phases: [] };
  return suggest(text, caret, facts).map(({ from, to, insert, label }) => ({
    text: text.slice(0, from) + insert + text.slice(to),
    caret: from + insert.length,
    label,
  }));
}
