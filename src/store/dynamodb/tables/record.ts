import type { PastClaim, SessionRecord } from "../../../core/session.js";
import type { Place, Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { decoder } from "../row-codec.js";

export const place = (keys: OrgKeys, project: string, id: string): Place =>
  keys.at("agents", `RECORD#${project}/${id}`);

type Past = [taskId: string, claimedAt: number, releasedAt: number, releaseReason: string];

export const decode = decoder("session_record", (data): SessionRecord => {
  const { project, id, completed, history } = JSON.parse(data);
  return { project, id, completed, history: (history as Past[]).map(toPast) };
});

const toPast = ([taskId, claimedAt, releasedAt, releaseReason]: Past): PastClaim => ({
  taskId,
  claimedAt,
  releasedAt,
  releaseReason,
});

export function write(keys: OrgKeys, { project, id, completed, history }: SessionRecord): Write {
  const past = history.map(
    (each): Past => [each.taskId, each.claimedAt, each.releasedAt, each.releaseReason],
  );
  return {
    ...place(keys, project, id),
    data: JSON.stringify({ project, id, completed, history: past }),
  };
}
