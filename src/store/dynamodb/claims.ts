// The open claims of an org. They are few: read once, then followed in the log.

import { type Key, keyOf } from "../../core/changes.js";
import { type Claim, dueAt } from "../../core/claim.js";
import type { DueClaim } from "../rows.js";
import type { OrgKeys } from "./keys.js";
import { decodeFound } from "./listing.js";
import type { Reader } from "./reader.js";
import * as table from "./tables/claim.js";

interface Decoded {
  data: string;
  claim: Claim;
  dueAt: number | null;
}

export class Claims {
  private decoded = new Map<string, Decoded>();
  private version: string | null = null;

  constructor(
    private readonly keys: OrgKeys,
    private readonly reader: Reader,
  ) {}

  /** None while they are asked for. */
  private read(): Map<string, Decoded> {
    const span = table.span(this.keys);
    const found = this.reader.whole(span);
    if (!found) return new Map();
    const version = this.reader.versionOf(span);
    if (version === this.version) return this.decoded;
    const decoded = new Map<string, Decoded>();
    for (const { sk, data } of found) {
      const known = this.decoded.get(sk);
      decoded.set(sk, known?.data === data ? known : decode(data, sk));
    }
    this.decoded = decoded;
    this.version = version;
    return decoded;
  }

  of(key: Key): Claim | undefined {
    return this.read().get(key)?.claim;
  }

  all(): Claim[] {
    return [...this.read().values()].map(({ claim }) => claim).sort(byAge);
  }

  /** With `readableOnly`, those that can be read. */
  list(readableOnly: boolean | undefined): Claim[] {
    if (!readableOnly) return this.all();
    const found = this.reader.whole(table.span(this.keys)) ?? [];
    return decodeFound(found, table.codec.decode, true).sort(byAge);
  }

  ofSession(project: string, sessionId: string): Claim[] {
    return this.all().filter((claim) => claim.project === project && claim.sessionId === sessionId);
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

function decode(data: string, sk: string): Decoded {
  const claim = table.codec.decode(data, sk);
  return { data, claim, dueAt: dueAt(claim) };
}

type Named = Pick<Claim, "project" | "taskId">;

const byName = (a: Named, b: Named) => byText(a.project, b.project) || byText(a.taskId, b.taskId);
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const byAge = (a: Claim, b: Claim) => a.claimedAt - b.claimedAt || byName(a, b);

/** The key under which a claim is found. */
export const claimKey = ({ project, taskId }: Named): Key => keyOf(project, taskId);
