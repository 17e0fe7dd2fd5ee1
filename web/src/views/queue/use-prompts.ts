// Words in prompts: rows have none, so the server is asked, when the fingers rest, and again when tasks come or are edited.

import { useEffect, useMemo, useState } from "react";
import type { Filter, Known } from "../../../../src/client/view/filter.js";
import { keyOf } from "../../../../src/client/view/row-set.js";
import { dibs } from "../../data/dibs.js";
import { stream } from "../../data/stream.js";

const lettersMin = 3;
const restMs = 300;
const calmMs = 2_000;
const pageMax = 200;

export interface Prompts {
  isInPrompt: Known["isInPrompt"];
  /** Another number, other findings. */
  version: number;
  /** More have the words in their prompts than were asked for. */
  isCut: boolean;
}

type Found = ReadonlyMap<string, { keys: ReadonlySet<string>; isCut: boolean }>;

export function usePrompts({ terms }: Filter, project: string): Prompts {
  const words = terms.flatMap((term) =>
    term.key === "words" && !term.negated && term.text.length >= lettersMin ? [term.text] : [],
  );
  const asked = JSON.stringify([project, words]);
  const [state, setState] = useState<{ asked: string; found: Found; version: number }>(none);
  useEffect(() => {
    const [of, all] = JSON.parse(asked) as [string, string[]];
    if (all.length === 0) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      timer = undefined;
      const found = await findAll(of, all).catch(() => null);
      if (found && !isOver) setState((old) => ({ asked, found, version: old.version + 1 }));
    };
    const soon = (ms: number) => {
      timer ??= setTimeout(ask, ms);
    };
    soon(restMs);
    const off = stream.onEvent(({ type }) => /^task:(?:created|updated)/.test(type) && soon(calmMs));
    return () => {
      isOver = true;
      clearTimeout(timer);
      off();
    };
  }, [asked]);
  const { found, version } = state.asked === asked ? state : none;
  return useMemo(
    () => ({
      version,
      isCut: [...found.values()].some(({ isCut }) => isCut),
      isInPrompt: (row, text) => found.get(text)?.keys.has(keyOf(row.project, row.id)) ?? false,
    }),
    [found, version],
  );
}

const none = { asked: "", found: new Map() as Found, version: 0 };

async function findAll(project: string, words: readonly string[]): Promise<Found> {
  const answers = words.map(async (q) => {
    const { tasks, nextCursor } = await dibs.tasks.list({ project, q, limit: pageMax });
    const keys = new Set(tasks.map((task) => keyOf(task.project, task.id)));
    return [q, { keys, isCut: nextCursor !== null }] as const;
  });
  return new Map(await Promise.all(answers));
}
