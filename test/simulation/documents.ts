// Documents in the scripts: few places, so that they meet, with keys that sort otherwise by UTF-16 than by bytes.

import { type Document, documentKey, noChanges } from "../../src/core/changes.js";
import type { Org } from "../../src/core/project.js";
import type { DocumentPage } from "../../src/core/view.js";
import type { Transaction } from "../../src/store/store.js";
import type { Picker } from "./picker.js";

export const documentKinds = ["token", "log"];
const keys = ["a", "b", "a/b", "B", "ü", "～", "🎉", '"{\\,'];

interface Place {
  kind: string;
  key: string;
}

export const documentPlaces: Place[] = documentKinds.flatMap((kind) => keys.map((key) => ({ kind, key })));

export const documentPages: DocumentPage[] = [
  { kind: "token", afterKey: "a", limit: 2 },
  { kind: "token", beforeKey: "～", limit: 100 },
  { kind: "log", afterKey: "B", beforeKey: "🎉", limit: 100 },
  { kind: "log", limit: 1 },
  { kind: "nothing", limit: 1 },
];

export interface DocumentWork {
  looks: Place[];
  /** Written one after the other, or all in one go. */
  puts: Document[];
  singly: boolean;
}

export function documentsOf(pick: Picker): DocumentWork {
  const place = () => ({ kind: pick.of(documentKinds), key: pick.of(keys) });
  const values = [{ n: pick.below(10) }, {}, { z: 1, a: ["ü\u0000🎉", null] }, { text: "x".repeat(9000) }];
  const puts = Array.from({ length: 1 + pick.below(3) }, () => ({
    ...place(),
    value: pick.chance(30) ? null : pick.of(values),
  }));
  const looks = pick.chance(60) ? [place(), ...puts] : [];
  return { looks, puts, singly: pick.chance(40) };
}

export function workOn({ view, apply }: Transaction, { looks, puts, singly }: DocumentWork) {
  const look = () => looks.map(({ kind, key }) => view.document(kind, key) ?? null);
  const seen = [look()];
  const write = (some: Document[]) => {
    const documents = new Map(some.map((each) => [documentKey(each.kind, each.key), each]));
    apply({ ...noChanges(), documents });
    seen.push(look());
  };
  if (singly) for (const each of puts) write([each]);
  else write(puts);
  return { seen };
}

/** Mostly a small step; at most all events there are. */
export function archivingOf(pick: Picker, { eventMin, eventSeq }: Org): number {
  const steps = eventSeq + 1 - eventMin;
  return eventMin + pick.below(Math.max(1, pick.chance(70) ? Math.min(steps, 5) : steps + 1));
}
