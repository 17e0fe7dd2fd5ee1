// The projects of the org, and which one a command line means by itself.

import { useEffect, useState } from "react";
import { dibs } from "./dibs.js";
import { useLive } from "./live.js";

/** All of them, as far as they fit on a page of the API. */
export function useProjects() {
  const { data } = useLive("projects", () => dibs.projects.list({ limit: 1000 }), {
    on: ({ type }) => type === "project:updated",
  });
  return data?.projects;
}

let asked: Promise<string> | null = null;

/** The project to name in a command: none where it is the server's own, which commands mean anyway. */
export function useProjectToName(project: string): string | undefined {
  const [own, setOwn] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    asked ??= dibs.projects.get().then((answer) => answer.project.id);
    asked.then(
      (id) => !isOver && setOwn(id),
      () => {
        asked = null;
      },
    );
    return () => {
      isOver = true;
    };
  }, []);
  return own === project ? undefined : project;
}
