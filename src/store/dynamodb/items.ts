// Items as the store sees them: where they are, and their row as text. Sort keys are ordered by their UTF-8 bytes.

import type { TableNames } from "./tables.js";

export type TableName = keyof TableNames;

/** All sort keys of a partition from the first to the last, both included. */
export interface Span {
  table: TableName;
  pk: string;
  from: string;
  to: string;
}

export interface Place {
  table: TableName;
  pk: string;
  sk: string;
}

/** `null`: the item is deleted. */
export interface Write extends Place {
  data: string | null;
  /** The second since 1970 after which the service deletes it. */
  expiresAt?: number;
}

/** An item of a span. */
export interface Found {
  sk: string;
  data: string;
}

const highest = "\u{10ffff}";

export const partitionOf = ({ table, pk }: { table: TableName; pk: string }): string => `${table}|${pk}`;
export const nameOf = (place: Place): string => `${partitionOf(place)}|${place.sk}`;

/** The key that follows this one directly. */
export const following = (sk: string): string => `${sk}\u0000`;

export const endOf = (prefix: string): string => prefix + highest;

/** All keys that begin so. */
export function beginning(place: Place): Span {
  return { table: place.table, pk: place.pk, from: place.sk, to: endOf(place.sk) };
}

/** By UTF-8 bytes, without encoding: a surrogate comes after all other code units. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, two] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one === two) continue;
    if (one >= 0xd800 && two >= 0xd800) return rank(one) - rank(two);
    return one - two;
  }
  return a.length - b.length;
}

const rank = (unit: number): number => (unit <= 0xdfff ? unit + 0x10000 : unit);
