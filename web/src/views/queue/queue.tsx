// The queue: every task, how it stands and who has it. The address says which tasks and in which order (`q`, `sort`, `project`);
// the list keeps still under the cursor; what is listed or selected can be acted on at once.

import "./queue.css";
import { useCallback, useId, useMemo, useRef, useState } from "react";
import { registry } from "../../../../src/client/connect.js";
import { namesOf } from "../../../../src/client/view/facts.js";
import { matcher, parseFilter } from "../../../../src/client/view/filter.js";
import type { Progress } from "../../../../src/client/view/rows.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { LoadError } from "../../components/load-error.js";
import { storeNow } from "../../data/clock.js";
import { whyNot } from "../../data/me.js";
import { taskIndex } from "../../data/tasks.js";
import { useKeys } from "../../keys.js";
import { useParam, usePlace } from "../../router.js";
import { Bulk } from "./bulk.js";
import { Chips } from "./chips.js";
import { FilterBox } from "./filter-box.js";
import type { Question } from "./listing.js";
import { NewTask } from "./new-task.js";
import { formatSort, parseSort, type Sort } from "./order.js";
import { useSelection } from "./selection.js";
import { Legend, NothingListed, SortChoice, Status } from "./status.js";
import { Table } from "./table.js";
import { listing, type NameOf, useListing, useProgress } from "./use-listing.js";
import { usePrompts } from "./use-prompts.js";

const usual: Sort = { column: null, isReversed: false };

export function Queue() {
  const { project } = usePlace();
  const [text, setText] = useParam("q");
  const [sortText, setSortText] = useParam("sort");
  const filter = useMemo(() => parseFilter(text), [text]);
  const { isInPrompt, version, isCut } = usePrompts(filter, project);
  const question = useMemo((): Question => {
    const key = JSON.stringify([project, text, sortText, version]);
    return { key, project, filter, sort: parseSort(sortText) ?? usual, isInPrompt };
  }, [project, text, sortText, version, filter, isInPrompt]);
  const { listed, nameOf, projects } = useListing(question);
  const progress = useProgress();
  const selection = useSelection(JSON.stringify([project, text]));
  const [acting, setActing] = useState<{ rows: readonly WireTaskRow[]; which: string } | null>(null);
  const box = useRef<HTMLInputElement>(null);
  const toList = useRef<(() => void) | null>(null);
  const problemId = useId();

  const notAct = whyNotAct(question, progress, selection.chosen.size);
  const act = () => {
    if (notAct) return;
    const isChosen = selection.chosen.size > 0;
    const rows = isChosen ? [...selection.chosen.values()] : stillMatching(listed.order, question, nameOf);
    if (rows.length > 0) setActing({ rows, which: isChosen ? "selected" : "matching" });
  };
  const [isAdding, setAdding] = useState(false);
  const notAdd = whyNot(registry.tasks.create.role);
  useKeys({
    n: () => notAdd ?? setAdding(true),
    "/": () => box.current?.focus(),
    a: act,
    r: () => listing().release(),
  });

  const mistakes = problemsOf(question, sortText);
  const problems = [...mistakes, ...(isCut ? ["Only the first matches in prompts are listed."] : [])];
  const onReady = useCallback((focus: (() => void) | null) => {
    toList.current = focus;
  }, []);
  const onSort = useCallback((sort: Sort) => setSortText(formatSort(sort)), [setSortText]);
  const count = selection.chosen.size || listed.order.length;
  return (
    <div className="queue">
      <h1 className="only-read">Queue</h1>
      <div className="queue-bar">
        <FilterBox
          text={text}
          onText={setText}
          facts={() => ({ ...taskIndex().facts(), names: namesOf(taskIndex().rows(), nameOf) })}
          box={box}
          problemId={mistakes.length > 0 ? problemId : undefined}
          onLeave={() => (toList.current ? toList.current() : box.current?.blur())}
        />
        <button
          type="button"
          disabled={notAdd !== null}
          title={notAdd ?? "key: n"}
          onClick={() => setAdding(true)}
        >
          New task
        </button>
        <SortChoice sort={question.sort} onSort={onSort} />
        <button
          type="button"
          disabled={count === 0 || notAct !== null}
          onClick={act}
          title={notAct ?? "key: a"}
        >
          Act on {count.toLocaleString()} {selection.chosen.size > 0 ? "selected" : "matching"}…
        </button>
      </div>
      <div className="queue-second">
        <Chips filter={question.filter} counts={listed.counts} onFilter={setText} />
        <Status
          listed={listed}
          progress={progress}
          problems={problems}
          problemId={problemId}
          chosen={selection.chosen.size}
          onClear={selection.clear}
        />
      </div>
      <LoadError live={{ error: progress.error ?? undefined, reload: () => taskIndex().reset() }} />
      {listed.order.length > 0 ? (
        <Table
          listed={listed}
          question={listed.question ?? question}
          selection={selection}
          nameOf={nameOf}
          showsProject={project === "*" && projects > 1}
          onReady={onReady}
          onSort={onSort}
        />
      ) : (
        <NothingListed listed={listed} project={project} onClear={() => setText("")} />
      )}
      <Legend />
      {isAdding && <NewTask project={project} onClose={() => setAdding(false)} />}
      {acting && (
        <Bulk
          rows={acting.rows}
          which={acting.which}
          onClose={() => setActing(null)}
          onDone={() => {
            setActing(null);
            selection.clear();
          }}
        />
      )}
    </div>
  );
}

/** The list may still show some that do not match any more. */
function stillMatching(
  order: readonly WireTaskRow[],
  { filter, isInPrompt }: Question,
  nameOf: NameOf,
): WireTaskRow[] {
  const matches = matcher(filter, storeNow(), { nameOf, isInPrompt });
  return order.flatMap(({ project, id }) => {
    const row = taskIndex().get(project, id);
    return row && matches(row) ? [row] : [];
  });
}

/** What is not understood narrows nothing, and what is not read yet is not counted: neither is a base to act on. */
function whyNotAct({ filter }: Question, { complete }: Progress, chosen: number): string | null {
  const notAllowed = whyNot(registry.tasks.bulk.role);
  if (notAllowed) return notAllowed;
  if (filter.problems.length > 0) return "Fix the filter first: it has an error.";
  if (!complete && chosen === 0) return "Still loading: select some tasks, or wait until all are loaded.";
  return null;
}

function problemsOf({ filter }: Question, sortText: string): string[] {
  const messages = filter.problems.map(({ message }) => message);
  return parseSort(sortText) ? messages : [...messages, `sort=${sortText} is not known.`];
}
