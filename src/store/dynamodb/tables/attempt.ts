import { keyOf } from "../../../core/changes.js";
import type { Attempt } from "../../../core/claim.js";
import type { Task } from "../../../core/task.js";
import type { ClaimFilter } from "../../../core/view.js";
import { attemptBody, toAttempt } from "../../attempt-body.js";
import { matchesClaim } from "../../filters.js";
import type { Claims } from "../claims.js";
import { endOf, type Place, type Write } from "../items.js";
import { type OrgKeys, ordered, taskName } from "../keys.js";
import { first } from "../listing.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";
import * as task from "./task.js";

type Named = Pick<Task, "project" | "id">;

const prefix = "ATTEMPT#";
const place = (keys: OrgKeys, { project, id }: Named, epoch: number): Place =>
  keys.at("tasks", prefix + ordered(epoch), `TASK#${taskName(project, id)}`);

const decode = decoder("attempt", (data): Attempt => {
  const { project, taskId, epoch, sessionId, releasedAt, ...body } = JSON.parse(data);
  return toAttempt(project, taskId, [epoch, sessionId, releasedAt, body]);
});

export function write(keys: OrgKeys, attempt: Attempt): Write {
  const { project, taskId, epoch, sessionId, releasedAt } = attempt;
  const row = { project, taskId, epoch, sessionId, releasedAt, ...JSON.parse(attemptBody(attempt)) };
  return { ...place(keys, { project, id: taskId }, epoch), data: JSON.stringify(row) };
}

export const find = (keys: OrgKeys, reader: Reader, named: Named, epoch: number): Attempt | undefined =>
  reader.row(place(keys, named, epoch), { decode });

/** The newest first. A task has at most as many as its epoch. */
export function ofTask(keys: OrgKeys, reader: Reader, of: Task, limit: number): Attempt[] {
  const found: Attempt[] = [];
  for (let epoch = of.epoch; epoch > 0 && found.length < limit; epoch--) {
    const attempt = find(keys, reader, of, epoch);
    if (attempt) found.push(attempt);
  }
  return found;
}

/** Of tasks without a claim that were lost, the last ones first. */
export function listLost(keys: OrgKeys, reader: Reader, claims: Claims, filter: ClaimFilter): Attempt[] {
  const attempts = [...task.lost(keys, reader)]
    .filter(({ project, id }) => !claims.of(keyOf(project, id)))
    .map((of) => find(keys, reader, of, of.epoch));
  reader.settle();
  const found = attempts.filter((attempt) => attempt !== undefined && matchesClaim(filter, attempt));
  return first(
    (found as Attempt[]).sort((a, b) => b.releasedAt - a.releasedAt || (a.taskId < b.taskId ? -1 : 1)),
    filter.limit,
  );
}

export const check = { decode, range: { from: prefix, to: endOf(prefix) } };
