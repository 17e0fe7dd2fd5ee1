// The ready queue: one item per row, in the order of claims, and one per lane that counts the rows of its levels.

import { createHash } from "node:crypto";
import { type ReadyCount, type ReadyEntry, unlabelledLanes } from "../../../core/ready.js";
import { DecodedSpan } from "../decoded-span.js";
import { beginning, type Found, following, type Place, type Span, type Write } from "../items.js";
import { type OrgKeys, ordered } from "../keys.js";
import type { Reader } from "../reader.js";
import { decoder } from "../row-codec.js";

export interface Lane {
  lane: string;
  /** How many rows each level has. */
  levels: Record<string, number>;
  /** How many of them are scheduled. */
  scheduled: number;
}

const laneLengthMax = 200;

function laneName(lane: string): string {
  if (lane.length <= laneLengthMax) return lane;
  // The service takes no half of a pair of code units.
  const start = lane.slice(0, laneLengthMax / 2).toWellFormed();
  return `${start}#${createHash("sha256").update(lane).digest("base64url")}`;
}

export const lanePlace = (keys: OrgKeys, project: string, lane: string): Place =>
  keys.at("queue", `LANE#${project}#${laneName(lane)}`);

const lanesSpan = (keys: OrgKeys, project: string): Span => beginning(keys.at("queue", `LANE#${project}#`));

export const decodeLane = decoder("lane", (data): Lane => JSON.parse(data));

export const laneWrite = (keys: OrgKeys, project: string, lane: Lane): Write => ({
  ...lanePlace(keys, project, lane.lane),
  data: Object.keys(lane.levels).length === 0 ? null : JSON.stringify(lane),
});

export const newLane = (lane: string): Lane => ({ lane, levels: {}, scheduled: 0 });

/** Counts a row in, or out. */
export function countRow(lane: Lane, { level, notBefore }: ReadyEntry, by: 1 | -1): void {
  const rows = (lane.levels[level] ?? 0) + by;
  if (rows > 0) lane.levels[level] = rows;
  else delete lane.levels[level];
  if (notBefore > 0) lane.scheduled += by;
}

const levelPrefix = (level: number): string => `QUEUE#${String(100 - level).padStart(3, "0")}#`;

const rowPlace = (keys: OrgKeys, project: string, entry: ReadyEntry): Place => {
  const { lane, level, k1, k2, id } = entry;
  const sk = `${levelPrefix(level)}${ordered(k1)}#${ordered(k2)}#${id}`;
  return keys.at("queue", sk, `${project}#${laneName(lane)}`);
};

const levelSpan = (keys: OrgKeys, project: string, lane: string, level: number): Span =>
  beginning(keys.at("queue", levelPrefix(level), `${project}#${laneName(lane)}`));

const laneSpan = (keys: OrgKeys, project: string, lane: string): Span =>
  beginning(keys.at("queue", "QUEUE#", `${project}#${laneName(lane)}`));

const decodeRow = decoder("ready", (data): Omit<ReadyEntry, "lane"> => {
  const [id, level, k1, k2, notBefore = 0] = JSON.parse(data);
  return { id, level, k1, k2, notBefore };
});

export function write(keys: OrgKeys, project: string, entry: ReadyEntry, isThere: boolean): Write {
  const { id, level, k1, k2, notBefore } = entry;
  const values = notBefore === 0 ? [id, level, k1, k2] : [id, level, k1, k2, notBefore];
  return { ...rowPlace(keys, project, entry), data: isThere ? JSON.stringify(values) : null };
}

/** Every lane of every project. */
export const allLanes = (keys: OrgKeys): Span => beginning(keys.at("queue", "LANE#"));

/** All rows of the lane of such an item. */
export function spanOfLane(keys: OrgKeys, { sk, data }: Found): Span {
  const [, project] = sk.split("#");
  return laneSpan(keys, project!, decodeLane(data, sk).lane);
}

export const lanesOf = (keys: OrgKeys, reader: Reader, project: string): DecodedSpan<Lane> =>
  new DecodedSpan(reader, lanesSpan(keys, project), decodeLane);

/** The lanes of a project; without them the run ends. */
export function lanes(keys: OrgKeys, reader: Reader, project: string): Lane[] {
  const found = lanesOf(keys, reader, project).read();
  reader.settle();
  return [...found!.values()];
}

/** The first rows of a level are fetched with the next answer, unless they are known. */
export const expectHead = (
  keys: OrgKeys,
  reader: Reader,
  { project, lane, level }: { project: string; lane: string; level: number },
  page: number,
): void => reader.expect(levelSpan(keys, project, lane, level), page);

/** The rows of a level that follow one of them. */
export function* behind(
  keys: OrgKeys,
  reader: Reader,
  { project, lane, level, after }: { project: string; lane: string; level: number; after: ReadyEntry | null },
  page: number,
): Generator<ReadyEntry> {
  const span = levelSpan(keys, project, lane, level);
  const from = after === null ? span.from : following(rowPlace(keys, project, after).sk);
  for (const { data, sk } of reader.scan({ ...span, from }, { page })) yield { ...decodeRow(data, sk), lane };
}

/** Every row of a lane. */
export function* rowsOf(keys: OrgKeys, reader: Reader, project: string, lane: string): Generator<ReadyEntry> {
  for (const { data, sk } of reader.scan(laneSpan(keys, project, lane), { page: 1_000 })) {
    yield { ...decodeRow(data, sk), lane };
  }
}

export function counts(
  keys: OrgKeys,
  reader: Reader,
  projects: readonly string[],
  now: number,
): ReadyCount[] {
  const byLane = new Map<string, ReadyCount>();
  for (const project of projects) {
    const { from, to } = unlabelledLanes;
    for (const lane of lanes(keys, reader, project).filter(({ lane }) => lane >= from && lane < to)) {
      const count = byLane.get(lane.lane) ?? { lane: lane.lane, ready: 0, scheduled: 0 };
      byLane.set(lane.lane, count);
      const rows = Object.values(lane.levels).reduce((sum, each) => sum + each, 0);
      let later = 0;
      if (lane.scheduled > 0) {
        for (const { notBefore } of rowsOf(keys, reader, project, lane.lane)) if (notBefore > now) later++;
      }
      count.ready += rows - later;
      count.scheduled += later;
    }
  }
  return [...byLane.values()];
}
