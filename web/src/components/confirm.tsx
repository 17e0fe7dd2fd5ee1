// Asks before something that cannot be taken back, shows the same as a command, and does it.

import { type ReactNode, useState } from "react";
import { CopyText, Dialog } from "./parts.js";
import { act } from "./toasts.js";

interface ConfirmProps {
  title: string;
  /** What the button says. */
  verb: string;
  isDanger?: boolean;
  /** The same on the command line. */
  command?: string;
  /** What is said when it was done. */
  done: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  children?: ReactNode;
}

export function Confirm({ title, verb, isDanger, command, done, run, onClose, children }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    const isDone = await act(done, run);
    setBusy(false);
    if (isDone) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        {children}
        {command && <CopyText text={command} label="as a command" />}
        <div className="actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className={isDanger ? "danger" : "primary"} disabled={isBusy}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
