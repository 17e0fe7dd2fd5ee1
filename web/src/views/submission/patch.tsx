// The patch of a submission, to be read: folded by file. It can be a megabyte written by anybody, so lines are drawn only of
// files that are unfolded, not all at once, and long ones are cut.

import { memo, useMemo, useRef, useState } from "react";
import { LoadError } from "../../components/load-error.js";
import { Badge } from "../../components/parts.js";
import { hasUnseen, withUnseen } from "../../components/unseen.js";
import { DibsError, dibs } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";
import { Changed } from "./parts.js";
import { fileOf, linesOf, type PatchFile, partsOf } from "./patch-files.js";

const filesShown = { first: 50, step: 200 };
const linesShown = { first: 300, step: 1_000 };
const lineLengthMax = 600;
/** A patch as short as this is unfolded from the beginning. */
const short = { files: 6, length: 8_000 };

interface PatchProps {
  project: string;
  taskId: string;
  submission: number;
}

export function Patch({ project, taskId, submission }: PatchProps) {
  const live = usePatch(project, taskId, submission);
  if (live.data === undefined) {
    if (live.error instanceof DibsError && live.error.code === "NOT_FOUND")
      return <p className="quiet small">The lander has not recorded a patch yet.</p>;
    return live.isLoading ? <p className="quiet small">Loading the patch…</p> : <LoadError live={live} />;
  }
  const { patch, omitted } = live.data;
  if (live.data.submission !== submission)
    return (
      <p className="quiet small">
        The patch of submission {submission} is no longer stored. The last one is of submission{" "}
        {live.data.submission}.
      </p>
    );
  return <Files patch={patch} omitted={omitted} />;
}

type Answer = Awaited<ReturnType<typeof dibs.tasks.patch>>;

/** Only the last patch of a task is stored: what was read of an earlier one stays. */
function usePatch(project: string, taskId: string, submission: number): Live<Answer> {
  const read = useRef<Answer>(undefined);
  const isRead = () => read.current?.submission === submission;
  return useLive(
    `patch ${project} ${taskId} ${submission}`,
    async () => {
      if (!isRead()) read.current = await dibs.tasks.patch({ project, taskId });
      return read.current!;
    },
    {
      on: (event) =>
        !isRead() &&
        event.project === project &&
        event.taskId === taskId &&
        event.type === "task:review-requested",
    },
  );
}

const Files = memo(function Files({ patch, omitted }: { patch: string; omitted: number }) {
  const files = useMemo(() => partsOf(patch), [patch]);
  const [count, setCount] = useState(filesShown.first);
  const isShort = files.length <= short.files && patch.length <= short.length;
  const more = files.length - count;
  return (
    <div className="patch">
      {files.length === 0 && <p className="quiet small">The submission changes no file.</p>}
      <ul>
        {files.slice(0, count).map((text, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a patch does not change, and can name a path twice.
          <li key={at}>
            <File text={text} isFirstOpen={isShort} />
          </li>
        ))}
      </ul>
      {more > 0 && (
        <button type="button" className="small" onClick={() => setCount(count + filesShown.step)}>
          Show {Math.min(more, filesShown.step)} more files
        </button>
      )}
      {omitted > 0 && (
        <p className="wait small">
          {omitted} more {omitted === 1 ? "file was" : "files were"} left out: a patch is kept up to 1 MiB.
        </p>
      )}
    </div>
  );
});

const File = memo(function File({ text, isFirstOpen }: { text: string; isFirstOpen: boolean }) {
  const [isOpen, setOpen] = useState(isFirstOpen);
  const file = useMemo(() => fileOf(text), [text]);
  const { path, from, insertions, deletions } = file;
  const isOdd = useMemo(() => hasUnseen(text), [text]);
  return (
    <details className="patch-file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="mono wraps patch-path">
          {from !== null && from !== path && `${shortened(from)} → `}
          {shortened(path)}
        </span>{" "}
        <Changed insertions={insertions} deletions={deletions} />{" "}
        {isOdd && (
          <Badge tone="wait" title="Characters that are not seen, or reorder text; they are shown by name.">
            hidden characters
          </Badge>
        )}
      </summary>
      {isOpen && <Lines file={file} />}
    </details>
  );
});

const pathLengthMax = 400;

function shortened(path: string): string {
  const shown = withUnseen(path.slice(0, pathLengthMax)).replaceAll("\n", "␊");
  return path.length > pathLengthMax ? `${shown}…` : shown;
}

function Lines({ file: { text, lineCount, headerCount, path } }: { file: PatchFile }) {
  const [count, setCount] = useState(linesShown.first);
  const lines = useMemo(() => linesOf(text, count), [text, count]);
  const more = lineCount - lines.length;
  return (
    <>
      <section
        className="patch-lines"
        // Scrolls sideways, so it can be reached by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        aria-label={`Changes to ${shortened(path)}`}
        dir="ltr"
      >
        <div>
          {lines.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
            <Line key={at} line={line} isHeader={at < headerCount} />
          ))}
        </div>
      </section>
      {more > 0 && (
        <button type="button" className="small" onClick={() => setCount(count + linesShown.step)}>
          Show {Math.min(more, linesShown.step).toLocaleString()} more of {lineCount.toLocaleString()} lines
        </button>
      )}
    </>
  );
}

const kinds: Record<string, string> = { "+": "added", "-": "removed", "@": "place" };

const Line = memo(function Line({ line, isHeader }: { line: string; isHeader: boolean }) {
  const begin = line.slice(0, lineLengthMax);
  const shown = withUnseen(begin).slice(0, 2 * lineLengthMax);
  const rest = line.length - begin.length;
  const kind = isHeader ? "place" : kinds[line[0] ?? ""];
  return (
    <div className="patch-line" data-kind={kind} data-odd={shown !== begin || undefined}>
      {shown || " "}
      {rest > 0 && <span className="patch-cut">… {rest.toLocaleString()} more characters</span>}
    </div>
  );
});
