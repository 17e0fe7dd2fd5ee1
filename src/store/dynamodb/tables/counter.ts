import type { Counter } from "../../../core/changes.js";
import type { Lists } from "../../../core/view.js";
import { beginning, following, type Place, type Write } from "../items.js";
import type { OrgKeys } from "../keys.js";
import { first } from "../listing.js";
import type { Reader } from "../reader.js";
import { rowCodec, stored } from "../row-codec.js";

export const codec = rowCodec<Counter>("counter", { project: stored, parent: stored, value: stored });

export const place = (keys: OrgKeys, project: string, parent: string): Place =>
  keys.at("counts", `COUNTER#${project}/${parent}`);

export const write = (keys: OrgKeys, counter: Counter): Write => ({
  ...place(keys, counter.project, counter.parent),
  data: codec.encode(counter),
});

export function list(keys: OrgKeys, reader: Reader, page: Parameters<Lists["counters"]>[0]): Counter[] {
  const { project, afterParent, limit } = page;
  const span = beginning(place(keys, project, ""));
  const from = afterParent === undefined ? span.from : following(place(keys, project, afterParent).sk);
  const counters = function* () {
    for (const { data, sk } of reader.scan({ ...span, from }, { page: 200 })) yield codec.decode(data, sk);
  };
  return first(counters(), limit);
}
