// One frame: the bar, a view or what lies over it, and the line below; as lines of text for the screen.

import { Box, renderToString } from "ink";
import type { ReactNode } from "react";
import { widthOf } from "../common/text.js";
import { Above, Bottom, promptLead, Top } from "./bars.js";
import { Fleet } from "./fleet.js";
import { Inbox } from "./inbox.js";
import { bodyRows } from "./layout.js";
import { OverlayView } from "./overlays.js";
import { Colours, Lines, T } from "./parts.js";
import { Queue } from "./queue.js";
import type { Frame } from "./screen.js";
import type { State } from "./state.js";
import { taskLines } from "./task-lines.js";

/** Below this there is nothing to be seen. */
const least = { columns: 20, rows: 4 };

export function frameOf(state: State, isColoured: boolean): Frame {
  state.settle();
  const { columns, rows, prompt } = state;
  const lines = renderToString(
    <Colours.Provider value={isColoured}>
      <App state={state} />
    </Colours.Provider>,
    { columns },
  ).split("\n");
  if (!prompt || !state.isTyping) return { lines, cursor: null };
  const lead = widthOf(promptLead(prompt));
  const { column } = prompt.editor.shown(Math.max(1, columns - lead));
  return { lines, cursor: { row: rows - 1, column: Math.min(columns - 1, lead + column) } };
}

function App({ state }: { state: State }): ReactNode {
  const { columns, rows, prompt, isTyping } = state;
  if (columns < least.columns || rows < least.rows) return <T text="larger, please" />;
  return (
    <Box flexDirection="column" width={columns} height={rows} overflow="hidden">
      <Top state={state} />
      <Box height={bodyRows(state)} flexShrink={0} overflow="hidden" flexDirection="column">
        {state.overlay ? <OverlayView state={state} overlay={state.overlay} /> : <Body state={state} />}
      </Box>
      {prompt && isTyping ? (
        <Box height={1} flexShrink={0}>
          <Above state={state} prompt={prompt} />
        </Box>
      ) : null}
      <Bottom state={state} />
    </Box>
  );
}

function Body({ state }: { state: State }): ReactNode {
  switch (state.view) {
    case "fleet":
      return <Fleet state={state} />;
    case "queue":
      return <Queue state={state} />;
    case "inbox":
      return <Inbox state={state} />;
    case "task":
      return <Task state={state} />;
  }
}

function Task({ state }: { state: State }): ReactNode {
  const { detail, columns } = state;
  if (!detail) return null;
  if (!detail.task)
    return (
      <Box paddingX={2} paddingY={1}>
        <T text={detail.error?.message ?? "Reading…"} tone={detail.error ? "red" : "dim"} />
      </Box>
    );
  const rows = bodyRows(state);
  const lines = taskLines(detail, columns, state.now);
  detail.top = Math.min(detail.top, Math.max(0, lines.length - rows));
  return (
    <Box paddingX={2}>
      <Lines lines={lines.slice(detail.top)} rows={rows} />
    </Box>
  );
}
