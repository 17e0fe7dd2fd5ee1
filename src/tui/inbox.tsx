// What needs a human: a line each, and below them the selected one in full, with what can be done about it.

import { Box } from "ink";
import type { ReactNode } from "react";
import { staysUnread } from "../client/view/inbox.js";
import { reviewMessage } from "../client/view/reviews.js";
import { ago } from "../client/view/words.js";
import { plain, widthOf, wrap } from "../common/text.js";
import type { InboxItem } from "./inbox-items.js";
import { bodyRows } from "./layout.js";
import { Cell, type Line, Lines, type Part, Parts, T } from "./parts.js";
import type { State } from "./state.js";

/** At least so much for what is selected. */
const detailRowsMin = 4;

export function Inbox({ state }: { state: State }): ReactNode {
  const rows = bodyRows(state);
  if (state.inbox.items.length === 0) return <Nothing isKnown={state.live.inbox !== null} />;
  const item = state.inbox.selected!;
  const below = detailOf(item, Math.max(20, state.columns - 4));
  const wanted = Math.max(detailRowsMin, Math.min(below.length, Math.floor(rows / 2)));
  const listRows = Math.max(1, Math.min(state.inbox.items.length, rows - wanted - 1));
  const { from, items } = state.inbox.window(listRows);
  const isAll = state.live.project === "*" && state.columns >= 60;
  const widest = Math.max(4, ...items.map((each) => widthOf(idOf(each, isAll))));
  return (
    <Box flexDirection="column">
      {items.map((each, at) => (
        <Item
          key={each.key}
          item={each}
          id={idOf(each, isAll)}
          width={Math.min(widest, Math.floor(state.columns / 4))}
          isSelected={from + at === state.inbox.index}
          now={state.now}
        />
      ))}
      <T text={"─".repeat(state.columns)} tone="dim" />
      <Box paddingX={2}>
        <Lines lines={below} rows={Math.max(0, rows - items.length - 1)} />
      </Box>
    </Box>
  );
}

function Nothing({ isKnown }: { isKnown: boolean }): ReactNode {
  return (
    <Box flexDirection="column" paddingX={2} paddingY={1}>
      <T text={isKnown ? "Nothing needs you." : "Reading…"} tone={isKnown ? undefined : "dim"} />
      {isKnown ? <T text="All that failed: filter is:failed" tone="dim" /> : null}
    </Box>
  );
}

const markOf = (item: InboxItem): Part => {
  if (item.kind === "question") return { text: "?", tone: "yellow", bold: true };
  if (item.kind === "failure") return { text: "!", tone: "red", bold: true };
  if (item.kind === "review") return { text: "✓", tone: "yellow", bold: true };
  return item.note.severity === "error" ? { text: "!", tone: "red" } : { text: "·", tone: "dim" };
};

function textOf(item: InboxItem): { title: string; more: string; at: string } {
  switch (item.kind) {
    case "question":
      return {
        title: item.task.title,
        more: item.task.question?.text ?? "",
        at: item.task.question?.askedAt ?? item.task.updatedAt,
      };
    case "failure":
      return {
        title: item.row.title,
        more: errorOf(item),
        at: item.notes[0].createdAt,
      };
    case "review":
      return { title: item.note.title, more: reviewMessage(item.note), at: item.note.createdAt };
    case "note":
      return { title: item.note.title, more: item.note.message, at: item.note.createdAt };
  }
}

const errorOf = ({ row, notes }: Extract<InboxItem, { kind: "failure" }>) => row.error ?? notes[0].message;

interface ItemProps {
  item: InboxItem;
  id: string;
  width: number;
  isSelected: boolean;
  now: number;
}

function Item({ item, id, width, isSelected, now }: ItemProps): ReactNode {
  const { title, more, at } = textOf(item);
  return (
    <Box height={1} flexShrink={0} columnGap={1}>
      <T {...(isSelected ? { text: "▌", tone: "cyan", bold: true } : { text: " " })} />
      <T {...markOf(item)} />
      <Cell width={width}>
        <T text={id} tone="cyan" bold={isSelected} />
      </Cell>
      <Cell>
        <Parts
          parts={[
            { text: plain(title), bold: isSelected },
            { text: `  ${plain(more)}`, tone: "dim" },
          ]}
        />
      </Cell>
      <Cell width={8} right>
        <T text={ago(at, now)} tone="dim" />
      </Cell>
    </Box>
  );
}

function idOf({ name }: InboxItem, withProject: boolean): string {
  if (!name) return "";
  return withProject ? `${name.project}/${name.taskId}` : name.taskId;
}

function detailOf(item: InboxItem, width: number): Line[] {
  switch (item.kind) {
    case "question":
      return questionLines(item.task, width);
    case "failure":
      return [
        ...paragraph(errorOf(item), width, "red"),
        [],
        [{ text: "r retry · m set aside · Enter shows all of it", tone: "dim" }],
      ];
    case "review":
      return [
        ...paragraph(reviewMessage(item.note), width, "yellow"),
        [],
        [{ text: "a approve · r request changes · Enter shows the change", tone: "dim" }],
      ];
    case "note":
      return [
        [{ text: plain(item.note.title), bold: true }],
        ...paragraph(item.note.message, width),
        [],
        [
          {
            text: `${staysUnread(item.note) ? "" : "m mark as read · "}Enter shows the task`,
            tone: "dim",
          },
        ],
      ];
  }
}

function questionLines(task: Extract<InboxItem, { kind: "question" }>["task"], width: number): Line[] {
  const { question, claim } = task;
  const options = question?.options ?? [];
  const who = claim ? `${plain(claim.sessionId)} asks` : "asked by a session that is gone";
  return [
    [{ text: who, tone: "dim" }],
    ...wrap((question?.text ?? "").trimEnd(), width).map((text): Line => [{ text, tone: "yellow" }]),
    ...options.map(
      (option): Line => [
        { text: "  • ", tone: "dim" },
        { text: plain(option) },
        ...(option === question?.default ? [{ text: "  (default)", tone: "dim" as const }] : []),
      ],
    ),
    ...(question?.default !== undefined && !options.includes(question.default)
      ? [[{ text: "default: ", tone: "dim" as const }, { text: plain(question.default) }]]
      : []),
    [],
    [{ text: "a answer · c cancel · Enter shows the task", tone: "dim" }],
  ];
}

const paragraph = (text: string, width: number, tone?: Part["tone"]): Line[] =>
  wrap(text.trimEnd(), width).map((line) => [{ text: line, tone }]);
