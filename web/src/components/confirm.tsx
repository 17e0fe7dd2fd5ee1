// Asks before something that cannot be taken back, shows the same as a command, and does it. A refusal is said in its place.

import { type ReactNode, useState } from "react";
import { troubleOf } from "../data/dibs.js";
import { CopyText, Dialog } from "./parts.js";
import { say } from "./toasts.js";

interface ConfirmProps {
  title: string;
  /** What the button says. */
  verb: string;
  isDanger?: boolean;
  /** Something is still to be typed. */
  isIncomplete?: boolean;
  /** The same on the command line. */
  command?: string;
  /** What is said when it was done. */
  done: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  children?: ReactNode;
}

export function Confirm(props: ConfirmProps) {
  const { title, verb, isDanger, isIncomplete = false, command, done, run, onClose, children } = props;
  const [isBusy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const go = async () => {
    setBusy(true);
    setTrouble(null);
    try {
      await run();
      say(done);
      onClose();
    } catch (error) {
      const { message, hint } = troubleOf(error);
      setTrouble([message, hint].filter(Boolean).join(" "));
      setBusy(false);
    }
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
        {trouble && (
          <p className="trouble wraps" role="alert">
            {trouble}
          </p>
        )}
        <div className="actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className={isDanger ? "danger" : "primary"} disabled={isBusy || isIncomplete}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
