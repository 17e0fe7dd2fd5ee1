// The ready queue in a run: the heads of all levels of the lanes that are looked at are fetched together, with the tasks that the
// group will claim.

import type { ReadyEntry } from "../../core/ready.js";
import type { Chunk, ReadyRows } from "../rows.js";
import type { DecodedSpan } from "./decoded-span.js";
import type { OrgKeys } from "./keys.js";
import { first } from "./listing.js";
import type { Reader } from "./reader.js";
import * as ready from "./tables/ready.js";
import * as task from "./tables/task.js";

/** Rows of one level that are fetched at once, at least. */
const headsMin = 8;
const headsMax = 256;
/** So many levels are fetched together. */
const levelsMax = 64;

export class ReadyQuestions implements ReadyRows {
  private groupSize = 1;
  private readonly byProject = new Map<string, DecodedSpan<ready.Lane>>();

  constructor(
    private readonly keys: OrgKeys,
    private readonly reader: Reader,
  ) {}

  /** How many jobs are likely to claim. */
  expect(groupSize: number): void {
    this.groupSize = groupSize;
  }

  private get heads(): number {
    return Math.min(headsMax, Math.max(headsMin, 2 * this.groupSize));
  }

  lanes(project: string, prefix: string): string[] {
    const lanes = this.lanesOf(project).filter(({ lane }) => lane.startsWith(prefix));
    let levels = 0;
    for (const { lane, levels: counted } of lanes) {
      for (const level of Object.keys(counted)) {
        if (++levels > levelsMax) break;
        ready.expectHead(this.keys, this.reader, { project, lane, level: Number(level) }, this.heads);
      }
    }
    return lanes.map(({ lane }) => lane).sort();
  }

  levels(project: string, lane: string): number[] {
    const found = this.lanesOf(project).find((each) => each.lane === lane);
    return Object.keys(found?.levels ?? {})
      .map(Number)
      .sort((a, b) => b - a);
  }

  chunk(project: string, lane: string, level: number, after: ReadyEntry | null, limit: number): Chunk {
    // A level without rows needs no request.
    if (after === null && !this.levels(project, lane).includes(level)) return { entries: [], tasks: [] };
    const page = Math.max(limit, this.heads);
    const entries = first(ready.behind(this.keys, this.reader, { project, lane, level, after }, page), limit);
    for (const { id } of entries.slice(0, this.groupSize)) task.find(this.keys, this.reader, { project, id });
    return { entries, tasks: [] };
  }

  private lanesOf(project: string): ready.Lane[] {
    let lanes = this.byProject.get(project);
    if (!lanes) {
      lanes = ready.lanesOf(this.keys, this.reader, project);
      this.byProject.set(project, lanes);
    }
    const found = lanes.read();
    if (!found) this.reader.settle();
    return [...(found ?? new Map<string, ready.Lane>()).values()];
  }
}
