// The row of an item: as text, compressed if it is long, and in several items if it is longer than an item can be.

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Calls, Stored } from "./calls.js";
import { dynamoLimits, type Item, type Key, keyOf } from "./client.js";
import type { Place } from "./items.js";

/** From this length on, a row is compressed. */
const plainMax = 4 * 1024;
/** What one item contains of a row, or of a record; its keys and other attributes are small. */
export const partBytesMax = dynamoLimits.itemBytesMax - 8 * 1024;

export const pack = (text: string): Buffer => deflateRawSync(text);
export const unpack = (bytes: Uint8Array): string => inflateRawSync(bytes).toString();

export function* parts(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += partBytesMax) yield bytes.subarray(at, at + partBytesMax);
}

const partsOf = (pk: string): string => `${pk}#PART`;
const partKey = (sk: string, number: number): string => `${sk}#${String(number).padStart(5, "0")}`;

/** The items of a row. Parts carry the version that wrote them: those of two versions do not fit together. */
export function itemsOf({ pk, sk }: Place, data: string, version: number): (Key & Item)[] {
  if (data.length < plainMax) return [{ ...keyOf(pk, sk), data: { S: data } }];
  const packed = pack(data);
  if (packed.byteLength <= partBytesMax) return [{ ...keyOf(pk, sk), packed: { B: packed } }];
  const written = { N: String(version) };
  const items: (Key & Item)[] = [];
  for (const part of parts(packed)) {
    items.push({ ...keyOf(partsOf(pk), partKey(sk, items.length)), packed: { B: part }, written });
  }
  const main = { ...keyOf(pk, sk), parts: { N: String(items.length) }, written };
  return [...items, main];
}

/** The row of an item that was read; null: its parts have been written again meanwhile. */
export async function dataOf(calls: Calls, table: string, item: Stored): Promise<string | null> {
  const { data, packed, parts: count, written } = item as Stored & BodyAttributes;
  if (data) return data.S;
  if (packed) return readable(packed.B);
  if (!count || !written) return damaged;
  const [pk, sk] = [partsOf(item.PK.S), item.SK.S];
  const found = await calls.all({
    table,
    partition: pk,
    from: partKey(sk, 0),
    to: partKey(sk, Number(count.N) - 1),
  });
  const bodies = found as (Stored & BodyAttributes)[];
  if (bodies.length < Number(count.N)) return null;
  if (bodies.some((body) => body.written?.N !== written.N)) return null;
  return readable(Buffer.concat(bodies.map((body) => body.packed!.B)));
}

/** No decoder reads it: whoever asks for the row learns which one it is. */
const damaged = "";

function readable(bytes: Uint8Array): string {
  try {
    return unpack(bytes);
  } catch {
    return damaged;
  }
}

interface BodyAttributes {
  data?: { S: string };
  packed?: { B: Uint8Array };
  parts?: { N: string };
  written?: { N: string };
}
