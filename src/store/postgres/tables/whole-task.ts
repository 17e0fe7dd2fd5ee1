// Tasks with all that belongs to them, for a whole copy.

import type { Lists, WholeTask } from "../../../core/view.js";
import { prefixed, type Row } from "../../columns.js";
import type { Statement } from "../statement.js";
import * as attempt from "./attempt.js";
import * as claim from "./claim.js";
import * as task from "./task.js";
import * as text from "./text.js";

export const list = (
  org: string,
  { afterOrdinal, limit }: Parameters<Lists["wholeTasks"]>[0],
): Statement => ({
  text: `SELECT ${task.columns},
      CASE WHEN x.no IS NOT NULL THEN json_build_array(${prefixed("x", text.columns)}) END,
      CASE WHEN c.no IS NOT NULL THEN json_build_array(${prefixed("c", claim.columns)}) END,
      (SELECT json_agg(json_build_array(t.project, t.id, ${attempt.columns}) ORDER BY a.epoch) FROM dibs.attempt a
        WHERE a.org = t.org AND a.no = t.no)
    FROM dibs.task t LEFT JOIN dibs.task_text x ON x.org = t.org AND x.no = t.no
    LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no
    WHERE t.org = $1 AND t.no > $2 ORDER BY t.no LIMIT $3`,
  values: [org, afterOrdinal, limit],
});

export function decode(row: Row): WholeTask {
  const [words, held, attempts] = row.slice(task.width) as (Row | null)[];
  return {
    task: task.decode(row),
    text: words ? text.decode(words) : undefined,
    claim: held ? claim.decode(held) : undefined,
    attempts: (attempts ?? []).map(attempt.decode),
  };
}
