// Three sides of one task: the store now, the file now, and what the file's copy was made from. What only the file changed is an
// edit; what only the store changed is written; what both changed is a conflict, which the later one wins and everybody hears of.
// Who holds a task, and what follows from that, the store alone decides: the file can only ask.

import { id as idField } from "../../contract/fields.js";
import type { WireTask } from "../../contract/shapes.js";
import type { BaseTask } from "./base.js";
import { type Dialect, type Raw, type Stage, stageOfWord, stageShown, valueIn } from "./dialect.js";
import { type Editable, editable, fixed, inEntry, inStore, means, resultIn, same } from "./fields.js";

export interface Sides {
  task: WireTask;
  /** As it stands in the file. */
  entry: Raw;
  /** What the file's copy had; null: nothing that we wrote. */
  origin: Raw | null;
  /** What we wrote last. */
  base: BaseTask | undefined;
  /** What was taken from the file since then. */
  taken: Raw | undefined;
  dialect: Dialect;
  /** The task was made from this very entry: only its state is left to be decided. */
  isNew?: boolean;
  /** By the store's clock. */
  now: number;
  /** When the file was saved, and when the store's field was edited. */
  savedAt: number;
  editedAt(field: Editable): number;
}

export interface Conflict {
  field: string;
  base: unknown;
  file: unknown;
  store: unknown;
  taken: "file" | "store";
}

/** Whose claim an entry speaks of. */
export interface Holder {
  sessionId: string;
  epoch?: number;
  agentType?: string;
}

/** An end that the file tells of. */
interface End {
  by: Holder | null;
  isNew: boolean;
  /** Nothing that we wrote came before it: it happened before we came. */
  isFirst: boolean;
}

export type StateEdit =
  | ({ to: "completed"; result: unknown } & End)
  | ({ to: "failed"; error: string | null } & End)
  | { to: "claimed"; by: Holder }
  | { to: "renewed"; by: Holder }
  | { to: "cancelled" | "retried" };

export interface Decision {
  /** For `tasks.update`, each field by the name that it has there. */
  patch: Partial<Record<Editable, unknown>>;
  conflicts: Conflict[];
  /** Edits of what is not the file's to change. */
  refusals: { field: string; message: string; file: unknown; store: unknown }[];
  state: StateEdit | null;
}

/** A session of our own, for what nobody holds. */
export const ownSession = "tasks-json";

export function decide(sides: Sides): Decision {
  const { patch, conflicts } = sides.isNew
    ? { patch: retriesLeft(sides), conflicts: [] }
    : decideFields(sides);
  const decided = decideState(sides);
  const state = "refused" in decided ? null : decided.edit;
  const refusals = "refused" in decided ? [refusedStatus(sides, decided.refused)] : [];
  // With the end come a result and an error; with another try they go.
  const isTold = state?.to === "completed" || state?.to === "failed" || state?.to === "retried";
  return { patch, conflicts, state, refusals: [...refusals, ...(isTold ? [] : fixedEdits(sides))] };
}

/** No operation sets how often a task was tried before it came here; that it may be tried so much less often says the same. */
function retriesLeft({ task, entry, dialect }: Sides): Decision["patch"] {
  const count = valueIn(entry, "retryCount", dialect);
  const stage = stageOfWord(valueIn(entry, "status", dialect) ?? "pending");
  const isOpen = stage === "pending" || stage === "in_progress";
  if (!isOpen || !Number.isSafeInteger(count) || (count as number) <= 0) return {};
  return { maxRetries: Math.max(0, task.maxRetries - (count as number)) };
}

function decideFields(sides: Sides): Pick<Decision, "patch" | "conflicts"> {
  const { task, entry, origin, dialect, savedAt, editedAt } = sides;
  const conflicts: Conflict[] = [];
  const taken = new Set<Editable>();
  for (const field of editable) {
    const file = inEntry(entry, field, dialect);
    if (file === undefined || means(entry, field, task, dialect)) continue;
    const before = origin && inEntry(origin, field, dialect);
    if (origin && sameOrNothing(file, before)) continue;
    if (!isEditedInStore(sides, field)) {
      taken.add(field);
      continue;
    }
    const winner = savedAt >= editedAt(field) ? "file" : "store";
    if (winner === "file") taken.add(field);
    conflicts.push({ field, base: before, file, store: inStore(task, field), taken: winner });
  }
  return { patch: patchOf(sides, taken), conflicts };
}

/** A field that an entry lacks was empty. */
const sameOrNothing = (a: unknown, b: unknown) =>
  same(a ?? null, b ?? null) || (Array.isArray(a) && a.length === 0 && (b ?? null) === null);

/** By somebody else than the file itself. */
function isEditedInStore({ task, origin, base, taken, dialect }: Sides, field: Editable): boolean {
  if (taken && means(taken, field, task, dialect)) return false;
  if (!origin) return true;
  if (field === "priority" && base && origin === base.entry) return task.priority !== base.priority;
  return !sameOrNothing(inStore(task, field), inEntry(origin, field, dialect));
}

/** Where a file has one text for both, it is what the agent is told, and the description if there is one. */
function patchOf({ task, entry, dialect }: Sides, taken: ReadonlySet<Editable>): Decision["patch"] {
  const value = (field: Editable) =>
    taken.has(field) ? inEntry(entry, field, dialect) : inStore(task, field);
  const patch: Decision["patch"] = {};
  for (const field of taken) patch[field] = value(field);
  if (!taken.has("description") && !taken.has("prompt")) return patch;
  const [description, prompt] = [value("description"), value("prompt")];
  patch.prompt = prompt ?? description;
  delete patch.description;
  if (prompt !== null || task.description !== null) patch.description = description;
  return patch;
}

function fixedEdits({ task, entry, origin, dialect }: Sides): Decision["refusals"] {
  return fixed.flatMap((field) => {
    const file = inEntry(entry, field, dialect);
    const isEdited = file !== undefined && !means(entry, field, task, dialect);
    if (!isEdited || (origin && sameOrNothing(file, inEntry(origin, field, dialect)))) return [];
    const message =
      field === "parentId"
        ? "A task keeps its parent."
        : `${field} can only change together with the status.`;
    return [{ field, message, file, store: inStore(task, field) }];
  });
}

function refusedStatus({ task, entry, dialect }: Sides, message: string): Decision["refusals"][number] {
  const file = { status: valueIn(entry, "status", dialect), by: holderIn(entry, dialect)?.sessionId };
  return { field: "status", message, file, store: task.state };
}

type Decided = { edit: StateEdit | null } | { refused: string };

function decideState(sides: Sides): Decided {
  const { task, entry, origin, dialect } = sides;
  const word = valueIn(entry, "status", dialect);
  const to = word === undefined ? stageShown(task.state, dialect) : stageOfWord(word);
  const now = stageShown(task.state, dialect);
  const before = origin && stageOfWord(valueIn(origin, "status", dialect));
  if (to === undefined) {
    const isOld = origin && same(word, valueIn(origin, "status", dialect));
    return isOld ? { edit: null } : { refused: `${JSON.stringify(word)} is no state.` };
  }
  if (to === now || to === before) return decideClaim(sides, to);
  switch (to) {
    case "completed":
    case "failed":
      return ending(sides, to);
    case "cancelled":
      return isOver(task) ? { refused: `It is ${task.state} already.` } : { edit: { to: "cancelled" } };
    case "in_progress":
      return beginning(sides);
    case "pending":
      return reopening(sides);
  }
}

const submittedAlready = "It is submitted, and completed when its change has landed.";

const isOver = ({ state }: WireTask) => state === "completed" || state === "failed" || state === "cancelled";

/** Whose claim an entry tells of, with the epoch that we wrote there. */
function holderIn(entry: Raw, dialect: Dialect): Holder | null {
  const claim = valueIn(entry, "claim", dialect) as Raw | null | undefined;
  const told = valueIn(entry, "claimedBy", dialect);
  const claimed = typeof claim === "object" && claim !== null ? claim : {};
  const sessionId = told === undefined ? claimed.sessionId : told;
  if (typeof sessionId !== "string" || sessionId === "") return null;
  const isSame = claimed.sessionId === sessionId && Number.isSafeInteger(claimed.epoch);
  const { agentType } = claimed;
  const isTyped = claimed.sessionId === sessionId && typeof agentType === "string" && agentType !== "";
  return {
    sessionId,
    ...(isSame ? { epoch: claimed.epoch as number } : {}),
    ...(isTyped ? { agentType } : {}),
  };
}

/** The claim that the copy had counts where the entry has none any more: many programs remove it with the end. */
function speaker({ entry, origin, dialect }: Sides): { by: Holder | null; isNew: boolean } {
  const before = origin && holderIn(origin, dialect);
  const by = holderIn(entry, dialect) ?? before;
  if (by && before && by.sessionId === before.sessionId) return { by: { ...before, ...by }, isNew: false };
  return { by, isNew: by !== null };
}

function ending(sides: Sides, to: "completed" | "failed"): Decided {
  const { task, entry, origin, dialect } = sides;
  if (isOver(task)) return { refused: `It is ${task.state} already.` };
  if (task.state === "submitted") return { refused: submittedAlready };
  const { by, isNew } = speaker(sides);
  if (by === null && task.claim && task.claim.sessionId !== ownSession) {
    const { sessionId, expiresAt } = task.claim;
    return { refused: `${sessionId} holds it until ${expiresAt}, which this copy of the file did not know.` };
  }
  const end: End = { by, isNew, isFirst: origin === null };
  if (to === "completed") {
    return { edit: { to, ...end, result: resultIn(valueIn(entry, "result", dialect)) } };
  }
  const error = valueIn(entry, "error", dialect);
  const told = typeof error === "string" ? error : JSON.stringify(error);
  return { edit: { to, ...end, error: error ? told : null } };
}

function beginning(sides: Sides): Decided {
  const { task, entry, origin, dialect } = sides;
  if (isOver(task)) return { refused: `It is ${task.state} already.` };
  if (task.state === "submitted") return { refused: submittedAlready };
  const by = holderIn(entry, dialect);
  if (!by) return { refused: "It says in progress, but not by whom: a claim needs a session." };
  const endedAt = instantIn(entry, "expiresAt", dialect);
  if (endedAt !== null && endedAt <= sides.now) {
    const when = new Date(endedAt).toISOString();
    // Of a time before we came, such a claim is no more than history.
    return origin ? { refused: `The requested claim expired at ${when}.` } : { edit: null };
  }
  const problem = sessionProblem(by);
  return problem ? { refused: problem } : { edit: { to: "claimed", by } };
}

function sessionProblem({ sessionId }: Holder): string | null {
  const { error } = idField().safeParse(sessionId);
  return error ? `Session '${sessionId.slice(0, 100)}' ${error.issues[0]!.message}.` : null;
}

function reopening({ task, origin }: Sides): Decided {
  if (task.claim) return { refused: `${task.claim.sessionId} holds it; dibs release gives it back.` };
  if (task.state === "awaiting_response") return { refused: "It waits for an answer; dibs answer gives it." };
  if (task.state === "submitted") return { refused: `${submittedAlready} dibs withdraw queues it again.` };
  if (task.state === "completed") return { refused: "It is already completed. Add a new task instead." };
  // Without a base nobody can tell an old file from a wish to try again.
  return origin ? { edit: { to: "retried" } } : { refused: `It is ${task.state} already.` };
}

/** The state is the store's or was said before; the claim may be asked for or renewed, but not taken from somebody else. */
function decideClaim(sides: Sides, to: Stage): Decided {
  const { task, entry, origin, dialect } = sides;
  const by = holderIn(entry, dialect);
  const before = origin && holderIn(origin, dialect);
  if (!by || to !== "in_progress") return { edit: null };
  const isOld = by.sessionId === before?.sessionId;
  if (!task.claim) return isOld || task.state !== "queued" ? { edit: null } : beginning(sides);
  if (by.sessionId !== task.claim.sessionId) {
    return isOld ? { edit: null } : { refused: `${task.claim.sessionId} holds it, not ${by.sessionId}.` };
  }
  const beat = instantIn(entry, "lastHeartbeat", dialect);
  const last = Math.max(
    instantIn(origin ?? {}, "lastHeartbeat", dialect) ?? 0,
    Date.parse(task.claim.lastHeartbeat),
  );
  return { edit: beat !== null && beat > last ? { to: "renewed", by: { ...before, ...by } } : null };
}

function instantIn(entry: Raw, name: "lastHeartbeat" | "expiresAt", dialect: Dialect): number | null {
  const claim = valueIn(entry, "claim", dialect) as Raw | null | undefined;
  const told = claim?.[name];
  const ms = typeof told === "string" ? Date.parse(told) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
