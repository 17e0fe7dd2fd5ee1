// All tasks of the org in short, kept true by the stream: one index for every view that searches, sorts or draws them. It is made
// when a view first asks, and stays.

import { useSyncExternalStore } from "react";
import { TaskIndex } from "../../../src/client/view/rows.js";
import { dibs } from "./dibs.js";
import { stream } from "./stream.js";

let index: TaskIndex | null = null;

export function taskIndex(): TaskIndex {
  if (index) return index;
  const made = new TaskIndex(dibs, { project: "*" });
  stream.onEvent((event) => made.apply(event));
  stream.onReset(() => made.reset());
  const look = () => made.setActive(!document.hidden);
  document.addEventListener("visibilitychange", look);
  look();
  index = made;
  return made;
}

/** The index, drawn anew when it changes. */
export function useTaskIndex(): TaskIndex {
  const own = taskIndex();
  useSyncExternalStore(
    (listener) => own.subscribe(listener),
    () => own.version,
  );
  return own;
}
