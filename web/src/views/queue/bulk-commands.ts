import { type Action, cliFor, type Details } from "../../../../src/client/view/commands.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import type { Deed } from "./bulk-run.js";

const shown = 10;

/** The same on the command line, which takes one task at a time. */
export function commandsFor(deed: Deed, rows: readonly WireTaskRow[]): string {
  const lines = rows.slice(0, shown).map((row) => cliFor(...commandFor(deed, row)));
  const left = rows.length - lines.length;
  return [...lines, ...(left > 0 ? [`# and so on, for ${left.toLocaleString()} more`] : [])].join("\n");
}

function commandFor(deed: Deed, { project, id: taskId }: WireTaskRow): [Action, Details] {
  const on = { project, taskId };
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
