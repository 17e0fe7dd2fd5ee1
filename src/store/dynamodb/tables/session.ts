import type { Session } from "../../../core/session.js";
import type { SessionFilter } from "../../../core/view.js";
import { matchesSession } from "../../filters.js";
import { beginning, following, type Place, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { decodeFound, first } from "../listing.js";
import type { Reader } from "../reader.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<Session>("session", {
  project: stored,
  id: stored,
  name: null,
  agentType: null,
  pid: null,
  host: null,
  processStartedAt: null,
  capabilities: [],
  capacity: stored,
  heartbeats: false,
  contextPercent: null,
  score: null,
  startedAt: stored,
  lastSeenAt: stored,
  endedAt: null,
  owner: null,
  incarnation: stored,
  avoid: [],
  uses: null,
});

const prefix = "AGENT#";

export const place = (keys: OrgKeys, project: string, id: string): Place =>
  keys.at("agents", `${prefix}${project}/${id}`);

export const write = (keys: OrgKeys, session: Session): Write => ({
  ...place(keys, session.project, session.id),
  data: codec.encode(session),
});

export function list(
  keys: OrgKeys,
  reader: Reader,
  filter: SessionFilter,
  isHolding: (session: Session) => boolean,
): Session[] {
  const { project, afterId, limit, readableOnly } = filter;
  const span = beginning(keys.at("agents", project === null ? prefix : `${prefix}${project}/`));
  const start = afterId === undefined ? span.from : following(prefix + afterId);
  const from = start > span.from ? start : span.from;
  const sessions = function* () {
    for (const found of reader.scan({ ...span, from }, { page: 200 })) {
      const [session] = decodeFound([found], codec.decode, readableOnly);
      if (session && matchesSession(filter, session, () => isHolding(session))) yield session;
    }
  };
  const found = first(sessions(), limit);
  reader.settle();
  return found;
}
