// Where the filter is written. What is typed shows at once; it goes into the address, and the list follows, when the fingers rest.
// What could be written next is offered below; arrows choose, Enter or Tab take, Escape closes.

import { type KeyboardEvent, type RefObject, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Facts, type Suggestion, suggest } from "../../../../src/client/view/filter.js";
import { useDraft } from "./use-draft.js";

interface FilterBoxProps {
  text: string;
  onText: (text: string) => void;
  /** Asked for when somebody begins to write. */
  facts: () => Facts;
  box: RefObject<HTMLInputElement | null>;
  /** Where what is wrong is said, while something is. */
  problemId: string | undefined;
  /** To the list. */
  onLeave: () => void;
}

const none: readonly Suggestion[] = [];
const noFacts: Facts = { labels: [], agents: [], projects: [], phases: [] };

export function FilterBox({ text, onText, facts, box, problemId, onLeave }: FilterBoxProps) {
  const { draft, type, send } = useDraft(text, onText);
  const [caret, setCaret] = useState(0);
  const [isOpen, setOpen] = useState(false);
  /** By an arrow: also where nothing is begun yet. */
  const [isAsked, setAsked] = useState(false);
  const [active, setActive] = useState(-1);
  const [known, setKnown] = useState(noFacts);
  const wantedCaret = useRef<number | null>(null);
  const listId = useId();
  const possible = useMemo(() => suggest(draft, caret, known), [draft, caret, known]);
  const begun = draft.slice(0, caret);
  // Between two words the list below is what one wants to see.
  const all = isOpen && (isAsked || draft === "" || /\S$/.test(begun)) ? possible : none;
  const chosen = all[active];

  useLayoutEffect(() => {
    if (wantedCaret.current === null) return;
    box.current?.setSelectionRange(wantedCaret.current, wantedCaret.current);
    wantedCaret.current = null;
  });

  const edit = (next: string, at: number) => {
    type(next);
    setCaret(at);
    setActive(-1);
    setAsked(false);
    setOpen(true);
  };
  const take = ({ from, to, insert }: Suggestion) => {
    const isWhole = !insert.endsWith(":") && to === draft.length;
    const put = isWhole ? `${insert} ` : insert;
    wantedCaret.current = from + put.length;
    edit(draft.slice(0, from) + put + draft.slice(to), from + put.length);
  };
  const close = () => {
    setOpen(false);
    setAsked(false);
    setActive(-1);
  };
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    const { key, shiftKey, nativeEvent } = event;
    if (nativeEvent.isComposing) return;
    const isListed = all.length > 0;
    const taken = chosen ?? (/[^\s:,]$/.test(begun) ? all[0] : undefined);
    if (key === "ArrowDown" && possible.length === 0) onLeave();
    else if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1;
      // One place between the last and the first: none.
      if (isListed) setActive(((active + 1 + step + all.length + 1) % (all.length + 1)) - 1);
      setOpen(true);
      setAsked(true);
    } else if (key === "Enter" && chosen) take(chosen);
    else if (key === "Enter") {
      send(draft);
      close();
    } else if (key === "Tab" && !shiftKey && isListed && taken) take(taken);
    else if (key === "Escape" && isListed) close();
    else if (key === "Escape") onLeave();
    else return;
    event.preventDefault();
  };
  return (
    <div className="queue-filter">
      <input
        ref={box}
        role="combobox"
        aria-label="Filter tasks"
        aria-autocomplete="list"
        aria-expanded={all.length > 0}
        aria-controls={listId}
        aria-activedescendant={chosen && `${listId}-${active}`}
        aria-invalid={problemId !== undefined}
        aria-describedby={problemId}
        placeholder="Filter: is:blocked agent:a7 label:ui age:>1h, or words"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={draft}
        onChange={({ target }) => edit(target.value, target.selectionStart ?? target.value.length)}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
        onFocus={() => {
          setKnown(facts());
          setOpen(true);
        }}
        onBlur={() => {
          close();
          send(draft);
        }}
        onKeyDown={press}
      />
      {draft !== "" && (
        <button
          type="button"
          className="plain small queue-clear"
          aria-label="Clear the filter"
          onClick={() => {
            type("");
            send("");
            box.current?.focus();
          }}
        >
          ×
        </button>
      )}
      <Suggestions id={listId} all={all} active={active} onTake={take} />
    </div>
  );
}

interface SuggestionsProps {
  id: string;
  all: readonly Suggestion[];
  active: number;
  onTake: (suggestion: Suggestion) => void;
}

/** The focus stays in the box, which says which one is active. */
function Suggestions({ id, all, active, onTake }: SuggestionsProps) {
  return (
    <div
      id={id}
      role="listbox"
      tabIndex={-1}
      aria-label="Suggestions"
      className="queue-suggestions"
      hidden={all.length === 0}
    >
      {all.map((suggestion, at) => (
        <div
          key={suggestion.label}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === active}
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <code>{suggestion.label}</code> <span className="quiet small cut">{suggestion.help}</span>
        </div>
      ))}
    </div>
  );
}
