import { useEffect, useState } from "react";
import type { TaskIndex } from "../../../../src/client/view/rows.js";
import { taskIndex } from "../../data/tasks.js";

/** A graph is too much to be thought over with every change of twenty thousand tasks. */
const calmMs = 500;

const lookAt = (index: TaskIndex) => ({ rows: index.rows(), progress: index.progress });

/** All tasks, seen anew twice a second at most. */
export function useCalmRows() {
  const index = taskIndex();
  const [seen, setSeen] = useState(() => lookAt(index));
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lookedAt = Number.NEGATIVE_INFINITY;
    const look = () => {
      timer = undefined;
      lookedAt = performance.now();
      setSeen(lookAt(index));
    };
    const off = index.subscribe(() => {
      timer ??= setTimeout(look, Math.max(0, lookedAt + calmMs - performance.now()));
    });
    look();
    return () => {
      off();
      clearTimeout(timer);
    };
  }, [index]);
  return seen;
}
