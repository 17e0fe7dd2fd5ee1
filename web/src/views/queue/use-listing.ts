// The list belongs to the page, not to one visit of it: who comes back from a task finds it where it was.

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { keyOf } from "../../../../src/client/view/row-set.js";
import type { Progress } from "../../../../src/client/view/rows.js";
import { dibs } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";
import { taskIndex } from "../../data/tasks.js";
import { type Listed, Listing, type Question } from "./listing.js";
import type { Surroundings } from "./order.js";

let made: Listing | null = null;

export function listing(): Listing {
  made ??= new Listing(taskIndex(), { settings: new Map(), nameOf: (_, sessionId) => sessionId });
  return made;
}

export type NameOf = Surroundings["nameOf"];

export function useListing(question: Question): {
  listed: Listed;
  nameOf: NameOf;
  projects: number;
} {
  const own = listing();
  const listed = useSyncExternalStore(own.subscribe, () => own.state);
  const { settings, nameOf } = useSurroundings();
  useEffect(() => own.surround({ settings, nameOf }), [own, settings, nameOf]);
  useEffect(() => own.ask(question), [own, question]);
  useEffect(() => own.start(), [own]);
  return { listed, nameOf, projects: settings.size };
}

/** Names of sessions, and the rules of projects by which claims are made. */
function useSurroundings(): Pick<Surroundings, "settings" | "nameOf"> {
  const sessions = useLive("queue-sessions", () => dibs.sessions.list({ project: "*", limit: 1000 }), {
    on: ({ type }) => type.startsWith("session:"),
  });
  const projects = useLive("queue-projects", () => dibs.projects.list({ limit: 1000 }), {
    on: ({ type }) => type === "project:updated",
  });
  const nameOf = useMemo(() => {
    const names = new Map(sessions.data?.sessions.map(({ project, id, name }) => [keyOf(project, id), name]));
    return (project: string, sessionId: string) => names.get(keyOf(project, sessionId)) || sessionId;
  }, [sessions.data]);
  const settings = useMemo(
    () => new Map(projects.data?.projects.map((project) => [project.id, project.settings])),
    [projects.data],
  );
  return { settings, nameOf };
}

/** How far the reading of all tasks is. */
export function useProgress(): Progress {
  const index = taskIndex();
  return useSyncExternalStore(
    (listener) => index.subscribe(listener),
    () => index.progress,
  );
}
