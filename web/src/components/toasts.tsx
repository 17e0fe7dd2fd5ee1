// Short messages about what just happened: what was done, or why it was refused and what to do.

import { useSyncExternalStore } from "react";
import { troubleOf } from "../data/dibs.js";

interface Toast {
  no: number;
  text: string;
  hint?: string;
  isBad: boolean;
}

const shownMax = 4;
const shownMs = 6_000;
let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(now: readonly Toast[]): void {
  toasts = now;
  for (const listener of listeners) listener();
}

const remove = (no: number) => set(toasts.filter((toast) => toast.no !== no));

function show(toast: Omit<Toast, "no">): void {
  const no = next++;
  set([...toasts, { ...toast, no }].slice(-shownMax));
  setTimeout(() => remove(no), toast.isBad ? 2 * shownMs : shownMs);
}

export const say = (text: string) => show({ text, isBad: false });

export function sayTrouble(error: unknown): void {
  const { message, hint } = troubleOf(error);
  show({ text: message, hint, isBad: true });
}

/** Does it and says so; a refusal is said too. True if it was done. */
export async function act(done: string, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    say(done);
    return true;
  } catch (error) {
    sayTrouble(error);
    return false;
  }
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ no, text, hint, isBad }) => (
        <div key={no} className={`toast ${isBad ? "bad" : ""}`}>
          <div className="grows wraps">
            {text}
            {hint && <div className="quiet small">{hint}</div>}
          </div>
          <button type="button" className="plain small" aria-label="Dismiss" onClick={() => remove(no)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
