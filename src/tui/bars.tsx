// The bar above (where one is, how much there is, whether it is live) and the line below (what was done, what can be done, what is
// being typed).

import { Box } from "ink";
import type { ReactNode } from "react";
import { badgeOf } from "../client/view/inbox.js";
import { isHeld } from "../client/view/resources.js";
import { duration } from "../client/view/words.js";
import { plain, widthOf } from "../common/text.js";
import { answerOf } from "./actions.js";
import { choicesFor } from "./keyboard.js";
import { Cell, type Line, type Part, Parts, T, type Tone } from "./parts.js";
import type { Overlay, Prompt, State, View } from "./state.js";

const names: Record<View, string> = { fleet: "Fleet", queue: "Queue", inbox: "Inbox", task: "Task" };

export function Top({ state }: { state: State }): ReactNode {
  const { live, columns } = state;
  const isNarrow = columns < 70;
  const isOfAll = live.project === "*";
  const project = isOfAll ? "all projects" : plain(live.project);
  const paused = live.projects.filter((each) => each.paused && (isOfAll || each.id === live.project)).length;
  const held = live.resources.filter(isHeld).length;
  return (
    <Box height={1} flexShrink={0} columnGap={1}>
      <Box flexShrink={0}>
        <Parts parts={(Object.keys(names) as View[]).flatMap((view, at) => tab(state, view, at, isNarrow))} />
      </Box>
      <Cell right>
        <Parts
          parts={[
            ...(isNarrow ? [] : [{ text: `${project}  `, bold: true }]),
            ...(held > 0 ? [{ text: `${held} held  `, tone: "red" as const }] : []),
            ...(paused > 0
              ? [{ text: isOfAll ? `${paused} paused  ` : "paused  ", tone: "yellow" as const }]
              : []),
          ]}
        />
      </Cell>
      <Box flexShrink={0}>
        <T {...connection(state)} />
      </Box>
    </Box>
  );
}

function tab(state: State, view: View, at: number, isNarrow: boolean): Part[] {
  const isOpen = state.view === view;
  const count = countOf(state, view);
  const name = isNarrow ? names[view].slice(0, isOpen ? 5 : 1) : names[view];
  const label = isOpen ? `[${at + 1} ${name}` : ` ${at + 1} ${name}`;
  const tone: Tone | undefined = isOpen ? "cyan" : "dim";
  return [
    { text: label, tone, bold: isOpen },
    ...(count === "" ? [] : [{ text: ` ${count}`, tone: countTone(state, view) ?? tone, bold: isOpen }]),
    { text: isOpen ? "]" : " ", tone, bold: isOpen },
  ];
}

function countOf({ live, detail, filterText, queue }: State, view: View): string {
  const { index, summary } = live;
  switch (view) {
    case "fleet":
      return summary ? String(summary.totals.sessions) : "";
    case "queue": {
      if (!index) return "";
      const all = index.rows().length;
      return `${filterText === "" ? "" : `${queue.items.length}/`}${all}${index.progress.complete ? "" : "…"}`;
    }
    case "inbox":
      return live.inbox ? badgeOf(live.inbox) : "";
    case "task":
      return detail?.name.taskId ?? "";
  }
}

function countTone({ live }: State, view: View): Tone | undefined {
  return view === "inbox" && (live.inbox?.questions.length ?? 0) > 0 ? "yellow" : undefined;
}

function connection({ live, now }: State): Part {
  const { connection, silentMs } = live;
  if (connection === "live" && silentMs !== null)
    return { text: `○ no answer ${duration(silentMs)}`, tone: "red", bold: true };
  if (connection === "live") return { text: "● live", tone: "green" };
  if (connection === "connecting") return { text: "○ …", tone: "dim" };
  return { text: `○ lost ${duration(now - (live.lostAt ?? now))}`, tone: "red", bold: true };
}

/** What is typed, with its caret, or what happened and what can be done. */
export function Bottom({ state }: { state: State }): ReactNode {
  const { prompt, question, notice } = state;
  if (question)
    return (
      <Spread
        left={[{ text: `${question.text} y/n`, tone: "yellow", bold: true }]}
        right={[{ text: question.command, tone: "dim" }]}
      />
    );
  if (prompt) return <Typed state={state} prompt={prompt} />;
  if (notice) {
    const tone = ({ good: "green", bad: "red", plain: undefined } as const)[notice.tone];
    return (
      <Spread
        left={[{ text: plain(notice.text), tone }]}
        right={notice.command ? [{ text: notice.command, tone: "dim" }] : []}
      />
    );
  }
  return <Spread left={hints(state)} right={filterNote(state)} />;
}

function Spread({ left, right }: { left: Line; right: Line }): ReactNode {
  return (
    <Box height={1} flexShrink={0} columnGap={2}>
      <Box flexShrink={right.length > 0 ? 0 : 1}>
        <Parts parts={left} />
      </Box>
      {right.length > 0 ? (
        <Cell right>
          <Parts parts={right} />
        </Cell>
      ) : null}
    </Box>
  );
}

const hintsOf: Record<View, [string, string][]> = {
  fleet: [
    ["Enter", "task"],
    ["h", "history"],
    ["u", "resources"],
  ],
  queue: [
    ["Enter", "open"],
    ["/", "filter"],
    ["r", "retry"],
    ["c", "cancel"],
  ],
  inbox: [
    ["a", "answer, approve"],
    ["r", "retry, reject"],
    ["m", "read"],
    ["Enter", "open"],
  ],
  task: [
    ["a", "answer"],
    ["r", "retry"],
    ["c", "cancel"],
    ["x", "release"],
    ["Esc", "back"],
  ],
};

const alwaysHints: [string, string][] = [
  ["p", "project"],
  ["?", "help"],
  ["q", "quit"],
];
const overlayHints: Record<Overlay["kind"], [string, string][]> = {
  help: [["Esc", "close"]],
  history: [["Esc", "close"]],
  resources: [
    ["h", "hold"],
    ["r", "resume"],
    ["Esc", "close"],
  ],
  projects: [
    ["Enter", "show"],
    ["Esc", "close"],
  ],
};

function hints({ view, live, overlay }: State): Line {
  const trouble = live.trouble ?? live.index?.progress.error?.message;
  if (trouble) return [{ text: plain(trouble), tone: "red" }];
  if (live.connection === "lost" || live.silentMs !== null)
    return [{ text: "The server cannot be reached: this is how it was. It is tried again.", tone: "red" }];
  const all = overlay ? overlayHints[overlay.kind] : [...hintsOf[view], ...alwaysHints];
  return all.flatMap(([key, does], at) => [
    { text: `${at === 0 ? "" : "  "}${key} `, bold: true },
    { text: does, tone: "dim" as const },
  ]);
}

function filterNote({ view, filterText, filter }: State): Line {
  if (view !== "queue" || filterText === "") return [];
  const [problem] = filter.problems;
  return problem ? [{ text: problem.message, tone: "red" }] : [{ text: `/${filterText}`, tone: "cyan" }];
}

/** The row above what is typed tells what could stand there, or what is wrong with it. */
export function Above({ state, prompt }: { state: State; prompt: Prompt }): ReactNode {
  if (prompt.kind === "filter") {
    const [problem] = state.filter.problems;
    const isTyping = problem !== undefined && problem.to >= prompt.editor.text.length;
    if (problem && !isTyping) return <T text={problem.message} tone="red" />;
  }
  const texts = prompt.choices?.texts ?? choicesFor(state, prompt);
  const at = prompt.choices?.at ?? -1;
  const asked =
    prompt.kind === "answer"
      ? plain(prompt.task.question?.text)
      : prompt.kind === "changes"
        ? "What must change? The next attempt reads it."
        : "";
  return (
    <Parts
      parts={[
        { text: texts.length > 0 ? "Tab" : " ", tone: "dim" },
        ...texts.map(
          ({ label }, each): Part => ({
            text: `  ${plain(label)}`,
            bold: each === at,
            tone: each === at ? "cyan" : undefined,
          }),
        ),
        { text: asked === "" ? "" : `  ${asked}`, tone: "yellow" },
      ]}
    />
  );
}

export function promptLead(prompt: Prompt): string {
  if (prompt.kind === "filter") return "/";
  return prompt.kind === "changes" ? `changes of ${prompt.name.taskId}: ` : `answer ${prompt.task.id}: `;
}

function Typed({ state, prompt }: { state: State; prompt: Prompt }): ReactNode {
  const lead = promptLead(prompt);
  const { text } = prompt.editor.shown(Math.max(1, state.columns - widthOf(lead)));
  const offered = prompt.kind === "answer" && text === "" ? answerOf(prompt.task, "") : null;
  const hint: Part[] =
    text === "" ? [{ text: offered === null ? "" : ` Enter: ${plain(offered)}`, tone: "dim" }] : [{ text }];
  return <Parts parts={[{ text: lead, tone: "cyan", bold: true }, ...hint]} />;
}
