// The small things that every view is made of.

import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { priorityWord } from "../../../src/client/view/words.js";
import { priorityTone, toneOf } from "./tones.js";

export function Badge({
  tone = "",
  title,
  children,
}: {
  tone?: string;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span className={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function StateBadge({ word }: { word: string }) {
  return <Badge tone={toneOf(word)}>{word.replaceAll("_", " ")}</Badge>;
}

export function Priority({ value }: { value: number }) {
  const word = priorityWord(value);
  return (
    <span className={priorityTone(word)} title={`priority ${value}`}>
      {word}
    </span>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="strong">{title}</p>
      {children}
    </div>
  );
}

export function CopyText({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    void navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  return (
    <div className="copy">
      {/* Scrolls sideways, so it can be reached by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <code tabIndex={0}>{text}</code>
      <button type="button" className="small" onClick={copy} aria-label={`Copy ${label}`}>
        {isCopied ? "copied" : "copy"}
      </button>
    </div>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** A native dialog: it keeps the focus, closes on Escape and gives the focus back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = own.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={own}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
