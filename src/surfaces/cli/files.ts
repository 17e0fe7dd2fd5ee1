// Files that are named on the command line: read up to a bound, and told clearly where they cannot be.

import { DibsError } from "../../contract/error.js";
import type { Parts } from "./parts.js";

/** The whole text of a file. `name` is how people call it. */
export async function textOf(
  parts: Pick<Parts, "readFile">,
  path: string,
  bytesMax: number,
  name = path,
): Promise<string> {
  try {
    return await parts.readFile(path, bytesMax);
  } catch (error) {
    throw fileTrouble(error, name, bytesMax);
  }
}

/** Why a file cannot be read, from what the system says about it. */
export function fileTrouble(error: unknown, name: string, bytesMax?: number): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof DibsError) return error;
  if (code === "ENOENT") return new DibsError("NOT_FOUND", `File ${name} not found.`);
  if (code === "EISDIR") return new DibsError("VALIDATION_FAILED", `${name} is a directory, not a file.`);
  if (code === "ENOTSUP") {
    return new DibsError("VALIDATION_FAILED", `${name} is not a regular file.`, {
      hint: "For the output of another program, use - for standard input.",
    });
  }
  if (code === "EFBIG") {
    const bound = bytesMax === undefined ? "" : ` of ${bytesMax} bytes`;
    return new DibsError("PAYLOAD_TOO_LARGE", `${name} is larger than the limit${bound}.`);
  }
  return new DibsError("NOT_FOUND", `${name} cannot be read: ${message}`);
}
