import { limits } from "../../../core/limits.js";
import type { IdempotencyRecord, Lists } from "../../../core/view.js";
import { matchesKey } from "../../filters.js";
import { endOf, following, type Place, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { first } from "../listing.js";
import type { Reader } from "../reader.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<IdempotencyRecord>("idempotency", {
  key: stored,
  request: stored,
  answer: stored,
  createdAt: stored,
});

/** The service deletes expired items late and by its own clock; before that, an old record counts as absent. */
const marginMs = 24 * 60 * 60 * 1000;
const partition = "KEY";

export const place = (keys: OrgKeys, key: string): Place => keys.at("log", key, partition);

export const isOld = ({ createdAt }: IdempotencyRecord, lastAt: number): boolean =>
  createdAt < lastAt - limits.idempotencyKeepMs;

/** `now`: the service's time. */
export const write = (keys: OrgKeys, record: IdempotencyRecord, now: number): Write => ({
  ...place(keys, record.key),
  data: codec.encode(record),
  expiresAt: Math.ceil((now + limits.idempotencyKeepMs + marginMs) / 1000),
});

export function find(keys: OrgKeys, reader: Reader, key: string, lastAt: number) {
  const record = reader.row(place(keys, key), codec);
  return record && !isOld(record, lastAt) ? record : undefined;
}

export function list(
  keys: OrgKeys,
  reader: Reader,
  page: Parameters<Lists["idempotencyRecords"]>[0],
  lastAt: number,
): IdempotencyRecord[] {
  const { afterKey, limit } = page;
  const from = afterKey === undefined ? "\u0000" : following(afterKey);
  const records = function* () {
    const span = { ...place(keys, ""), from, to: endOf("") };
    for (const { data, sk } of reader.scan(span, { page: 200 })) {
      const record = codec.decode(data, sk);
      if (matchesKey(page, record.key) && !isOld(record, lastAt)) yield record;
    }
  };
  return first(records(), limit);
}
