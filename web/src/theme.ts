// Light or dark: as the system says, unless somebody chose.

import { useSyncExternalStore } from "react";

const key = "dibs-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export type Theme = "light" | "dark";

function chosen(): Theme | null {
  const kept = localStorage.getItem(key);
  return kept === "light" || kept === "dark" ? kept : null;
}

const currentTheme = (): Theme => chosen() ?? (system.matches ? "dark" : "light");

const listeners = new Set<() => void>();

export function applyTheme(): void {
  document.documentElement.dataset.theme = currentTheme();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** For what cannot be coloured by tokens alone. */
export const useTheme = (): Theme => useSyncExternalStore(subscribe, currentTheme);

/** Choosing what the system says is no choice: it follows the system again. */
export function toggleTheme(): void {
  const next: Theme = currentTheme() === "dark" ? "light" : "dark";
  if (next === (system.matches ? "dark" : "light")) localStorage.removeItem(key);
  else localStorage.setItem(key, next);
  applyTheme();
}

system.addEventListener("change", applyTheme);
