// What a child process has written during an attempt: its end, and all of it on demand; it grows while the attempt runs.

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { LoadError } from "../../components/load-error.js";
import { dibs } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { linesOf } from "./log-text.js";

interface LogProps {
  project: string;
  taskId: string;
  epoch: number;
  isRunning: boolean;
}

const tailLines = 40;
const againMs = 1_500;

export function Log({ project, taskId, epoch, isRunning }: LogProps) {
  const [isWhole, setWhole] = useState(false);
  const live = useLive(
    `log ${project} ${taskId} ${epoch}`,
    () => dibs.tasks.log({ project, taskId, epoch }),
    { on: (event) => event.project === project && event.taskId === taskId },
  );
  useAgain(live.reload, isRunning);
  const lines = linesOf(live.data?.text ?? "");
  const shown = isWhole ? lines : lines.slice(-tailLines);
  const text = shown.join("\n");
  return (
    <div className="task-log">
      <LoadError live={live} />
      {live.data && lines.length === 0 && (
        <p className="quiet small">{isRunning ? "No output yet." : "This attempt has no log."}</p>
      )}
      {lines.length > 0 && <Lines text={text} name={`Log of attempt ${epoch}`} />}
      <div className="row wrapping small quiet">
        {lines.length > tailLines && (
          <button type="button" className="plain small" onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Only the last ${tailLines} lines` : `Show all ${lines.length} lines`}
          </button>
        )}
        {(live.data?.truncatedBytes ?? 0) > 0 && (
          <span>The first {Math.ceil(live.data!.truncatedBytes / 1024)} KiB were not kept.</span>
        )}
      </div>
    </div>
  );
}

/** Logs make no events: they are read again and again while the attempt runs, and once after it. */
function useAgain(reload: () => void, isRunning: boolean): void {
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (isRunning) {
      wasRunning.current = true;
      const timer = setInterval(() => !document.hidden && reload(), againMs);
      return () => clearInterval(timer);
    }
    if (!wasRunning.current) return;
    const timer = setTimeout(reload, againMs);
    return () => clearTimeout(timer);
  }, [reload, isRunning]);
}

/** Stays at its end, unless somebody has scrolled away from it. */
function Lines({ text, name }: { text: string; name: string }) {
  const own = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of the text.
  useLayoutEffect(() => {
    if (own.current && isAtEnd.current) own.current.scrollTop = own.current.scrollHeight;
  }, [text]);
  return (
    <section
      ref={own}
      // Scrolls, so it can be reached by keyboard.
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label={name}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 8;
      }}
    >
      <pre>{text}</pre>
    </section>
  );
}
