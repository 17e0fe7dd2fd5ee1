// Fetches what a run has asked for, with what the log has since.

import { dataOf } from "./body.js";
import type { Stored } from "./calls.js";
import { keyOf } from "./client.js";
import type { Found, Place, TableName } from "./items.js";
import type { KnownItems } from "./known-items.js";
import type { OrgLog } from "./org-log.js";
import type { WantedSpan } from "./wanted.js";

export async function fetchInto(
  log: OrgLog,
  cache: KnownItems,
  { places, spans }: { places: readonly Place[]; spans: readonly WantedSpan[] },
): Promise<void> {
  await log.fetching(async () => {
    const { generation } = log;
    await Promise.all([
      fetchItems(log, places, (place, data) => {
        if (generation !== log.generation) return;
        const written = log.overlay.get(place);
        cache.put({ ...place, data: written ? written.data : data });
        log.noteFetched(cache);
      }),
      ...spans.map(async (span) => {
        const { covered, found } = await fetchSpan(log, span);
        if (generation !== log.generation) return;
        cache.putAll(covered, log.overlay.over(covered, found));
        log.noteFetched(cache);
      }),
    ]);
  });
}

/** Rows of single items; absent ones are null. */
async function fetchItems(
  log: OrgLog,
  places: readonly Place[],
  take: (place: Place, data: string | null) => void,
): Promise<void> {
  if (places.length === 0) return;
  const { calls } = log;
  const keyed = new Map<string, Place>(
    places.map((place) => [`${calls.tables[place.table]}|${place.pk}|${place.sk}`, place]),
  );
  const keys = [...keyed.values()].map(({ table, pk, sk }) => ({
    table: calls.tables[table],
    key: keyOf(pk, sk),
  }));
  const items = keys.length === 1 ? await one(log, keys[0]!) : await calls.getAll(keys);
  const again: Place[] = [];
  await Promise.all(
    items.map(async ({ table, item }) => {
      const name = `${table}|${item.PK.S}|${item.SK.S}`;
      const place = keyed.get(name)!;
      keyed.delete(name);
      const data = await dataOf(calls, table, item);
      if (data === null) again.push(place);
      else take(place, data);
    }),
  );
  for (const place of keyed.values()) take(place, null);
  await fetchItems(log, again, take);
}

async function one({ calls }: OrgLog, key: { table: string; key: ReturnType<typeof keyOf> }) {
  const item = await calls.get(key);
  return item ? [{ table: key.table, item }] : [];
}

/** Items of a span, and the part of it that they are all of. */
async function fetchSpan(log: OrgLog, span: WantedSpan): Promise<{ covered: WantedSpan; found: Found[] }> {
  const { calls } = log;
  const { table, pk, from, to, limit, descending } = span;
  const items: Stored[] = [];
  let isWhole = false;
  await calls.pages(
    { table: calls.tables[table], partition: pk, from, to, descending, ...(limit < 1_000 && { limit }) },
    (page, isLast) => {
      items.push(...page);
      isWhole = isLast;
      return items.length < limit;
    },
  );
  const last = items.at(-1)?.SK.S;
  const found = await rowsOf(log, table, items);
  if (isWhole || last === undefined) return { covered: span, found };
  return { covered: { ...span, ...(descending ? { from: last } : { to: last }) }, found };
}

async function rowsOf(log: OrgLog, table: TableName, items: readonly Stored[]): Promise<Found[]> {
  const { calls } = log;
  const rows = await Promise.all(
    items.map(async (item): Promise<Found | null> => {
      const place = { table, pk: item.PK.S, sk: item.SK.S };
      let data = await dataOf(calls, calls.tables[table], item);
      if (data === null) {
        await fetchItems(log, [place], (_, fetched) => {
          data = fetched;
        });
      }
      return data === null ? null : { sk: place.sk, data };
    }),
  );
  return rows.filter((row) => row !== null);
}
