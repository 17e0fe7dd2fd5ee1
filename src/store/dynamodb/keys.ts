// Where the rows of an org are.

import { createHash } from "node:crypto";
import type { Place, TableName } from "./items.js";

/** A sort key has at most 1 024 bytes, a partition key 2 048. */
const longMax = 900;
const numberWidth = 16;

export class OrgKeys {
  /** What all partitions of the org begin with. */
  readonly root: string;

  constructor(readonly org: string) {
    this.root = `ORG#${org.replace(/[%#]/g, encodeURIComponent)}`;
  }

  at(table: TableName, sk: string, partition = ""): Place {
    return { table, pk: partition === "" ? this.root : `${this.root}#${partition}`, sk };
  }
}

/** A task: the project is in front unless it is the usual one. */
export const taskName = (project: string, id: string): string =>
  project === "default" ? id : `${project}/${id}`;

/** Sorted as numbers are. */
export function ordered(number: number): string {
  const digits = String(Math.abs(number));
  if (number >= 0) return digits.padStart(numberWidth, "0");
  return `-${String(10 ** (numberWidth - 1) + number).padStart(numberWidth - 1, "0")}`;
}

/** A text that fits into a key; only long texts with the same beginning are out of order. */
export function shortened(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= longMax) return text;
  const hash = createHash("sha256").update(bytes).digest("base64url");
  return `${bytes
    .subarray(0, longMax - 50)
    .toString()
    .replace(/\ufffd+$/, "")}#${hash}`;
}
