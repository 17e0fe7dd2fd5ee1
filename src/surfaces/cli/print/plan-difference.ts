// What loading a plan again changes: a line per task, and what is unchanged as a number.

import type { OutputOf } from "../../../contract/operation.js";
import type { OperationNamed } from "../../../contract/registry.js";
import type { Display, Style } from "./display.js";
import { table } from "./table.js";
import { plain, wrap } from "./text.js";

export type Difference = NonNullable<OutputOf<OperationNamed<"tasks.batch">>["plan"]>;
type Change = Difference["changes"][number];

const marks: Record<Change["change"], { mark: string; style?: Style }> = {
  new: { mark: "+", style: "green" },
  changed: { mark: "~", style: "yellow" },
  untouched: { mark: "!" },
  checked: { mark: "!" },
  gone: { mark: "-" },
  cancelled: { mark: "-", style: "red" },
};

const words: Record<string, string> = {
  dependsOn: "dependencies",
  parentId: "parent",
  agentType: "agent type",
  maxRetries: "retries",
  notBefore: "start time",
  timeoutMs: "timeout",
};

const list = (fields: readonly string[]) => fields.map((field) => words[field] ?? field).join(", ");

export function differenceText(difference: Difference, display: Display): string {
  const { changes, dryRun } = difference;
  const rows = table(
    changes,
    [
      {
        head: "",
        of: ({ change }) => marks[change].mark,
        style: ({ change }) => marks[change].style,
        whole: true,
      },
      { head: "ID", of: ({ taskId }) => plain(taskId ?? ""), whole: true },
      { head: "TASK", of: ({ title }) => plain(title), grows: true },
      { head: "CHANGE", of: (change) => effect(change, dryRun), max: 52 },
    ],
    display,
  );
  return `${changes.length > 0 ? rows : ""}${[...replaced(difference, display), summary(difference)].join("\n")}`;
}

/** What is lost is never cut. */
function replaced({ changes, dryRun }: Difference, display: Display): string[] {
  return changes.flatMap(({ taskId, overwritten }) => {
    if (overwritten.length === 0) return [];
    const verb = dryRun ? "replaces" : "replaced";
    return wrap(
      `warning: the plan ${verb} edits of ${plain(taskId ?? "")}: ${list(overwritten)}`,
      display.columns,
    );
  });
}

function effect({ change, state, fields, notApplied, reason }: Change, isPreview: boolean): string {
  const now = state === null ? "archived" : state === "awaiting_response" ? "waiting for an answer" : state;
  switch (change) {
    case "new":
      return "new";
    case "changed": {
      const kept = notApplied.length > 0 ? [`keeps its ${list(notApplied)}`] : [];
      return [list(fields), ...kept].join("; ");
    }
    case "untouched":
      return `${now}, keeps its ${list(notApplied)}`;
    case "checked":
      return `checked off, but ${now}: left open`;
    case "gone":
      return `gone from the plan, left: ${reason ?? now}`;
    case "cancelled":
      return `gone from the plan, ${isPreview ? "will be cancelled" : "cancelled"}`;
  }
}

function summary({ counts, dryRun }: Difference): string {
  const done = [
    [counts.new, dryRun ? "to add" : "added"],
    [counts.changed, dryRun ? "to change" : "changed"],
    [counts.cancelled, dryRun ? "to cancel" : "cancelled"],
    [counts.unchanged, "unchanged"],
    [counts.untouched + counts.checked, "left as they are"],
    [counts.gone, "gone from the plan"],
  ] as const;
  const said = done.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return said.length > 0 ? said.join(", ") : "nothing to change";
}

/** Whether loading it does anything. */
export function hasEffect({ counts }: Difference): boolean {
  return counts.new + counts.changed + counts.cancelled > 0;
}
