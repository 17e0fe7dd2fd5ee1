// Events and attempts as one story: what a person reads on the timeline, in the order in which it happened.

import { duration } from "../../../../src/client/view/words.js";
import type { Attempt, DibsEvent } from "../../data/dibs.js";

export interface Entry {
  key: string;
  at: string;
  /** Who did it; null where nobody did. */
  who: string | null;
  what: string;
  tone?: "good" | "bad" | "wait" | "link" | "calm";
  /** Said by somebody: shown as text, folded where it is long. */
  text?: string | null;
  isError?: boolean;
  /** Another task that has to do with it. */
  taskId?: string | null;
  /** A time that is still to come, perhaps. */
  until?: string | null;
  /** It ended here. */
  attempt?: Attempt;
  /** What came when it was over. */
  late?: NonNullable<Attempt["lateResult"]>;
}

type Said = Omit<Entry, "key" | "at" | "who">;
type Data = DibsEvent["data"];

const textOf = (value: unknown) => (typeof value === "string" ? value : null);
const after = (word: string, ms: unknown) =>
  typeof ms === "number" && ms >= 1_000 ? `${word} after ${duration(ms)}` : word;

const why = (data: Data, usual: string) => {
  const reason = textOf(data.reason);
  return reason === null || reason === usual ? "" : `: ${reason.replaceAll("_", " ")}`;
};

/** What an event says; null for what others on the timeline say better. */
const sayings: Record<DibsEvent["type"], (data: Data, taskId: string | null) => Said | null> = {
  "task:created": () => ({ what: "created" }),
  "task:queued": () => null,
  "task:claimed": (data) => ({ what: after("claimed", data.waitedMs), tone: "link" }),
  "task:started": () => ({ what: "started", tone: "link" }),
  "task:progress": ({ note, percent }) => ({
    what: typeof percent === "number" ? `progress ${Math.round(percent)}%` : "progress",
    text: textOf(note),
  }),
  "task:awaiting-response": ({ question }) => ({ what: "asked", tone: "wait", text: textOf(question) }),
  "task:response-received": ({ response, waitedMs }) => ({
    what: after("answered", waitedMs),
    tone: "good",
    text: textOf(response),
  }),
  "task:usage": () => null,
  "task:overlap": ({ with: first, paths }, second) => ({
    what: `${first} and ${second} change the same files`,
    tone: "wait",
    text: Array.isArray(paths) ? paths.join(", ") : null,
  }),
  "resource:updated": () => null,
  "task:submitted": ({ submission, durationMs }) => ({
    what: after(`submitted ${submission}`, durationMs),
    tone: "good",
  }),
  "task:review-requested": ({ submission }) => ({
    what: `submission ${submission} waits for a review`,
    tone: "wait",
  }),
  "task:review-started": ({ submission }) => ({
    what: `review of submission ${submission} started`,
    tone: "link",
  }),
  "task:reviewed": ({ verdict, comment }) => ({
    what: verdict === "approve" ? "approved" : "changes requested",
    tone: verdict === "approve" ? "good" : "bad",
    text: textOf(comment),
  }),
  "task:landed": ({ commit, target }) => ({
    what: commit === null ? "completed without a change" : `landed on ${textOf(target)}`,
    tone: "good",
    text: textOf(commit),
  }),
  "task:returned": (data) => ({ what: `returned${why(data, "")}`, tone: "bad" }),
  "task:withdrawn": (data) => ({ what: `withdrawn${why(data, "")}` }),
  "task:completed": (data) => ({
    what: after("completed", data.durationMs) + why(data, "completed"),
    tone: "good",
  }),
  "task:failed": ({ error, durationMs }) => ({
    what: after("failed, no retry", durationMs),
    tone: "bad",
    text: textOf(error),
    isError: true,
  }),
  "task:retry-scheduled": ({ error, durationMs, retryAt }) => ({
    what: `${after("failed", durationMs)}, will be retried`,
    tone: "bad",
    text: textOf(error),
    isError: true,
    until: textOf(retryAt),
  }),
  "task:retried": ({ from }) => ({ what: `retried${textOf(from) ? `, it was ${textOf(from)}` : ""}` }),
  "task:cancelled": (data) => ({ what: `cancelled${why(data, "cancelled")}` }),
  "task:released": (data) => ({ what: `released${why(data, "released")}` }),
  "task:claim-expired": (data) => ({ what: `lost, the lease expired${why(data, "")}`, tone: "bad" }),
  "task:claim-orphaned": ({ cause }) => ({
    what: `lost, its session is dead${textOf(cause) ? `: ${textOf(cause)!.replaceAll("_", " ")}` : ""}`,
    tone: "bad",
  }),
  "task:unblocked": ({ by }) => ({ what: "unblocked", tone: "calm", taskId: textOf(by) }),
  "task:updated": ({ changed, archived }) => ({
    what:
      archived === true ? "archived" : Array.isArray(changed) ? `edited: ${changed.join(", ")}` : "edited",
  }),
  "notification:created": () => null,
  "notification:read": () => null,
  "session:registered": () => null,
  "session:ended": () => null,
  "project:updated": () => null,
  "token:created": () => null,
  "token:revoked": () => null,
};

/** An attempt is over with these; what was released as completed or failed says so itself. */
const endings: readonly DibsEvent["type"][] = [
  "task:completed",
  "task:submitted",
  "task:failed",
  "task:retry-scheduled",
  "task:cancelled",
  "task:released",
  "task:claim-expired",
  "task:claim-orphaned",
];

export interface Story {
  events: readonly DibsEvent[];
  attempts: readonly Attempt[];
  /** Events before the first of these are not known yet. */
  hasOlder: boolean;
  hasNewer: boolean;
}

export function entriesOf({ events, attempts, hasOlder, hasNewer }: Story): Entry[] {
  const endedAt = lastEndings(events);
  const byEpoch = new Map(attempts.map((attempt) => [attempt.epoch, attempt]));
  const entries: Entry[] = [];
  let claimed = null as { at: string; epoch: number | null; entry: Entry } | null;
  for (const event of events) {
    const { seq, type, at, actor, data, epoch, taskId } = event;
    // A claim that is started in one go is one thing to whoever reads it.
    if (type === "task:started" && claimed?.at === at && claimed.epoch === epoch) {
      claimed.entry.what = claimed.entry.what.replace("claimed", "claimed and started");
      continue;
    }
    const said = sayings[type](data, taskId);
    if (said === null) continue;
    const entry: Entry = { key: `e${seq}`, at, who: actor === "system" ? null : actor, ...said };
    if (type === "task:claimed") claimed = { at, epoch, entry };
    const attempt = epoch !== null && endedAt.get(epoch) === seq ? byEpoch.get(epoch) : undefined;
    if (attempt) entry.attempt = attempt;
    entries.push(entry);
  }
  return withLateOnes(entries, attempts, { hasOlder, hasNewer });
}

function lastEndings(events: readonly DibsEvent[]): Map<number, number> {
  const found = new Map<number, number>();
  for (const { type, epoch, seq } of events)
    if (epoch !== null && endings.includes(type)) found.set(epoch, seq);
  return found;
}

/** A late result is no event: it stands where its time is, if that part is known. */
function withLateOnes(
  entries: Entry[],
  attempts: readonly Attempt[],
  { hasOlder, hasNewer }: Pick<Story, "hasOlder" | "hasNewer">,
): Entry[] {
  const [from, to] = [entries[0]?.at ?? "", entries.at(-1)?.at ?? ""];
  for (const { lateResult, epoch, sessionId } of attempts) {
    if (!lateResult || (hasOlder && lateResult.at < from) || (hasNewer && lateResult.at > to)) continue;
    const { at, error } = lateResult;
    const what = `${error === null ? "a result" : "an error"} of attempt ${epoch} arrived too late and was not applied`;
    const place = entries.findLastIndex((entry) => entry.at <= at) + 1;
    const who = `agent:${sessionId}`;
    entries.splice(place, 0, { key: `l${epoch}`, at, who, what, tone: "wait", late: lateResult });
  }
  return entries;
}
