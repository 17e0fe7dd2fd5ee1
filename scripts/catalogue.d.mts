export interface Mutant {
  name: string;
  /** The patch, from the root. */
  file: string;
  bug: string;
  suite: string[];
  /** Part of the names of the tests; null: all of them. */
  test: string | null;
  needsPostgres: boolean;
  needsBuild: boolean;
  /** The files that it changes. */
  touches: string[];
}

export const mutantsDirectory: string;
export function readCatalogue(root: string): Mutant[];
