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

export function childId(parent: { id: string; depth: number }, n: number): string {
  return parent.depth === 0 ? `${parent.id}_t${n}` : `${parent.id}.${n}`;
}

const generatedForm = /^(\d{4}|[A-Z]\d{3}|[A-Z]{2}\d{2}|[A-Z]{3}\d|[A-Z]{4})$/;
const suppliedForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Words that stand in the place of an id in a route. */
export const reservedTaskIds: ReadonlySet<string> = new Set([
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
    return "may only have letters, digits, '.', '_' and '-', and must start with a letter or digit";
  }
  return id.includes("..") ? "must not contain '..'" : null;
}

/** What is wrong with an id that a caller wants to give to a new task, or null. */
export function suppliedIdProblem(id: string): string | null {
  const problem = idProblem(id);
  if (problem) return problem;
  if (generatedForm.test(id)) return "has the form of a generated id; add a word, such as 'task-0001'";
  return reservedTaskIds.has(id) ? "is a word of a route and cannot be an id" : null;
}
