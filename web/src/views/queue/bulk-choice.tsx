// What is to be done, and what it needs to know.

import { useState } from "react";
import type { Deed } from "./bulk-run.js";

interface ChoiceState {
  kind: Deed["kind"] | null;
  reason: string;
  cascade: boolean;
  priority: string;
  label: string;
}

const kinds: [Deed["kind"], string][] = [
  ["cancel", "Cancel"],
  ["retry", "Retry"],
  ["release", "Release by force"],
  ["priority", "Set priority"],
  ["label", "Add a label"],
];

/** The choice, and the action once it says everything. */
export function useDeed() {
  const [choice, setChoice] = useState<ChoiceState>({
    kind: null,
    reason: "",
    cascade: false,
    priority: "50",
    label: "",
  });
  return { choice, setChoice, deed: deedOf(choice) };
}

function deedOf({ kind, reason, cascade, priority, label }: ChoiceState): Deed | null {
  switch (kind) {
    case null:
      return null;
    case "cancel":
      return { kind, cascade, reason };
    case "release":
      return { kind, reason };
    case "retry":
      return { kind };
    case "priority": {
      const value = Number(priority);
      return /^\d{1,3}$/.test(priority) && value <= 100 ? { kind, priority: value } : null;
    }
    case "label":
      return label.trim() === "" ? null : { kind, label: label.trim() };
  }
}

interface ChoiceProps {
  choice: ChoiceState;
  onChoice: (choice: ChoiceState) => void;
}

export function Choice({ choice, onChoice }: ChoiceProps) {
  const set = (change: Partial<ChoiceState>) => onChoice({ ...choice, ...change });
  const { kind } = choice;
  return (
    <>
      <fieldset className="queue-kinds">
        <legend className="only-read">Action</legend>
        {kinds.map(([each, name]) => (
          <label key={each}>
            <input
              type="radio"
              name="queue-kind"
              checked={kind === each}
              onChange={() => set({ kind: each })}
            />{" "}
            {name}
          </label>
        ))}
      </fieldset>
      {kind === "cancel" && (
        <label className="row">
          <input
            type="checkbox"
            checked={choice.cascade}
            onChange={({ target }) => set({ cascade: target.checked })}
          />{" "}
          also their open subtasks
        </label>
      )}
      {(kind === "cancel" || kind === "release") && (
        <label className="field">
          Reason (optional)
          <input
            value={choice.reason}
            maxLength={500}
            onChange={({ target }) => set({ reason: target.value })}
          />
        </label>
      )}
      {kind === "priority" && (
        <label className="field">
          Priority, 0 to 100
          <input
            type="number"
            min={0}
            max={100}
            step={1}
            value={choice.priority}
            onChange={({ target }) => set({ priority: target.value })}
          />
        </label>
      )}
      {kind === "label" && (
        <label className="field">
          Label
          <input
            value={choice.label}
            maxLength={100}
            onChange={({ target }) => set({ label: target.value })}
          />
        </label>
      )}
    </>
  );
}
