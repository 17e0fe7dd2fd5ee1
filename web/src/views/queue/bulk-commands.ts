import { type Action, cliFor, type Details } from "../../../../src/client/view/commands.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import type { Deed } from "./bulk-run.js";

/** A longer line could not be pasted into every terminal. */
const idsShown = 100;

/** The same on the command line: one command for each project. */
export function commandsFor(deed: Deed, rows: readonly WireTaskRow[]): string {
  const shown = rows.slice(0, idsShown);
  const projects = [...new Set(shown.map(({ project }) => project))];
  const lines = projects.map((project) => {
    const [taskId = "", ...furtherIds] = shown.filter((row) => row.project === project).map(({ id }) => id);
    return cliFor(...commandFor(deed, { project, taskId, furtherIds }));
  });
  const left = rows.length - shown.length;
  return [...lines, ...(left > 0 ? [`# and so on, for ${left.toLocaleString()} more`] : [])].join("\n");
}

function commandFor(deed: Deed, on: Details): [Action, Details] {
  switch (deed.kind) {
    case "cancel":
      return ["cancel", { ...on, cascade: deed.cascade, text: deed.reason || undefined }];
    case "retry":
      return ["retry", on];
    case "release":
      return ["release", { ...on, text: deed.reason || undefined }];
    case "priority":
      return ["edit", { ...on, patch: { priority: deed.priority } }];
    case "label":
      return ["edit", { ...on, patch: { addLabels: [deed.label] } }];
  }
}
