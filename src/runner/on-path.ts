// Whether a command can be started, before anything is claimed for it: a runner that waits would otherwise report it hours later.

import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { DibsError } from "../contract/error.js";

/** Where execvp searches if PATH is not set. */
const pathDefault = "/bin:/usr/bin";

interface Where {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** It runs in directories that do not exist yet: a relative path cannot be checked. */
  inWorktrees: boolean;
}

export function refuseMissingCommand([file = ""]: readonly string[], { env, cwd, inWorktrees }: Where): void {
  // Windows has rules of its own for what can be started.
  if (process.platform === "win32" || file === "") return;
  if (file.includes("/")) {
    if (!isAbsolute(file) && inWorktrees) return;
    if (!isExecutable(resolve(cwd, file)))
      throw cannotStart(`${file} does not exist or is not executable`, file);
    return;
  }
  const directories = (env.PATH ?? pathDefault).split(delimiter);
  if (!directories.some((directory) => isExecutable(resolve(cwd, join(directory, file)))))
    throw cannotStart(`${file} is not on the PATH`, file);
}

function cannotStart(why: string, file: string): DibsError {
  return new DibsError("VALIDATION_FAILED", `Cannot start the command: ${why}.`, {
    hint: `Install it, or name another program: dibs work -- /path/to/${file.slice(file.lastIndexOf("/") + 1)}`,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
