// Whether what processes have seen can be the history of one correct store. Knows nothing of how Dibs works inside: it reads what
// each process has recorded about its calls, and the log of events as a reader gets it at the end.

/** One call of one process. Without `end`, nobody has seen how it ended: the process was killed, or the answer was lost. */
export interface Call {
  process: string;
  /** Such as `tasks.claim`. */
  call: string;
  input: Record<string, unknown>;
  /** Of a clock that all processes share, in any unit. */
  start: number;
  end?: number;
  // biome-ignore lint/suspicious/noExplicitAny: each call has its own answer.
  answer?: any;
  /** The code of a refusal. Nothing has changed. */
  refusal?: string;
  /** Acts once, however often it is called. */
  key?: string;
}

export interface LogEvent {
  seq: number;
  type: string;
  taskId: string | null;
  sessionId: string | null;
  epoch: number | null;
  data: Record<string, unknown>;
  /** When it was committed, by the clock of the calls; absent: not known. */
  committedAt?: number;
}

/** What one reader received, from after a number on, until its connection ended. */
export interface Stream {
  reader: string;
  after: number;
  events: Pick<LogEvent, "seq" | "type" | "taskId">[];
}

export interface TaskAtEnd {
  id: string;
  state: string;
  dependsOn: string[];
  result: { output: string } | null;
  /** Units of resources, never edited. */
  uses?: Record<string, number>;
}

export interface ResourceAtEnd {
  id: string;
  capacity: number | null;
  inUse: number;
}

export interface History {
  calls: Call[];
  log: LogEvent[];
  streams: Stream[];
  tasks: TaskAtEnd[];
  /** Their capacity was always the same. */
  resources?: ResourceAtEnd[];
  /** Sessions whose every call is recorded. Absent: all that appear in calls. */
  recorded?: ReadonlySet<string>;
}

/** Each thing that no correct store does, as a sentence; empty if the history is possible. */
export function impossible(history: History): string[] {
  const broken: string[] = [];
  checkLog(history, broken);
  const lives = livesOf(history.log, broken);
  checkClaims(history, lives, broken);
  checkHolders(history, lives, broken);
  checkEnds(history, lives, broken);
  checkAcknowledged(history, broken);
  checkOrder(history, broken);
  checkKeys(history, broken);
  checkStreams(history, broken);
  checkResources(history, broken);
  return broken;
}

function checkLog({ log }: History, broken: string[]): void {
  for (const [at, { seq }] of log.entries()) {
    if (seq !== at + 1) {
      broken.push(`the log has event ${seq} where ${at + 1} was expected`);
      return;
    }
  }
}

/** One attempt, as the log shows it. */
interface Holding {
  sessionId: string | null;
  epoch: number;
  from: LogEvent;
  /** The event that ended it. */
  end: LogEvent | null;
}

interface Life {
  holdings: Map<number, Holding>;
  completedBy: LogEvent[];
}

const ends = new Set([
  "task:completed",
  "task:submitted",
  "task:failed",
  "task:retry-scheduled",
  "task:released",
  "task:claim-expired",
  "task:claim-orphaned",
  "task:cancelled",
]);

function livesOf(log: readonly LogEvent[], broken: string[]): Map<string, Life> {
  const lives = new Map<string, Life>();
  const holders = new Map<string, Holding>();
  for (const event of log) {
    const { type, taskId, sessionId, epoch, seq } = event;
    if (taskId === null) continue;
    const life: Life = lives.get(taskId) ?? { holdings: new Map(), completedBy: [] };
    lives.set(taskId, life);
    const holder = holders.get(taskId);
    if (type === "task:claimed" && epoch !== null) {
      if (holder) {
        broken.push(
          `${taskId} has two holders at event ${seq}: ${name(holder)} and ${name({ sessionId, epoch })}`,
        );
      }
      const last = Math.max(0, ...life.holdings.keys());
      if (epoch <= last) broken.push(`${taskId} was claimed with epoch ${epoch} after epoch ${last}`);
      if (life.completedBy.length > 0) broken.push(`${taskId} was claimed after it was completed`);
      const holding: Holding = { sessionId, epoch, from: event, end: null };
      life.holdings.set(epoch, holding);
      holders.set(taskId, holding);
    }
    if (type === "task:completed") {
      life.completedBy.push(event);
      if (life.completedBy.length > 1) broken.push(`${taskId} was completed twice`);
    }
    if (holder && ends.has(type)) {
      if (epoch !== null && epoch !== holder.epoch) {
        broken.push(`event ${seq} ends epoch ${epoch} of ${taskId}, which ${name(holder)} holds`);
      }
      holder.end = event;
      holders.delete(taskId);
    }
  }
  return lives;
}

const name = ({ sessionId, epoch }: { sessionId: string | null; epoch: number }) =>
  `${sessionId} (epoch ${epoch})`;

const isAcknowledged = (call: Call) => call.answer !== undefined;
/** It can have happened. */
const isPossible = (call: Call) => call.refusal === undefined;

const claimed = (call: Call) =>
  ["tasks.claim", "tasks.claimNext"].includes(call.call) ? (call.answer?.claim ?? null) : null;

/** Every claim that was answered is in the log, with this session; no claim is there that no process asked for. */
function checkClaims({ calls, recorded }: History, lives: Map<string, Life>, broken: string[]): void {
  const sessions = recorded ?? new Set(calls.map(({ input }) => String(input.sessionId)));
  const owners = new Map<string, string>();
  for (const call of calls) {
    const claim = claimed(call);
    if (!claim) continue;
    const { taskId, epoch, sessionId } = claim;
    const key = `epoch ${epoch} of ${taskId}`;
    const owner = owners.get(key) ?? sessionId;
    if (owner !== sessionId) broken.push(`${key} was given to ${owner} and to ${sessionId}`);
    owners.set(key, sessionId);
    const holding = lives.get(taskId)?.holdings.get(epoch);
    if (!holding) broken.push(`${key} was given to ${sessionId}, and the log has no such claim`);
    else if (holding.sessionId !== sessionId)
      broken.push(`${key} was given to ${sessionId}, and the log says ${holding.sessionId}`);
  }
  // What a key was given once is all that it was ever given.
  const known = new Set(calls.filter((call) => claimed(call) !== null).map(({ key }) => key));
  known.delete(undefined);
  const unanswered = calls
    .filter((call) => /^tasks\.claim/.test(call.call) && isPossible(call) && !isAcknowledged(call))
    .filter(({ key }) => !known.has(key));
  const canBe = ({ input, start }: Call, { sessionId, from: { committedAt } }: Holding) =>
    input.sessionId === sessionId && (committedAt === undefined || start < committedAt);
  for (const [taskId, { holdings }] of lives) {
    for (const holding of holdings.values()) {
      const { sessionId, epoch } = holding;
      if (sessionId === null || !sessions.has(sessionId)) continue;
      if (unanswered.some((call) => canBe(call, holding))) continue;
      if (!owners.has(`epoch ${epoch} of ${taskId}`))
        broken.push(`${sessionId} holds epoch ${epoch} of ${taskId}, which it was never given`);
    }
  }
}

const ofHolder = new Set([
  "tasks.start",
  "tasks.heartbeat",
  "tasks.progress",
  "tasks.ask",
  "tasks.complete",
  "tasks.fail",
  "tasks.release",
]);
/** A leader releases the claim of another session, whose own release is then answered as a repetition. */
const isForced = ({ input }: Call) => input.force === true;
const forcedIn = (calls: readonly Call[]) =>
  new Set(calls.filter((call) => isForced(call) && isPossible(call)).map(({ input }) => input.taskId));
/** They answer like the first time when they are repeated after the end. */
const closing = new Set(["tasks.complete", "tasks.fail", "tasks.release"]);

/** An accepted call of a holder is no later than the claim of its successor, by the clock of all processes. */
function checkHolders({ calls }: History, lives: Map<string, Life>, broken: string[]): void {
  /** By task: epochs, with the time at which it was known that they had been given. */
  const given = new Map<string, { epoch: number; at: number }[]>();
  for (const call of calls) {
    const claim = claimed(call);
    if (!claim || call.end === undefined) continue;
    const known = given.get(claim.taskId) ?? [];
    known.push({ epoch: claim.epoch, at: call.end });
    given.set(claim.taskId, known);
  }
  for (const call of calls) {
    if (!ofHolder.has(call.call) || !isAcknowledged(call) || isForced(call)) continue;
    const { taskId, sessionId, epoch } = call.input as { taskId: string; sessionId: string; epoch: number };
    const holding = lives.get(taskId)?.holdings.get(epoch);
    if (!holding || holding.sessionId !== sessionId) {
      broken.push(`${call.call} of ${name({ sessionId, epoch })} on ${taskId} was accepted without a claim`);
      continue;
    }
    if (closing.has(call.call)) continue;
    const later = given.get(taskId)?.find((other) => other.epoch > epoch && other.at < call.start);
    // A repeated call with a key answers for the first one.
    if (later && !(call.key !== undefined && wasTriedBefore(calls, call))) {
      broken.push(
        `${call.call} of ${name({ sessionId, epoch })} on ${taskId} was accepted after epoch ${later.epoch} was given`,
      );
    }
  }
}

const endOf: Record<string, (event: LogEvent) => boolean> = {
  "tasks.complete": ({ type }) => type === "task:completed" || type === "task:submitted",
  "tasks.fail": ({ type }) => type === "task:failed" || type === "task:retry-scheduled",
  "tasks.release": ({ type }) => type === "task:released",
};

/** What was reported is what ended the attempt; what was refused is not. */
function checkEnds({ calls, tasks }: History, lives: Map<string, Life>, broken: string[]): void {
  const atEnd = new Map(tasks.map((task) => [task.id, task]));
  const reports = new Map<string, Call[]>();
  const forced = forcedIn(calls);
  for (const call of calls) {
    if (!closing.has(call.call) || isForced(call)) continue;
    const { taskId, sessionId, epoch } = call.input as { taskId: string; sessionId: string; epoch: number };
    const key = `${call.call} ${taskId} ${sessionId} ${epoch}`;
    reports.set(key, [...(reports.get(key) ?? []), call]);
    if (!isAcknowledged(call)) continue;
    const end = lives.get(taskId)?.holdings.get(epoch)?.end;
    if (!end || !endOf[call.call]!(end)) {
      broken.push(`${call.call} of ${name({ sessionId, epoch })} on ${taskId} was accepted, and is lost`);
      continue;
    }
    if (call.call !== "tasks.complete" || end.type !== "task:completed") continue;
    const task = atEnd.get(taskId);
    if (task && task.state !== "completed") {
      broken.push(`${taskId} was completed, and is ${task.state} at the end`);
    }
    const possible = reports.get(key)!.map((each) => outputOf(each.input.result));
    if (task?.state === "completed" && !possible.includes(task.result?.output)) {
      broken.push(`${taskId} was completed with ${possible[0]}, and has ${task.result?.output}`);
    }
  }
  for (const [taskId, { holdings }] of lives) {
    for (const { sessionId, epoch, end } of holdings.values()) {
      const call = Object.keys(endOf).find((each) => end && endOf[each]!(end));
      const tried = call && reports.get(`${call} ${taskId} ${sessionId} ${epoch}`);
      const byLeader = call === "tasks.release" && forced.has(taskId);
      if (tried && !tried.some(isPossible) && !byLeader)
        broken.push(
          `${call} of ${name({ sessionId: sessionId!, epoch })} on ${taskId} was refused, and happened`,
        );
    }
  }
}

function outputOf(result: unknown): string | undefined {
  if (typeof result === "string") return result;
  return (result as { output?: string } | undefined)?.output;
}

/** Changes that are no end of an attempt: their events are in the log. */
function checkAcknowledged({ calls, log, tasks }: History, broken: string[]): void {
  const atEnd = new Map(tasks.map((task) => [task.id, task]));
  const has = new Set(log.map((event) => eventKey(event.type, event)));
  const count = new Map<string, number>();
  for (const { type, taskId } of log) {
    if (type === "task:created") count.set(taskId!, (count.get(taskId!) ?? 0) + 1);
  }
  for (const [taskId, times] of count)
    if (times > 1) broken.push(`the id ${taskId} was given ${times} times`);
  for (const call of calls) {
    if (!isAcknowledged(call)) continue;
    for (const taskId of createdBy(call)) {
      if (!atEnd.has(taskId)) broken.push(`${taskId} was created, and is not there at the end`);
    }
    for (const key of expectedEvents(call))
      if (!has.has(key)) broken.push(`${call.call} was acknowledged, and its event is lost: ${key}`);
  }
  const position = new Map<string, number>();
  for (const { seq, type, taskId } of log) if (type === "task:completed") position.set(taskId!, seq);
  for (const { seq, type, taskId } of log) {
    if (type !== "task:claimed") continue;
    for (const id of atEnd.get(taskId!)?.dependsOn ?? []) {
      if (!((position.get(id) ?? Number.POSITIVE_INFINITY) < seq))
        broken.push(`${taskId} was claimed at event ${seq}, before ${id} was completed`);
    }
  }
}

function createdBy({ call, answer }: Call): string[] {
  if (call === "tasks.create") return [answer.task.id];
  if (call === "tasks.batch") return answer.tasks.map((task: { id: string }) => task.id);
  return [];
}

type Of = { taskId?: unknown; epoch?: unknown };
const eventKey = (type: string, { taskId, epoch }: Of) => `${type} ${taskId} ${epoch ?? "-"}`;

function expectedEvents(call: Call): string[] {
  const { input } = call;
  switch (call.call) {
    case "tasks.create":
    case "tasks.batch":
      return createdBy(call).map((taskId) => eventKey("task:created", { taskId }));
    case "tasks.start":
      return [eventKey("task:started", input)];
    case "tasks.progress":
      return [eventKey("task:progress", input)];
    case "tasks.ask":
      return [eventKey("task:awaiting-response", input)];
    case "tasks.cancel":
      return [];
    default: {
      const claim = claimed(call);
      return claim ? [eventKey("task:claimed", claim)] : [];
    }
  }
}

/**
 * If one call had ended before another began, its event comes first. Only calls whose event is certain: a repeated call answers
 * for the first one.
 */
function checkOrder({ calls, log }: History, broken: string[]): void {
  const seqs = new Map<string, number>();
  for (const event of log) {
    const key = eventKey(event.type, event);
    if (!seqs.has(key)) seqs.set(key, event.seq);
  }
  const placed: { start: number; end: number; seq: number; call: Call }[] = [];
  const forced = forcedIn(calls);
  const seen = new Set<string>();
  for (const call of [...calls].sort((a, b) => a.start - b.start)) {
    // Another call of the holder may have started the task before.
    if (!isAcknowledged(call) || call.end === undefined || call.call === "tasks.start") continue;
    if (call.call === "tasks.release" && forced.has(call.input.taskId)) continue;
    for (const key of [...expectedEvents(call), ...closingEvent(call, seqs)]) {
      const seq = seqs.get(key);
      if (seq !== undefined && !seen.has(key)) placed.push({ start: call.start, end: call.end, seq, call });
      seen.add(key);
    }
  }
  const byEnd = [...placed].sort((a, b) => a.end - b.end);
  let ended = 0;
  let latest = byEnd[0];
  for (const each of placed) {
    for (; ended < byEnd.length && byEnd[ended]!.end < each.start; ended++) {
      if (ended === 0 || byEnd[ended]!.seq > latest!.seq) latest = byEnd[ended];
    }
    // A repetition can have been carried out earlier than it was asked for, never later.
    if (ended > 0 && latest!.seq > each.seq && !wasTriedBefore(calls, each.call)) {
      broken.push(
        `event ${latest!.seq} (${latest!.call.call}) was acknowledged before ${each.call.call} began, whose event is ${each.seq}`,
      );
    }
  }
}

function closingEvent({ call, input, answer }: Call, seqs: ReadonlyMap<string, number>): string[] {
  if (call === "tasks.complete") {
    // Where work lands, it is completed later, by the lander.
    const submitted = eventKey("task:submitted", input);
    return [seqs.has(submitted) ? submitted : eventKey("task:completed", input)];
  }
  if (call === "tasks.release") return [eventKey("task:released", input)];
  if (call === "tasks.fail") {
    return [eventKey(answer.willRetry ? "task:retry-scheduled" : "task:failed", input)];
  }
  return [];
}

function wasTriedBefore(calls: readonly Call[], { call, input, start, key, answer }: Call): boolean {
  const isClaim = (name: string) => /^tasks\.claim/.test(name);
  return calls.some((other) => {
    const isAlike = other.call === call || (isClaim(call) && isClaim(other.call));
    if (other.start >= start || !isAlike || other.refusal !== undefined) return false;
    if (key !== undefined && other.key === key) return true;
    // What is held already is claimed again, by its id or as the next one.
    const isRenewal = call === "tasks.claim" || answer?.resumed === true;
    if (isClaim(call) && (key === undefined || isRenewal))
      return other.input.sessionId === input.sessionId && other.answer === undefined;
    if (key !== undefined) return false;
    return (
      other.input.taskId === input.taskId &&
      other.input.sessionId === input.sessionId &&
      other.input.epoch === input.epoch
    );
  });
}

/** A key acts once: all its answers are the first one's. */
function checkKeys({ calls }: History, broken: string[]): void {
  const answers = new Map<string, string>();
  for (const { key, call, answer } of calls) {
    if (key === undefined || answer === undefined) continue;
    const text = JSON.stringify([createdBy({ call, answer } as Call), answer.claim ?? null]);
    const first = answers.get(key) ?? text;
    if (first !== text) broken.push(`the key ${key} has acted twice: ${first} and ${text}`);
    answers.set(key, first);
  }
}

function checkStreams({ streams, log }: History, broken: string[]): void {
  for (const { reader, after, events } of streams) {
    let last = after;
    for (const { seq, type, taskId } of events) {
      if (seq !== last + 1) {
        broken.push(`reader ${reader} got event ${seq} ${seq <= last ? "again" : ""} after ${last}`);
        break;
      }
      last = seq;
      const inLog = log[seq - 1];
      if (!inLog || inLog.type !== type || inLog.taskId !== taskId)
        broken.push(`reader ${reader} got event ${seq} as ${type} of ${taskId}, which the log does not have`);
    }
  }
}

/** No grant exceeds a capacity, and units come back however a claim ends. */
function checkResources({ log, tasks, resources = [] }: History, broken: string[]): void {
  const usesOf = new Map(tasks.map(({ id, uses = {} }) => [id, uses]));
  for (const { id, capacity, inUse } of resources) {
    const holders = new Map<string, number>();
    const total = () => [...holders.values()].reduce((sum, units) => sum + units, 0);
    for (const { seq, type, taskId } of log) {
      const units = (taskId !== null && usesOf.get(taskId)?.[id]) || 0;
      if (taskId === null || units === 0) continue;
      if (type === "task:claimed") holders.set(taskId, units);
      if (ends.has(type)) holders.delete(taskId);
      if (total() > (capacity ?? Number.POSITIVE_INFINITY))
        broken.push(`${total()} of ${capacity} units of ${id} were in use at event ${seq}`);
    }
    if (inUse !== total())
      broken.push(`${inUse} units of ${id} are in use at the end, and claims hold ${total()}`);
  }
}
