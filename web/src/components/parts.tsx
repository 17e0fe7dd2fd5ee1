// The small things that every view is made of.

import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { priorityText } from "../../../src/client/view/words.js";
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
  return <span className={priorityTone(value)}>{priorityText(value)}</span>;
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="strong">{title}</p>
      {children}
    </div>
  );
}

type Copied = "no" | "yes" | "by hand";

const copyWords: Record<Copied, string> = { no: "copy", yes: "copied", "by hand": "press Ctrl+C" };

/** Pages over plain http from another machine have no clipboard, and a browser may refuse one: the text is selected then. */
export function CopyText({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState<Copied>("no");
  const box = useRef<HTMLElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const isDone = await toClipboard(text);
    if (!isDone && box.current) getSelection()?.selectAllChildren(box.current);
    setCopied(isDone ? "yes" : "by hand");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied("no"), isDone ? 1_500 : 6_000);
  };
  return (
    <div className="copy">
      {/* Scrolls sideways, so it can be reached by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <code ref={box} tabIndex={0}>
        {text}
      </code>
      <button
        type="button"
        className="small"
        onClick={() => void copy()}
        aria-label={copied === "no" ? `Copy ${label}` : `${copyWords[copied]}: ${label}`}
      >
        {copyWords[copied]}
      </button>
      <span className="only-read" role="status">
        {copied !== "no" && copyWords[copied]}
      </span>
    </div>
  );
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** Where one begins: to write, else to do what the dialog is for. */
function firstIn(dialog: HTMLElement): HTMLElement | null {
  const find = (what: string) => dialog.querySelector<HTMLElement>(what);
  return (
    find(":is(input, textarea, select):not(:disabled)") ??
    find("button:is(.primary, .danger):not(:disabled)") ??
    find(".actions button")
  );
}

/** A native dialog: it keeps the focus, closes on Escape and gives the focus back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = own.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    firstIn(dialog)?.focus();
    // One that is longer than the screen is read from its beginning, wherever its button is.
    dialog.scrollTop = 0;
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
