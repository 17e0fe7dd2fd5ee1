// Something done to many tasks: chosen, previewed by the server itself, carried out, and told what was refused. The tasks are those
// that were listed or selected when it was opened; nothing that comes later gets in.

import { useEffect, useRef, useState } from "react";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { CopyText, Dialog } from "../../components/parts.js";
import { say } from "../../components/toasts.js";
import { troubleOf } from "../../data/dibs.js";
import { taskIndex } from "../../data/tasks.js";
import { Choice, useDeed } from "./bulk-choice.js";
import { commandsFor } from "./bulk-commands.js";
import { carryOut, type Deed, emptyTally, type Tally } from "./bulk-run.js";
import { Outcome, Reasons, tasks, words } from "./bulk-words.js";

interface BulkProps {
  rows: readonly WireTaskRow[];
  /** `selected` or `matching`. */
  which: string;
  onClose: () => void;
  onDone: () => void;
}

type Phase = "choosing" | "running" | "done";

export function Bulk({ rows, which, onClose, onDone }: BulkProps) {
  const { choice, setChoice, deed } = useDeed();
  const [phase, setPhase] = useState<Phase>("choosing");
  const preview = usePreview(phase === "choosing" ? deed : null, rows);
  const [tally, setTally] = useState(emptyTally);
  const [trouble, setTrouble] = useState<unknown>();
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const run = async (wanted: Deed) => {
    const control = new AbortController();
    running.current = control;
    setPhase("running");
    try {
      const end = await carryOut(wanted, asTheyAre(rows), {
        isPreview: false,
        signal: control.signal,
        onProgress: setTally,
      });
      if (control.signal.aborted) return;
      setTally(end);
      if (end.refusedCount > 0) return setPhase("done");
      say(`${words[wanted.kind].past} ${tasks(end.done)}.`);
      onDone();
    } catch (error) {
      if (control.signal.aborted) return;
      setTrouble(error);
      setPhase("done");
    }
  };

  const title = `${rows.length.toLocaleString()} ${which} ${rows.length === 1 ? "task" : "tasks"}`;
  const count = preview.tally?.done ?? 0;
  return (
    <Dialog title={title} onClose={phase === "done" ? onDone : onClose}>
      {phase === "choosing" && (
        <form
          className="stack queue-bulk"
          onSubmit={(event) => {
            event.preventDefault();
            if (deed && preview.isChecked && count > 0) void run(deed);
          }}
        >
          <Choice choice={choice} onChoice={setChoice} />
          <Preview deed={deed} preview={preview} of={rows.length} />
          {deed && <CopyText text={commandsFor(deed, rows)} label="as commands" />}
          <div className="actions">
            <button type="button" onClick={onClose}>
              Back
            </button>
            <button
              type="submit"
              className={deed?.kind === "cancel" ? "danger" : "primary"}
              disabled={!deed || !preview.isChecked || count === 0}
            >
              {deed
                ? `${words[deed.kind].verb} ${preview.isChecked ? tasks(count) : "…"}`
                : "Choose an action"}
            </button>
          </div>
        </form>
      )}
      {phase === "running" && deed && (
        <div className="stack">
          <Working
            label={`${words[deed.kind].present} ${tasks(rows.length)}…`}
            tally={tally}
            of={rows.length}
          />
          <div className="actions">
            <button type="button" onClick={onDone}>
              Stop
            </button>
          </div>
        </div>
      )}
      {phase === "done" && deed && (
        <div className="stack queue-bulk">
          {trouble !== undefined && <Stopped error={trouble} tally={tally} of={rows.length} />}
          <Outcome deed={deed} tally={tally} />
          <div className="actions">
            <button type="button" className="primary" onClick={onDone}>
              Close
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

/** Rows as they are now: labels and priorities may have changed since the dialog was opened. */
const asTheyAre = (rows: readonly WireTaskRow[]) =>
  rows.map((row) => taskIndex().get(row.project, row.id) ?? row);

interface PreviewState {
  tally: Tally | null;
  isChecked: boolean;
  error: unknown;
}

const restMs = 200;
const unknown: PreviewState = { tally: null, isChecked: false, error: undefined };

function usePreview(deed: Deed | null, rows: readonly WireTaskRow[]): PreviewState {
  const key = JSON.stringify(deed);
  const [state, setState] = useState<PreviewState & { key: string }>({ ...unknown, key });
  // biome-ignore lint/correctness/useExhaustiveDependencies: an action that is equal is the same
  useEffect(() => {
    if (!deed) return;
    const control = new AbortController();
    const tell = (next: Partial<PreviewState>) =>
      control.signal.aborted || setState({ ...unknown, key, ...next });
    const check = () =>
      carryOut(deed, rows, {
        isPreview: true,
        signal: control.signal,
        onProgress: (tally) => tell({ tally }),
      }).then(
        (tally) => tell({ tally, isChecked: true }),
        (error) => tell({ error }),
      );
    const timer = setTimeout(check, restMs);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [key, rows]);
  return state.key === key ? state : unknown;
}

function Preview({ deed, preview, of }: { deed: Deed | null; preview: PreviewState; of: number }) {
  const { tally, isChecked, error } = preview;
  if (!deed) return <p className="quiet">You see a preview before anything changes.</p>;
  if (error !== undefined) {
    const { message, hint } = troubleOf(error);
    return (
      <p className="bad" role="alert">
        {message} {hint}
      </p>
    );
  }
  if (!isChecked || !tally)
    return <Working label="Loading the preview…" tally={tally ?? emptyTally()} of={of} />;
  return (
    <div role="status" className="queue-preview">
      <p>
        <span className="strong">
          {words[deed.kind].verb} {tally.done.toLocaleString()} of {of.toLocaleString()}
        </span>
        {tally.unchanged > 0 &&
          `; ${tally.unchanged.toLocaleString()} ${tally.unchanged === 1 ? "is" : "are"} so already`}
        {tally.refusedCount > 0 &&
          `; ${tally.refusedCount.toLocaleString()} ${tally.refusedCount === 1 ? "is" : "are"} refused:`}
      </p>
      <Reasons tally={tally} />
    </div>
  );
}

function Working({ label, tally, of }: { label: string; tally: Tally; of: number }) {
  return (
    <div role="status" className="queue-working">
      <span>{label}</span>
      <progress aria-label={label} value={tally.asked} max={of} />
      <span className="quiet small">
        {tally.asked.toLocaleString()} of {of.toLocaleString()}
      </span>
    </div>
  );
}

function Stopped({ error, tally, of }: { error: unknown; tally: Tally; of: number }) {
  const { message, hint } = troubleOf(error);
  return (
    <p className="bad" role="alert">
      Stopped after {tally.asked.toLocaleString()} of {of.toLocaleString()}: {message} {hint}
    </p>
  );
}
