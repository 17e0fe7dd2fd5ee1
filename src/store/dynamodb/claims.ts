// The open claims of an org. They are few: read once, then followed in the log.

import type { Key } from "../../core/changes.js";
import { type Claim, dueAt } from "../../core/claim.js";
import type { DueClaim } from "../rows.js";
import { DecodedSpan } from "./decoded-span.js";
import type { OrgKeys } from "./keys.js";
import { decodeFound } from "./listing.js";
import type { Reader } from "./reader.js";
import * as table from "./tables/claim.js";

interface Lease {
  claim: Claim;
  dueAt: number | null;
}

const none: ReadonlyMap<Key, Lease> = new Map();

export class Claims {
  private readonly leases: DecodedSpan<Lease>;

  constructor(
    keys: OrgKeys,
    private readonly reader: Reader,
  ) {
    this.leases = new DecodedSpan(reader, table.span(keys), (data, sk) => {
      const claim = table.codec.decode(data, sk);
      return { claim, dueAt: dueAt(claim) };
    });
  }

  /** By the keys of their tasks; none while they are asked for. */
  private read(): ReadonlyMap<Key, Lease> {
    return this.leases.read() ?? none;
  }

  of(key: Key): Claim | undefined {
    return this.read().get(key)?.claim;
  }

  /** Oldest first. */
  all(): Claim[] {
    return this.where(() => true);
  }

  ofSession(project: string, sessionId: string): Claim[] {
    return this.where((claim) => claim.sessionId === sessionId && claim.project === project);
  }

  private where(isMeant: (claim: Claim) => boolean): Claim[] {
    const found: Claim[] = [];
    for (const { claim } of this.read().values()) if (isMeant(claim)) found.push(claim);
    return found.sort(byAge);
  }

  /** Without those that cannot be read. */
  readable(): Claim[] {
    const found = this.reader.whole(this.leases.span) ?? [];
    return decodeFound(found, table.codec.decode, true).sort(byAge);
  }

  earliestDue(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.read().values()) if (dueAt !== null && dueAt < earliest) earliest = dueAt;
    return earliest;
  }

  due(isMeant: (dueAt: number) => boolean, limit: number): DueClaim[] {
    const due: DueClaim[] = [];
    for (const { claim, dueAt } of this.read().values()) {
      if (dueAt !== null && isMeant(dueAt)) due.push({ project: claim.project, taskId: claim.taskId, dueAt });
    }
    return due.sort((a, b) => a.dueAt - b.dueAt || byName(a, b)).slice(0, limit);
  }
}

type Named = Pick<Claim, "project" | "taskId">;

const byName = (a: Named, b: Named) => byText(a.project, b.project) || byText(a.taskId, b.taskId);
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const byAge = (a: Claim, b: Claim) => a.claimedAt - b.claimedAt || byName(a, b);
