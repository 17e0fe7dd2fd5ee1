// The file in which a command may leave its result: a text, or JSON { output, filesCreated, filesModified, branch, commit }, or in
// case of a failure { error, retryable }. It is a program's file: whatever is in it, the report must go through.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { result as resultSchema } from "../contract/fields.js";

export interface TaskOutcome {
  output: string;
  filesCreated: string[];
  filesModified: string[];
  branch?: string | undefined;
  commit?: string | undefined;
}

export interface Left {
  result: TaskOutcome | null;
  error: string | null;
  retryable: boolean;
}

const bytesMax = 1024 * 1024;
/** The store's bound is on the whole result. */
const outputBytesMax = 768 * 1024;
export const nothing: Left = { result: null, error: null, retryable: true };

/** Nothing, if there is no such file or it is not a plain one. */
export async function readResultFile(path: string): Promise<Left> {
  const text = await readBounded(path);
  if (text === null || text.trim() === "") return nothing;
  return fromJson(text) ?? { ...nothing, result: plain(text) };
}

export async function readBounded(path: string): Promise<string | null> {
  try {
    // A pipe without a writer would keep us for ever.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      if (!(await file.stat()).isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
      return storable(buffer.subarray(0, bytesRead).toString());
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

const fields = ["output", "filesCreated", "filesModified", "branch", "commit", "error", "retryable"];

/** Other JSON than ours is a text like any other. */
function fromJson(text: string): Left | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const names = Object.keys(value);
  if (names.length === 0 || !names.every((name) => fields.includes(name))) return null;
  const { error, retryable, ...rest } = value as Record<string, unknown>;
  const parsed = resultSchema().safeParse(rest);
  const result = parsed.success ? parsed.data : plain(text);
  return {
    result: names.some((name) => name in rest) ? { ...result, output: bounded(result.output) } : null,
    error: typeof error === "string" && error.trim() !== "" ? storable(error) : null,
    retryable: retryable !== false,
  };
}

function plain(text: string): TaskOutcome {
  return { output: bounded(storable(text)), filesCreated: [], filesModified: [] };
}

function bounded(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= outputBytesMax) return text;
  return `${bytes.subarray(0, outputBytesMax).toString().replace(/�+$/, "")}\n[cut]`;
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "�");
}
