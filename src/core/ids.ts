// Generated ids: hybrid base 36 at the top (0001…9999, A000…Z999, AA00…ZZ99, AAA0…ZZZ9, AAAA…ZZZZ),
// `{parent}_t{n}` under a top-level task, `{parent}.{n}` below. The counters live in the store and never go back.

import { limits } from "./limits.js";

const tiers = [0, 1, 2, 3, 4].map((letters) => ({
  letters,
  size: letters === 0 ? 9999 : 26 ** letters * 10 ** (4 - letters),
}));

export const topLevelIdsMax = tiers.reduce((sum, tier) => sum + tier.size, 0);

/** The n-th top-level id, n from 1; null when all tiers are used up. */
export function topLevelId(n: number): string | null {
  let index = n - 1;
  if (index < 0) return null;
  for (const { letters, size } of tiers) {
    if (index < size) return formatTier(letters, letters === 0 ? index + 1 : index);
    index -= size;
  }
  return null;
}

function formatTier(letters: number, index: number): string {
  const digits = 4 - letters;
  const scale = 10 ** digits;
  let prefix = "";
  let rest = Math.floor(index / scale);
  for (let i = 0; i < letters; i++) {
    prefix = String.fromCharCode(65 + (rest % 26)) + prefix;
    rest = Math.floor(rest / 26);
  }
  return digits === 0 ? prefix : prefix + String(index % scale).padStart(digits, "0");
}

/** Which top-level id this is, from 1; null: it is none. */
export function topLevelNumber(id: string): number | null {
  if (!generatedForm.test(id) || id === "0000") return null;
  const letters = id.search(/\d|$/);
  const before = tiers.slice(0, letters).reduce((sum, tier) => sum + tier.size, 0);
  let index = 0;
  for (const letter of id.slice(0, letters)) index = index * 26 + letter.charCodeAt(0) - 65;
  index = index * 10 ** (4 - letters) + Number(id.slice(letters));
  return letters === 0 ? index : before + index + 1;
}

/** `0001_t1.2` is the second below `0001_t1`, if ids were made for it; null: no id of a part looks like this. */
export function asPart(id: string): { parentId: string; n: number } | null {
  const [, parentId, n] = /^(.+)(?:_t|\.)([1-9]\d{0,14})$/.exec(id) ?? [];
  return parentId === undefined ? null : { parentId, n: Number(n) };
}

export function childId(parent: { id: string; depth: number }, n: number): string {
  return parent.depth === 0 ? `${parent.id}_t${n}` : `${parent.id}.${n}`;
}

const generatedForm = /^(\d{4}|[A-Z]\d{3}|[A-Z]{2}\d{2}|[A-Z]{3}\d|[A-Z]{4})$/;
const suppliedForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Words that stand in the place of an id in a route. */
const reservedTaskIds: ReadonlySet<string> = new Set([
  "batch",
  "bulk",
  "claimable",
  "in-flight",
  "claims",
  "claim-next",
]);
export const reservedSessionIds: ReadonlySet<string> = new Set(["summary"]);

/** What is wrong with an id as such, or null. */
export function idProblem(id: string): string | null {
  if (id.length === 0) return "is empty";
  if (id.length > limits.idLengthMax) return `is longer than ${limits.idLengthMax} characters`;
  if (!suppliedForm.test(id)) {
    return "can only have letters, digits, '.', '_' and '-', and must start with a letter or digit";
  }
  return id.includes("..") ? "must not contain '..'" : null;
}

/** What is wrong with an id that a caller wants to give to a new task, or null; one that was reserved is the caller's. */
export function suppliedIdProblem(id: string, isReserved = (_id: string) => false): string | null {
  const problem = idProblem(id);
  if (problem) return problem;
  if (generatedForm.test(id) && !isReserved(id)) {
    return `has the form of a generated id; write 'task-${id}', or reserve one: dibs next-id`;
  }
  return reservedTaskIds.has(id) ? "is reserved for addresses of the API; choose another" : null;
}
