// Long texts of others: shown in part until somebody wants all of them.

import { type ReactNode, useState } from "react";
import type { Task } from "../../data/dibs.js";

interface FoldedProps {
  text: string;
  /** For buttons: “Show all of the prompt”. */
  name: string;
  linesMax?: number;
  isCode?: boolean;
}

const charsPerLine = 160;

/** The beginning that fits, or null if all of it does. */
function beginningOf(text: string, linesMax: number): string | null {
  const charsMax = linesMax * charsPerLine;
  let end = -1;
  for (let line = 0; line < linesMax; line++) {
    end = text.indexOf("\n", end + 1);
    if (end === -1 || end > charsMax) break;
  }
  const isShort = end === -1 || end >= text.trimEnd().length - 1;
  if (isShort && text.length <= charsMax) return null;
  return text.slice(0, end === -1 ? charsMax : Math.min(end, charsMax));
}

export function Folded({ text, name, linesMax = 12, isCode = false }: FoldedProps) {
  const [isOpen, setOpen] = useState(false);
  const beginning = beginningOf(text, linesMax);
  const shown = isOpen || beginning === null ? text : `${beginning} …`;
  return (
    <div className="task-text">
      {isCode ? <pre>{shown}</pre> : <p className="wraps">{shown}</p>}
      {beginning !== null && (
        <button type="button" className="plain small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : `Show all of ${name} (${sizeOf(text)})`}
        </button>
      )}
    </div>
  );
}

function sizeOf(text: string): string {
  const lines = text.split("\n").length;
  return lines > 1 ? `${lines} lines` : `${text.length} characters`;
}

export function Part({ title, id, children }: { title: string; id: string; children: ReactNode }) {
  return (
    <section className="panel task-part" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

type Result = NonNullable<Task["result"]>;

export function ResultTexts({ result }: { result: Result }) {
  const { output, filesCreated, filesModified, branch, commit } = result;
  return (
    <>
      {output === "" ? (
        <p className="quiet">No output.</p>
      ) : (
        <Folded text={output} name="the output" isCode />
      )}
      <Files title="Created" paths={filesCreated} />
      <Files title="Modified" paths={filesModified} />
      <Files title="Branch" paths={branch ? [branch] : []} />
      <Files title="Commit" paths={commit ? [commit] : []} />
    </>
  );
}

const filesShown = 20;

export function Files({ title, paths }: { title: string; paths: readonly string[] }) {
  const [isOpen, setOpen] = useState(false);
  if (paths.length === 0) return null;
  const shown = isOpen ? paths : paths.slice(0, filesShown);
  return (
    <div>
      <h3>
        {title} <span className="quiet">{paths.length}</span>
      </h3>
      <ul className="task-files">
        {shown.map((path, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same path may stand there twice.
          <li key={at} className="mono wraps">
            {path}
          </li>
        ))}
      </ul>
      {paths.length > filesShown && (
        <button type="button" className="plain small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : `Show all ${paths.length}`}
        </button>
      )}
    </div>
  );
}
