// The filters that are asked for all day, each with how many it would show.

import { type Filter, formatFilter } from "../../../../src/client/view/filter.js";
import { toneOf } from "../../components/tones.js";
import { type Chip, type Counts, chips, isChosenState } from "./listing.js";

interface ChipsProps {
  filter: Filter;
  counts: Counts;
  onFilter: (text: string) => void;
}

export function Chips({ filter, counts, onFilter }: ChipsProps) {
  const chosen = chosenIn(filter);
  return (
    <fieldset className="queue-chips">
      <legend className="only-read">Common filters</legend>
      {chips.map((chip) => (
        <button
          key={chip}
          type="button"
          className="queue-chip"
          aria-pressed={chip === chosen}
          onClick={() => onFilter(withChip(filter, chip === chosen ? null : chip))}
        >
          <span className="queue-chip-word">{chip}</span>{" "}
          <span className={`queue-chip-count ${counts[chip] > 0 ? tones[chip] : "quiet"}`}>
            {counts[chip].toLocaleString()}
          </span>
        </button>
      ))}
    </fieldset>
  );
}

/** Colour where somebody is at work, is waited for, or has failed; the rest is plain. */
const tones: Record<Chip, string> = {
  open: "",
  ready: "",
  blocked: "",
  working: toneOf("working"),
  waiting: toneOf("waiting"),
  failed: toneOf("failed"),
  done: "",
};

function chosenIn({ terms }: Filter): Chip | null {
  const states = terms.filter(isChosenState);
  const [only] = states;
  if (states.length !== 1 || only?.key !== "is" || only.values.length !== 1) return null;
  return chips.find((chip) => chip === only.values[0]) ?? null;
}

function withChip({ terms }: Filter, chip: Chip | null): string {
  const rest = terms.filter((term) => !isChosenState(term));
  return formatFilter({ terms: chip ? [{ key: "is", negated: false, values: [chip] }, ...rest] : rest });
}
