import type { Document } from "../../../core/changes.js";
import type { DocumentPage, DocumentValue } from "../../../core/view.js";
import { byBytes, matchesKey } from "../../filters.js";
import { isObject, need } from "../../unreadable.js";
import { beginning, following, type Place, type Write } from "../items.js";
import { type OrgKeys, shortened } from "../keys.js";
import { decodeFound, first } from "../listing.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";

interface Row {
  key: string;
  value: DocumentValue;
}

export const decode = decoder("document", (data): Row => {
  const { key, value } = JSON.parse(data);
  need(isObject(value), "value");
  return { key, value };
});

export const place = (keys: OrgKeys, kind: string, key: string): Place =>
  keys.at("agents", shortened(`${kind}/${key}`), "DOCUMENT");

export const write = (keys: OrgKeys, { kind, key, value }: Document): Write => ({
  ...place(keys, kind, key),
  data: value && JSON.stringify({ key, value }),
});

export function list(keys: OrgKeys, reader: Reader, page: DocumentPage): Row[] {
  const { kind, afterKey, beforeKey, limit, readableOnly } = page;
  const span = beginning(place(keys, kind, ""));
  const from = afterKey === undefined ? span.from : following(place(keys, kind, afterKey).sk);
  const to = beforeKey === undefined ? span.to : place(keys, kind, beforeKey).sk;
  if (beforeKey !== undefined && afterKey !== undefined && byBytes(afterKey, beforeKey) >= 0) return [];
  const documents = function* () {
    for (const found of reader.scan({ ...span, from, to }, { page: Math.min(Math.max(limit, 16), 200) })) {
      const [row] = decodeFound([found], decode, readableOnly);
      if (!row || matchesKey(page, row.key)) yield row ?? null;
    }
  };
  return first(documents(), limit).filter((row) => row !== null);
}
