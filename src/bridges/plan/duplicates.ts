// Tasks that cannot be told apart. In TASK blocks, a flat list, no title may come twice. In nested plans no two parts of the same
// parent may have the same title; elsewhere ("Write tests" under every feature) it is fine until somebody refers to it.

import type { At, PlanFormat, RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { quote } from "./words.js";

export function reportDuplicates(
  format: PlanFormat,
  tasks: readonly RawTask[],
  parentIds: ReadonlyMap<RawTask, string>,
  report: Report,
): void {
  const placeOf = (task: RawTask) => task.parent ?? parentIds.get(task);
  const scopeOf = format === "text" ? () => undefined : placeOf;
  const titleOf = ({ title, madeOf = title }: RawTask) => madeOf.toLowerCase() || undefined;
  for (const { task, first } of doubled(tasks, scopeOf, titleOf)) {
    const hint = format === "text" ? "Give each task its own title." : "Give each part its own title.";
    report.problem(task.at, `There is a task ${quote(task.title)} already, in ${lineOf(first)}.`, hint);
  }
  // In JSON a name is an id. A number that comes twice elsewhere is a slip of the pen: the resolver asks if it matters.
  if (format !== "json") return;
  for (const { task, first } of doubled(tasks, placeOf, ({ label }) => label)) {
    report.problem(
      task.at,
      `There is a task with the id ${quote(task.label!)} already, in ${lineOf(first)}.`,
      "Give each task its own id.",
    );
  }
}

const lineOf = ({ line }: At) => `line ${line}`;

/** Every task whose name another one in the same place has before it. */
function doubled<Place>(
  tasks: readonly RawTask[],
  placeOf: (task: RawTask) => Place,
  nameOf: (task: RawTask) => string | undefined,
): { task: RawTask; first: At }[] {
  const places = new Map<Place, Map<string, At>>();
  return tasks.flatMap((task) => {
    const name = nameOf(task);
    if (name === undefined) return [];
    const place = placeOf(task);
    const names = places.get(place) ?? new Map<string, At>();
    places.set(place, names);
    const first = names.get(name);
    if (first) return [{ task, first }];
    names.set(name, task.at);
    return [];
  });
}
