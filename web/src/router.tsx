// The address is the state of the page: which view, which project, which filter. Nothing else remembers it.

import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
const tellAll = () => {
  for (const listener of listeners) listener();
};
addEventListener("popstate", tellAll);

/** `isSmall`: the same place seen a little differently, such as a filter being typed: no new step back. */
export function navigate(to: string, { isSmall = false } = {}): void {
  if (to === location.pathname + location.search) return;
  if (isSmall) history.replaceState(history.state, "", to);
  else {
    history.pushState({ steps: stepsHere() + 1 }, "", to);
    scrollTo(0, 0);
  }
  tellAll();
}

/** How many steps within the dashboard lead here. */
const stepsHere = (): number => (history.state as { steps?: number } | null)?.steps ?? 0;

/** To where one came from; from a page that was opened by itself, elsewhere: the browser's way back would leave the dashboard. */
export function goBack(elsewhere: string): void {
  if (stepsHere() > 0) history.back();
  else navigate(elsewhere);
}

export interface Place {
  path: string;
  query: URLSearchParams;
  /** A project, or * for all. */
  project: string;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePlace(): Place {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  const search = useSyncExternalStore(subscribe, () => location.search);
  const query = new URLSearchParams(search);
  return { path, query, project: query.get("project") || "*" };
}

/** An address within the dashboard; the project stays what it is unless it is named. */
export function hrefTo(path: string, query: Record<string, string | null | undefined> = {}): string {
  const kept = new URLSearchParams(location.search).get("project");
  const all: Record<string, string | null | undefined> = { project: kept, ...query };
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(all))
    if (value && !(name === "project" && value === "*")) search.set(name, value);
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** A task's page says its project, because ids are only unique within one; which one was chosen is for the way back. */
export const taskHref = (project: string, id: string) =>
  hrefTo(`/tasks/${encodeURIComponent(project)}/${encodeURIComponent(id)}`);

/** One parameter of the query, as state. Empty: it is not in the address. */
export function useParam(name: string): [string, (value: string) => void] {
  const { query, path } = usePlace();
  const value = query.get(name) ?? "";
  const set = useCallback(
    (next: string) => {
      const now = new URLSearchParams(location.search);
      if (next === "") now.delete(name);
      else now.set(name, next);
      const text = now.toString();
      navigate(text === "" ? path : `${path}?${text}`, { isSmall: true });
    },
    [name, path],
  );
  return [value, set];
}

export function Link({ href = "", onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement>) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isOurs = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!isOurs || event.defaultPrevented) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={go} {...rest} />;
}
