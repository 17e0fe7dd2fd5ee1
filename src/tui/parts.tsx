// Text on the screen. Everything goes through here: nothing that a task says can do more than be read.

import { Box, Text } from "ink";
import { createContext, type ReactNode, useContext } from "react";
import { cut, harmless } from "../common/text.js";

/** Whether colours are wanted (NO_COLOR). */
export const Colours = createContext(true);

export type Tone = "dim" | "red" | "green" | "yellow" | "cyan" | "magenta";

export interface Part {
  text: string;
  tone?: Tone | undefined;
  bold?: boolean | undefined;
}

/** A line of a page: parts in different tones. */
export type Line = readonly Part[];

function styleOf({ tone, bold }: Pick<Part, "tone" | "bold">, isColoured: boolean) {
  return {
    ...(bold ? { bold } : {}),
    ...(tone === "dim" ? { dimColor: true } : tone && isColoured ? { color: tone } : {}),
  };
}

/** Wider than any terminal. Ink measures all that it is given, in quadratic time. */
const columnsMax = 1000;

const shown = (text: string) => cut(harmless(text), columnsMax);

/** Cut where it does not fit. */
export function T({ text, tone, bold }: Part): ReactNode {
  const isColoured = useContext(Colours);
  return (
    <Text wrap="truncate-end" {...styleOf({ tone, bold }, isColoured)}>
      {shown(text)}
    </Text>
  );
}

export function Parts({ parts }: { parts: Line }): ReactNode {
  const isColoured = useContext(Colours);
  return (
    <Text wrap="truncate-end">
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: every frame is drawn once.
        <Text key={at} {...styleOf(part, isColoured)}>
          {shown(part.text)}
        </Text>
      ))}
    </Text>
  );
}

/** A column of a line: so wide, or what is left. */
export function Cell({
  width,
  right = false,
  children,
}: {
  width?: number;
  right?: boolean;
  children: ReactNode;
}): ReactNode {
  const size = width === undefined ? { flexGrow: 1, flexBasis: 0, minWidth: 0 } : { width, flexShrink: 0 };
  return (
    <Box {...size} overflow="hidden" justifyContent={right ? "flex-end" : "flex-start"}>
      {children}
    </Box>
  );
}

/** Lines from the top, as many as fit; the rest stays empty. */
export function Lines({ lines, rows }: { lines: readonly Line[]; rows: number }): ReactNode {
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {lines.slice(0, rows).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: every frame is drawn once.
        <Box key={at} height={1} flexShrink={0}>
          <Parts parts={line.length === 0 ? [{ text: " " }] : line} />
        </Box>
      ))}
    </Box>
  );
}

/** What is cut, and what follows it whole. */
export function Followed({ parts, tail }: { parts: Line; tail: Part }): ReactNode {
  return (
    <>
      <Box flexShrink={1} minWidth={0}>
        <Parts parts={parts} />
      </Box>
      {tail.text === "" ? null : (
        <Box flexShrink={0} paddingLeft={1}>
          <T {...tail} />
        </Box>
      )}
    </>
  );
}
